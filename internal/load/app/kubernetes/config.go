package kubernetes

import (
	"cmp"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Config describes the size of a Kubernetes cluster and its load.
type Config struct {
	Nodes       int
	PodsPerNode int     // at the start of the load
	Churn       float64 // number of pods created per second, and number of pods removed per second
	Seed        uint64
	// CompactInterval is the interval between compactions of the store's history. ListInterval is
	// the interval between listings of all pods. 0 means the interval that Kubernetes uses.
	CompactInterval, ListInterval time.Duration
	// Uncompacted prevents compactions. It must be set if other clients also use the store.
	Uncompacted bool
}

// NewConfig returns the configuration with the given settings and seed.
func NewConfig(s application.Settings, seed uint64) Config {
	return Config{Nodes: s.Int(nodesKey), PodsPerNode: s.Int(podsKey), Churn: s[churnKey], Seed: seed}
}

// pods returns the number of pods that exist when the load begins.
func (c *Config) pods() int { return c.Nodes * c.PodsPerNode }

// sets returns the number of ReplicaSets.
func (c *Config) sets() int { return max(c.pods()/podsPerSet, 1) }

func (c *Config) compactInterval() time.Duration { return cmp.Or(c.CompactInterval, compactInterval) }

func (c *Config) listInterval() time.Duration { return cmp.Or(c.ListInterval, listInterval) }

// podsPerSet is the number of pods in a ReplicaSet, and in the endpoints of a Service.
const podsPerSet = 30

// The parameters' keys.
const (
	nodesKey = "nodes"
	podsKey  = "pods-per-node"
	churnKey = "churn"
)

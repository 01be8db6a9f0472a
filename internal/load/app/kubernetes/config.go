package kubernetes

import (
	"cmp"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Config says how large a Kubernetes it is.
type Config struct {
	Nodes       int
	PodsPerNode int     // that are there when the load begins
	Churn       float64 // pods that are created, and as many removed, a second
	Seed        uint64
	// CompactEvery is how often the store's history is compacted, and ListEvery how often
	// all pods are listed; 0 is as often as Kubernetes does.
	CompactEvery, ListEvery time.Duration
	// Uncompacted leaves the store's history as it is: others use the store, too.
	Uncompacted bool
}

// ConfigOf is what settings come to.
func ConfigOf(s application.Settings, seed uint64) Config {
	return Config{Nodes: s.Whole(nodesKey), PodsPerNode: s.Whole(podsKey), Churn: s[churnKey], Seed: seed}
}

// pods is how many are there when the load begins.
func (c *Config) pods() int { return c.Nodes * c.PodsPerNode }

// sets is how many ReplicaSets there are.
func (c *Config) sets() int { return max(c.pods()/podsPerSet, 1) }

func (c *Config) compactEvery() time.Duration { return cmp.Or(c.CompactEvery, compactEvery) }

func (c *Config) listEvery() time.Duration { return cmp.Or(c.ListEvery, listEvery) }

// podsPerSet is how many pods a ReplicaSet has, and so a Service with its endpoints.
const podsPerSet = 30

// The parameters' keys.
const (
	nodesKey = "nodes"
	podsKey  = "pods-per-node"
	churnKey = "churn"
)

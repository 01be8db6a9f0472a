// Package kubernetes is the load that Kubernetes' API server puts on its store: which
// calls it sends, when, of which objects, under which keys. It is data alone; what
// sends it is internal/run/load/apiserver. docs/applications.md says where each number
// comes from.
package kubernetes

import (
	"fmt"
	"time"
)

// Name is what scenario files call the application.
const Name = "kubernetes"

// The defaults.
const (
	DefaultNodes       = 1000
	DefaultPodsPerNode = 30 // as the scalability tests of Kubernetes have
	DefaultChurn       = 20 // pods a second
)

// The most that can be asked for.
const (
	MaxNodes       = 100_000
	MaxPodsPerNode = 500
	MaxChurn       = 10_000
	maxPods        = 2_000_000
)

// Config says how large a Kubernetes it is.
type Config struct {
	Nodes       int
	PodsPerNode int     // that are there when the load begins
	Churn       float64 // pods that are created, and as many removed, a second
	Seed        uint64
	// CompactEvery is how often the store's history is compacted; 0 is as often as the
	// API server does.
	CompactEvery time.Duration
}

// Default is a Kubernetes of the default size.
func Default() Config {
	return Config{Nodes: DefaultNodes, PodsPerNode: DefaultPodsPerNode, Churn: DefaultChurn}
}

// pods is how many are there when the load begins.
func (c *Config) pods() int { return c.Nodes * c.PodsPerNode }

// podsPerSet is how many pods a ReplicaSet has, and so a Service with its endpoints.
const podsPerSet = 30

// sets is how many ReplicaSets there are.
func (c *Config) sets() int { return max(c.pods()/podsPerSet, 1) }

func (c *Config) compactEvery() time.Duration {
	if c.CompactEvery > 0 {
		return c.CompactEvery
	}
	return compactEvery
}

// leastPodsPerChurn: a pod that is removed was created so many seconds before, so that
// its life's calls have been sent.
const leastPodsPerChurn = 10

// Check says in one sentence what is wrong with it, and of which parameter, or nothing.
func (c *Config) Check() (parameter, why string) {
	switch {
	case c.Nodes < 1 || c.Nodes > MaxNodes:
		return "nodes", fmt.Sprintf("<nodes> is %d and must be from 1 to %d", c.Nodes, MaxNodes)
	case c.PodsPerNode < 1 || c.PodsPerNode > MaxPodsPerNode:
		return "pods-per-node", fmt.Sprintf("<pods-per-node> is %d and must be from 1 to %d", c.PodsPerNode, MaxPodsPerNode)
	case c.pods() > maxPods:
		return "pods-per-node", fmt.Sprintf("<nodes> times <pods-per-node> is %d pods and can be at most %d", c.pods(), maxPods)
	case !(c.Churn >= 0 && c.Churn <= MaxChurn):
		return "churn", fmt.Sprintf("<churn> is %g and must be from 0 to %d pods a second", c.Churn, MaxChurn)
	case float64(c.pods()) < leastPodsPerChurn*c.Churn:
		return "churn", fmt.Sprintf("<churn> is %g pods a second, and of the %d pods each would live for less than %d seconds; ask for fewer, or for more pods", c.Churn, c.pods(), leastPodsPerChurn)
	}
	return "", ""
}

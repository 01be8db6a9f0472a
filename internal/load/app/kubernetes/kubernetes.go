// Package kubernetes imitates the load that Kubernetes' API server puts on its store. It defines
// which calls the API server sends, when it sends them, and for which objects and keys.
// docs/explanation/applications.md gives the source of each number.
package kubernetes

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Name is the application's name in scenario files.
const Name = "kubernetes"

// maxPods is the maximum number of pods at the start of the load.
const maxPods = 2_000_000

// Application implements app.Application.
type Application struct{}

// Definition implements application.Application.
func (Application) Definition() application.Definition {
	return application.Definition{
		Name: Name, Meaning: "the API server of Kubernetes", Prefix: "/registry/", Compacts: true, Names: keyNames(),
		// More pods make little difference, except for a longer listing every five minutes.
		Scales: []string{nodesKey, churnKey},
		Parameters: []application.Parameter{
			{Key: nodesKey, Meaning: "number of nodes", Differs: "the nodes", Default: 1000, Least: 1, Most: 100_000},
			// Kubernetes' own scalability tests use 30 pods per node.
			{Key: podsKey, Meaning: "pods of each node at the start of the load", Differs: "the pods of a node", Default: 30, Least: 1, Most: 500},
			{Key: churnKey, Meaning: "pods created, and pods removed, per second", Differs: "the pods that are created and removed",
				Unit: application.Number, Default: 20, Most: 10_000},
		},
		Ways: []application.Way{{Name: "etcd's transactions, leases and watch streams", Features: []kv.Feature{kv.ApplicationCalls, kv.RangeForms}}},
	}
}

// leastPodsPerChurn is the minimum lifetime of a pod in seconds. It is long enough for the calls
// that create the pod to be sent before the pod is removed.
const leastPodsPerChurn = 10

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := ConfigOf(s, 0)
	switch {
	case c.pods() > maxPods:
		return podsKey, fmt.Sprintf("<nodes> times <pods-per-node> is %d pods and can be at most %d", c.pods(), maxPods)
	case float64(c.pods()) < leastPodsPerChurn*c.Churn:
		return churnKey, fmt.Sprintf("<churn> is %g pods per second, so that each of the %d pods would live for less than %d seconds; reduce it, or use more pods", c.Churn, c.pods(), leastPodsPerChurn)
	}
	return "", ""
}

// Profile implements application.Application.
func (Application) Profile(s application.Settings, _ int) application.Profile {
	c := ConfigOf(s, 0)
	paths, _ := Watched()
	watchers := len(paths) + 1 // one more watches the compaction key
	rates := c.Rates()
	return application.Profile{
		Calls: app.Calls(shapes[:], rates[:]),
		There: c.InitialObjects(), KeySize: keySize, ValueSize: c.MeanValue(), Watchers: watchers, Streams: watchers, PreviousValues: true,
	}
}

// Script implements app.Application.
func (Application) Script(setup app.Setup) app.Script { return New(setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	return text.Plural(uint64(s.Int(nodesKey)), "node") + " with " + text.Plural(uint64(s.Int(podsKey)), "pod") +
		" each, " + application.Format(s[churnKey]) + " per second created and as many removed"
}

// Package kubernetes is the load that Kubernetes' API server puts on its store: which calls
// it sends, when, of which objects, under which keys. docs/explanation/applications.md says where each
// number comes from.
package kubernetes

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Name is what scenario files call the application.
const Name = "kubernetes"

// maxPods is how many pods there are at most.
const maxPods = 2_000_000

// Application is an application.Application.
type Application struct{}

// Definition implements application.Application.
func (Application) Definition() application.Definition {
	return application.Definition{
		Name: Name, Meaning: "the API server of Kubernetes", Prefix: "/registry/", Compacts: true, Names: keyNames(),
		Scales: []string{nodesKey, churnKey}, // of the pods that are there, hardly more than the list every five minutes is larger
		Parameters: []application.Parameter{
			{Key: nodesKey, Meaning: "number of nodes", Differs: "the nodes", Default: 1000, Least: 1, Most: 100_000},
			// 30 pods on a node are what the scalability tests of Kubernetes have.
			{Key: podsKey, Meaning: "pods of each node at the start of the load", Differs: "the pods of a node", Default: 30, Least: 1, Most: 500},
			{Key: churnKey, Meaning: "pods created, and pods removed, per second", Differs: "the pods that are created and removed",
				Unit: application.Number, Default: 20, Most: 10_000},
		},
		Ways: []application.Way{{Name: "etcd's transactions, leases and watch streams", Features: []kv.Feature{kv.ApplicationCalls, kv.RangeForms}}},
	}
}

// leastPodsPerChurn: a pod that is removed was created so many seconds before, so that
// its life's calls have been sent.
const leastPodsPerChurn = 10

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := ConfigOf(s, 0)
	switch {
	case c.pods() > maxPods:
		return podsKey, fmt.Sprintf("<nodes> times <pods-per-node> is %d pods and can be at most %d", c.pods(), maxPods)
	case float64(c.pods()) < leastPodsPerChurn*c.Churn:
		return churnKey, fmt.Sprintf("<churn> is %g pods a second, and of the %d pods each would live for less than %d seconds; ask for fewer, or for more pods", c.Churn, c.pods(), leastPodsPerChurn)
	}
	return "", ""
}

// Profile implements application.Application.
func (Application) Profile(s application.Settings, _ int) application.Profile {
	c := ConfigOf(s, 0)
	paths, _ := Watched()
	watchers := len(paths) + 1 // one is of the key that says who compacts
	rates := c.Rates()
	return application.Profile{
		Calls: app.Calls(shapes[:], rates[:]),
		There: c.There(), KeySize: keySize, ValueSize: c.MeanValue(), Watchers: watchers, Streams: watchers, PreviousValues: true,
	}
}

// Script implements app.Application.
func (Application) Script(setup app.Setup) app.Script { return New(setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	return text.Plural(uint64(s.Whole(nodesKey)), "node") + " with " + text.Plural(uint64(s.Whole(podsKey)), "pod") +
		" each, " + application.Format(s[churnKey]) + " a second created and as many removed"
}

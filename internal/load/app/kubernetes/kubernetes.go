// Package kubernetes imitates the load that Kubernetes' API server puts on its store. It defines
// the calls that the API server sends, their times, objects and keys.
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
		Name: Name, Meaning: "the API server of Kubernetes", Prefix: "/registry/", Compacts: true, KeyPattern: keyNames(),
		// The number of pods makes little difference: more pods make only one call longer, the
		// listing that is sent every five minutes.
		SizeParameters: []string{nodesKey, churnKey},
		Parameters: []application.Parameter{
			{Key: nodesKey, Meaning: "number of nodes", DifferenceName: "the nodes", Default: 1000, Min: 1, Max: 100_000},
			// Kubernetes' own scalability tests use 30 pods per node.
			{Key: podsKey, Meaning: "pods on each node at the start of the load", DifferenceName: "the pods of a node", Default: 30, Min: 1, Max: 500},
			{Key: churnKey, Meaning: "pods created per second; the same number is removed", DifferenceName: "the pods created and removed per second",
				Unit: application.Number, Default: 20, Max: 10_000},
		},
		Ways: []application.Way{{Name: "etcd's transactions, leases and watch streams", Features: []kv.Feature{kv.ApplicationCalls, kv.RangeForms}}},
	}
}

// minPodLifetime is the minimum lifetime of a pod in seconds. Within this time, all calls that
// create the pod are sent before the pod is removed.
const minPodLifetime = 10

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := NewConfig(s, 0)
	switch {
	case c.pods() > maxPods:
		return podsKey, fmt.Sprintf("<nodes> times <pods-per-node> is %d pods, but must be at most %d", c.pods(), maxPods)
	case float64(c.pods()) < minPodLifetime*c.Churn:
		return churnKey, fmt.Sprintf("<churn> is %g pods per second, so each of the %d pods would live for less than %d seconds; reduce <churn>, or use more pods", c.Churn, c.pods(), minPodLifetime)
	}
	return "", ""
}

// Profile implements application.Application.
func (Application) Profile(s application.Settings, _ int) application.Profile {
	c := NewConfig(s, 0)
	paths, _ := WatchedPaths()
	watchers := len(paths) + 1 // one additional watcher for the compaction key
	rates := c.Rates()
	return application.Profile{
		Calls:    app.Calls(shapes[:], rates[:]),
		Existing: c.InitialObjects(), KeySize: keySize, ValueSize: c.MeanValueSize(), Watchers: watchers, Streams: watchers, PreviousValues: true,
	}
}

// Script implements app.Application.
func (Application) Script(setup app.Setup) app.Script { return New(setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	churn := text.FormatNumber(s[churnKey])
	return text.Plural(uint64(s.Int(nodesKey)), "node") + " with " + text.Plural(uint64(s.Int(podsKey)), "pod") +
		" each, " + churn + " pods/s created, " + churn + " pods/s removed"
}

// Package registry lists the applications.
package registry

import (
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/app/patroni"
)

// All are the applications, in the order in which they are listed. Each has a source in
// internal/load (sources.go).
func All() []app.Application {
	return []app.Application{
		kubernetes.Application{},
		membership.Application{},
		catalog.Application{},
		patroni.Application{},
		election.Application{},
		election.Application{Queue: true},
	}
}

// Find is the application with the name; nil if there is none.
func Find(name string) app.Application {
	for _, a := range All() {
		if a.Definition().Name == name {
			return a
		}
	}
	return nil
}

// Names are what scenario files call them.
func Names() (all []string) {
	for _, a := range All() {
		all = append(all, a.Definition().Name)
	}
	return all
}

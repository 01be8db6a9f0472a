// Package registry lists the applications.
package registry

import (
	"github.com/quorumbench/quorumbench/internal/application"
	"github.com/quorumbench/quorumbench/internal/application/catalog"
	"github.com/quorumbench/quorumbench/internal/application/election"
	"github.com/quorumbench/quorumbench/internal/application/kubernetes"
	"github.com/quorumbench/quorumbench/internal/application/membership"
	"github.com/quorumbench/quorumbench/internal/application/patroni"
)

// All are the applications, in the order in which they are listed. Each has a source in
// internal/run/load (sources.go).
func All() []application.Application {
	return []application.Application{
		kubernetes.Application{},
		membership.Application{},
		catalog.Application{},
		patroni.Application{},
		election.Application{},
		election.Application{Queue: true},
	}
}

// Find is the application with the name; nil if there is none.
func Find(name string) application.Application {
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

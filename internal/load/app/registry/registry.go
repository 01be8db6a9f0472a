// Package registry lists the applications.
package registry

import (
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	"github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// applications are the applications, in the order in which they are listed.
func applications() []app.Application {
	return []app.Application{
		kubernetes.Application{},
		discovery.Application{},
		discovery.Application{Catalog: true},
		patroni.Application{},
		election.Application{},
		election.Application{Queue: true},
	}
}

// All returns what a scenario knows of the applications.
func All() (all []application.Application) {
	for _, a := range applications() {
		all = append(all, a)
	}
	return all
}

// Find returns the application with the name; nil if there is none.
func Find(name string) app.Application {
	for _, a := range applications() {
		if a.Definition().Name == name {
			return a
		}
	}
	return nil
}

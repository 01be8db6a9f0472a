package load

import (
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	"github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// applications returns all applications, in the order in which listings show them.
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

// Applications returns all applications, as the interface type that scenarios use.
func Applications() (all []application.Application) {
	for _, a := range applications() {
		all = append(all, a)
	}
	return all
}

// findApplication returns the application with the given name, or nil if there is none.
func findApplication(name string) app.Application {
	for _, a := range applications() {
		if a.Definition().Name == name {
			return a
		}
	}
	return nil
}

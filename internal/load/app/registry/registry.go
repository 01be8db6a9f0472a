// Package registry lists the applications.
package registry

import (
	"github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// All are the applications, in the order in which they are listed. Each has a source in
// internal/load (sources.go).
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

package load

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/apiserver"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/catalog"
	"github.com/quorumbench/quorumbench/internal/load/app/election"
	"github.com/quorumbench/quorumbench/internal/load/app/kubernetes"
	"github.com/quorumbench/quorumbench/internal/load/app/membership"
	"github.com/quorumbench/quorumbench/internal/load/app/patroni"
	"github.com/quorumbench/quorumbench/internal/load/app/registry"
	services "github.com/quorumbench/quorumbench/internal/load/catalog"
	elections "github.com/quorumbench/quorumbench/internal/load/election"
	sessions "github.com/quorumbench/quorumbench/internal/load/membership"
	patroniload "github.com/quorumbench/quorumbench/internal/load/patroni"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// told is the script of an application, each of which tells what its calls were.
type told interface {
	Script
	Checked
}

// sources has what sends each application of package registry, by its name.
func sources() map[string]func(app.Setup) told {
	return map[string]func(app.Setup) told{
		kubernetes.Name: func(s app.Setup) told { return apiserver.New(s) },
		catalog.Name:    func(s app.Setup) told { return services.New(s) },
		membership.Name: func(s app.Setup) told { return sessions.New(s) },
		patroni.Name:    func(s app.Setup) told { return patroniload.New(s) },

		election.RaceName:  func(s app.Setup) told { return elections.New(election.Application{}, s) },
		election.QueueName: func(s app.Setup) told { return elections.New(election.Application{Queue: true}, s) },
	}
}

// scripted is the script of an application's load on a store that can do so much; nil of
// any other.
func scripted(a *Assignment, can kv.Capabilities) (Script, error) {
	l := &a.Load
	which := application.Find(registry.All(), l.Application.Name)
	if which == nil {
		return nil, nil
	}
	d := which.Definition()
	way, err := d.WayOf(a.Store, can)
	if err != nil {
		return nil, err
	}
	return sources()[d.Name](app.Setup{
		Settings: l.Application.Values(), Way: way, Seed: l.Seed, Length: l.Duration, Prefix: l.Prefix,
		Connections: l.Connections, Before: a.Preloaded.versions(), Confined: a.Confined, ClusterWide: l.ClusterWide,
	}), nil
}

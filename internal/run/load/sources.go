package load

import (
	"github.com/quorumbench/quorumbench/internal/application"
	"github.com/quorumbench/quorumbench/internal/application/catalog"
	"github.com/quorumbench/quorumbench/internal/application/election"
	"github.com/quorumbench/quorumbench/internal/application/kubernetes"
	"github.com/quorumbench/quorumbench/internal/application/membership"
	"github.com/quorumbench/quorumbench/internal/application/patroni"
	"github.com/quorumbench/quorumbench/internal/application/registry"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/load/apiserver"
	services "github.com/quorumbench/quorumbench/internal/run/load/catalog"
	elections "github.com/quorumbench/quorumbench/internal/run/load/election"
	sessions "github.com/quorumbench/quorumbench/internal/run/load/membership"
	patroniload "github.com/quorumbench/quorumbench/internal/run/load/patroni"
)

// told is the script of an application, each of which tells what its calls were.
type told interface {
	Script
	Checked
}

// sources has what sends each application of package registry, by its name.
func sources() map[string]func(application.Setup) told {
	return map[string]func(application.Setup) told{
		kubernetes.Name: func(s application.Setup) told { return apiserver.New(s) },
		catalog.Name:    func(s application.Setup) told { return services.New(s) },
		membership.Name: func(s application.Setup) told { return sessions.New(s) },
		patroni.Name:    func(s application.Setup) told { return patroniload.New(s) },

		election.RaceName:  func(s application.Setup) told { return elections.New(election.Application{}, s) },
		election.QueueName: func(s application.Setup) told { return elections.New(election.Application{Queue: true}, s) },
	}
}

// scripted is the script of an application's load on a store that can do so much; nil of
// any other.
func scripted(a *Assignment, can kv.Capabilities) (Script, error) {
	l := &a.Load
	app := registry.Find(l.Application.Name)
	if app == nil {
		return nil, nil
	}
	d := app.Definition()
	way, err := d.WayOf(a.Store, can)
	if err != nil {
		return nil, err
	}
	return sources()[d.Name](application.Setup{
		Settings: l.Application.Settings, Way: way, Seed: l.Seed, Length: l.Duration, Prefix: l.Prefix,
		Connections: l.Connections, Before: a.Preloaded.versions(), Confined: a.Confined, ClusterWide: l.ClusterWide,
	}), nil
}

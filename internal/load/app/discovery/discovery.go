// Package discovery imitates service discovery: services gain and lose instances, and clients learn
// about the instances of the services that they use. The package has two applications. In
// membership, each instance is a key that is bound to the instance's session, as in Apache Curator.
// In catalog, the store holds a catalog of services and health checks. In Consul, the servers
// receive the contents of the catalog from agents, which run on many nodes.
// docs/explanation/applications.md gives the source of each number.
package discovery

import (
	"fmt"
	"regexp"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Names of the applications in scenario files.
const (
	MembershipName = "membership"
	CatalogName    = "catalog"
)

// Application implements application.Application. If Catalog is set, the application is catalog.
// Otherwise it is membership.
type Application struct{ Catalog bool }

// Definition implements application.Application.
func (a Application) Definition() application.Definition {
	d := application.Definition{SizeParameters: []string{instancesKey, servicesKey, clientsKey, churnKey}, Parameters: parameters(a.Catalog)}
	if a.Catalog {
		d.Name, d.Prefix, d.KeyPattern = CatalogName, "qb-", regexp.MustCompile(`^s\d{6}-i\d{6}$`)
		d.Meaning = "service discovery with a catalog of services and their health checks"
		d.Ways = []application.Way{{
			Name:       "a catalog of services, and blocking queries for their healthy instances",
			Features:   []kv.Feature{kv.Services},
			Operations: []application.Operation{{Kind: kv.Watch}},
		}}
		return d
	}
	d.Name, d.Prefix, d.KeyPattern = MembershipName, "services/", regexp.MustCompile(`^s\d{6}(/|$)`)
	d.Meaning = "service discovery with keys that are deleted when their sessions end"
	d.Ways = []application.Way{{
		Name: "ephemeral nodes and persistent recursive watches",
		Operations: []application.Operation{
			{Kind: kv.Ephemeral}, {Kind: kv.Delete}, {Kind: kv.Watch}, {Kind: kv.Get, Level: kv.Local},
		},
	}}
	return d
}

// Check implements application.Application.
func (a Application) Check(s application.Settings) (parameter, why string) {
	c := newConfig(a.Catalog, s, 0)
	return c.check()
}

// CheckWindow implements application.WindowChecker. The window must not be so long that the
// instances of a service run out of numbers.
func (a Application) CheckWindow(s application.Settings, _ int, length time.Duration) (parameter, why string) {
	c := newConfig(a.Catalog, s, 0)
	return c.checkWindow(length)
}

// Profile implements application.Application.
func (a Application) Profile(s application.Settings, _ int) application.Profile {
	c := newConfig(a.Catalog, s, 0)
	rates := c.rates()
	return application.Profile{
		Existing: uint64(c.initial()), KeySize: len("s000000/i000000"), ValueSize: c.size,
		Watchers: c.clients * c.servicesPerClient, Streams: c.streams(),
		Calls: app.Calls(callShapes(a.Catalog), rates[:]),
	}
}

// Phrase implements application.Application.
func (a Application) Phrase(s application.Settings) string {
	c := newConfig(a.Catalog, s, 0)
	words := c.phrase()
	if a.Catalog {
		words += fmt.Sprintf(", %s instances/s that become critical and recover", text.FormatNumber(c.health))
	}
	return words
}

// Script implements app.Application.
func (a Application) Script(setup app.Setup) app.Script { return newScript(a.Catalog, setup) }

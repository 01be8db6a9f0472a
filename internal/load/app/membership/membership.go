// Package membership is the load of service discovery by keys that end with their
// sessions: each instance of a service is a key of its own, made in its instance's
// session, and each client is told of what comes and goes below the services that it
// uses, as Apache Curator's service discovery does it. It is data alone; what sends it
// is internal/load/membership. docs/applications.md says where each number comes
// from.
package membership

import (
	"regexp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Name is what scenario files call the application.
const Name = "membership"

// keyNames matches the names of its keys after the prefix.
var keyNames = regexp.MustCompile(`^s\d{6}(/|$)`)

// Application is an application.Application.
type Application struct{}

// Definition implements application.Application.
func (Application) Definition() application.Definition {
	return application.Definition{
		Name: Name, Meaning: "service discovery by keys that end with their sessions", Prefix: "services/", Names: keyNames,
		Scales:     discovery.Scales(),
		Parameters: discovery.Parameters(1 << 19),
		Ways: []application.Way{{
			Name: "ephemeral nodes and persistent recursive watches",
			Operations: []application.Operation{
				{Kind: kv.Ephemeral}, {Kind: kv.Delete}, {Kind: kv.Watch}, {Kind: kv.Get, Level: kv.Local},
			},
		}},
	}
}

// readers is how many clients read an instance that has come: those that use its
// service.
func readers(c *discovery.Config) float64 { return float64(c.Clients*c.Uses) / float64(c.Services) }

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := discovery.ConfigOf(s, 0)
	return c.Check()
}

// Call is a kind of call: a row in the report.
type Call uint8

// The kinds of calls.
const (
	Register   Call = iota // an instance comes
	Deregister             // an instance goes
	Lookup                 // a client reads an instance that it was told of
	NumCalls
)

// Shapes are what they are.
var Shapes = [NumCalls]app.Shape{
	Register:   {Name: "register", Kind: kv.Ephemeral},
	Deregister: {Name: "deregister", Kind: kv.Delete},
	Lookup:     {Name: "read instance", Kind: kv.Get, Level: kv.Local},
}

// String returns the name of the kind of call.
func (c Call) String() string { return Shapes[c].Name }

// Kind is what such calls count as among all operations.
func (c Call) Kind() (kv.Kind, kv.Consistency) { return Shapes[c].Kind, Shapes[c].Level }

// Profile implements application.Application.
func (Application) Profile(s application.Settings, _ int) application.Profile {
	c := discovery.ConfigOf(s, 0)
	rates := [NumCalls]float64{Register: c.Churn, Deregister: c.Churn, Lookup: c.Churn * readers(&c)}
	return application.Profile{
		There: uint64(c.There()), KeySize: len("s000000/i000000"), ValueSize: c.Size,
		Watchers: c.Clients * c.Uses, Streams: c.Clients,
		Calls: app.Calls(Shapes[:], rates[:]),
	}
}

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := discovery.ConfigOf(s, 0)
	return c.Phrase()
}

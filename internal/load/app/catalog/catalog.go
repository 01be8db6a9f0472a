// Package catalog is the load of service discovery by a catalog of services and their
// health checks, as the servers of Consul get it from agents on many nodes: instances are
// registered and deregistered, their checks change, agents compare what they have with
// what the servers have, and clients wait with blocking queries for the healthy instances
// of the services that they use. It is data alone; what sends it is
// internal/load/catalog. docs/applications.md says where each number comes from.
package catalog

import (
	"fmt"
	"regexp"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Name is what scenario files call the application.
const Name = "catalog"

// healthKey is the key of the parameter that package discovery does not have.
const healthKey = "health-changes"

// keyNames matches the names of its keys after the prefix.
var keyNames = regexp.MustCompile(`^s\d{6}-i\d{6}$`)

// Application is an application.Application.
type Application struct{}

// Definition implements application.Application.
func (Application) Definition() application.Definition {
	return application.Definition{
		Name: Name, Meaning: "service discovery by a catalog of services and their health checks", Prefix: "qb-", Names: keyNames,
		Scales: discovery.Scales(),
		Parameters: discovery.Parameters(512, application.Parameter{
			Key: healthKey, Meaning: "instances that become critical, and as many that pass again, a second", Differs: "the changes of health", Unit: application.Number, Default: 1, Most: 10_000,
		}),
		Ways: []application.Way{{
			Name:       "a catalog of services, and blocking queries for the healthy ones",
			Features:   []kv.Feature{kv.Services},
			Operations: []application.Operation{{Kind: kv.Watch}},
		}},
	}
}

// Config says how large it is.
type Config struct {
	discovery.Config
	Health float64 // instances that become critical a second
}

// ConfigOf is what settings come to.
func ConfigOf(s application.Settings, seed uint64) Config {
	return Config{Config: discovery.ConfigOf(s, seed), Health: s[healthKey]}
}

// comparisons is how many nodes a second compare themselves with the catalog. Consul's
// agents do so once a minute in clusters of up to 128 nodes, and half as often with each
// doubling of them (lib/cluster.go, RateScaledInterval and agent/ae: scaleFactor).
func (c *Config) comparisons() float64 {
	nodes, minutes := c.There(), 1.0
	for n := 128; n < nodes; n *= 2 {
		minutes++
	}
	return float64(nodes) / (60 * minutes)
}

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := ConfigOf(s, 0)
	if parameter, why = c.Check(); why != "" {
		return parameter, why
	}
	if c.Health > 0 && c.Churn*shortestLife.Seconds() > float64(c.There()) {
		return healthKey, fmt.Sprintf("with <instance-churn> at %s the %d instances live for less than %v in the mean, which is too short for <health-changes>", application.Format(c.Churn), c.There(), shortestLife)
	}
	return "", ""
}

// Call is a kind of call: a row in the report.
type Call uint8

// The kinds of calls.
const (
	Register   Call = iota // an instance comes
	Deregister             // an instance goes
	Fail                   // its check becomes critical
	Pass                   // it passes again
	Compare                // its agent reads what the catalog has of its node
	NumCalls
)

// Shapes are what they are.
var Shapes = [NumCalls]app.Shape{
	Register:   {Name: "register", Kind: kv.Put},
	Deregister: {Name: "deregister", Kind: kv.Delete},
	Fail:       {Name: "check critical", Kind: kv.Put},
	Pass:       {Name: "check passing", Kind: kv.Put},
	Compare:    {Name: "compare node", Kind: kv.Range, Level: kv.Local},
}

// String returns the name of the kind of call.
func (c Call) String() string { return Shapes[c].Name }

// Kind is what such calls count as among all operations.
func (c Call) Kind() (kv.Kind, kv.Consistency) { return Shapes[c].Kind, Shapes[c].Level }

// Profile implements application.Application.
func (Application) Profile(s application.Settings, _ int) application.Profile {
	c := ConfigOf(s, 0)
	rates := [NumCalls]float64{Register: c.Churn, Deregister: c.Churn, Fail: c.Health, Pass: c.Health, Compare: c.comparisons()}
	return application.Profile{
		There: uint64(c.There()), KeySize: len("s000000-i000000"), ValueSize: c.Size,
		Watchers: c.Clients * c.Uses, Streams: c.Clients * c.Uses,
		Calls: app.Calls(Shapes[:], rates[:]),
	}
}

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := ConfigOf(s, 0)
	return fmt.Sprintf("%s, %s a second that fail and pass again", c.Phrase(), application.Format(c.Health))
}

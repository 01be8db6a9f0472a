// Package catalog is the load of service discovery by a catalog of services and their
// health checks, as the servers of Consul get it from agents on many nodes: instances are
// registered and deregistered, their checks change, agents compare what they have with
// what the servers have, and clients wait with blocking queries for the healthy instances
// of the services that they use. It is data alone; what sends it is
// internal/run/load/catalog. docs/applications.md says where each number comes from.
package catalog

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/application"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// Name is what scenario files call the application.
const Name = "catalog"

// The parameters' keys.
const (
	servicesKey  = "services"
	instancesKey = "instances-per-service"
	clientsKey   = "discovery-clients"
	usesKey      = "services-per-client"
	churnKey     = "instance-churn"
	healthKey    = "health-changes"
	sizeKey      = "instance-size"
)

// Bounds of what is followed.
const (
	maxInstances = 1_000_000
	maxFollowed  = 4 << 20 // clients' services times the instances of each
)

// Application is an application.Application.
type Application struct{}

// Definition implements application.Application.
func (Application) Definition() application.Definition {
	return application.Definition{
		Name: Name, Meaning: "service discovery by a catalog of services and their health checks", Prefix: "qb-",
		Scales: []string{instancesKey, servicesKey, clientsKey, churnKey},
		Parameters: []application.Parameter{
			{Key: servicesKey, Meaning: "its services", Differs: "the services", Default: 100, Least: 1, Most: 100_000},
			{Key: instancesKey, Meaning: "the instances of each that are there when the load begins", Differs: "the instances of a service", Default: 10, Least: 1, Most: 10_000},
			{Key: clientsKey, Meaning: "clients that look services up, each with a session of its own", Differs: "the clients that look services up", Default: 200, Least: 1, Most: 20_000},
			{Key: usesKey, Meaning: "services that each client uses, and watches", Differs: "the services of a client", Default: 10, Least: 1, Most: 10_000},
			{Key: churnKey, Meaning: "instances that come, and as many that go, a second", Differs: "the instances that come and go", Unit: application.Number, Default: 5, Most: 10_000},
			{Key: healthKey, Meaning: "instances that become critical, and as many that pass again, a second", Differs: "the changes of health", Unit: application.Number, Default: 1, Most: 10_000},
			{Key: sizeKey, Meaning: "the size of what an instance says of itself", Differs: "the size of an instance", Unit: application.Bytes, Default: 384, Least: 32, Most: 512},
		},
		Ways: []application.Way{{
			Name:       "a catalog of services, and blocking queries for the healthy ones",
			Features:   []kv.Feature{kv.Services},
			Operations: []application.Operation{{Kind: kv.Watch}},
		}},
	}
}

// Config says how large it is.
type Config struct {
	Services, Instances int // of each service
	Clients, Uses       int // services of each client
	Churn, Health       float64
	Size                int // bytes that an instance says of itself
	Seed                uint64
}

// ConfigOf is what settings come to.
func ConfigOf(s application.Settings, seed uint64) Config {
	return Config{
		Services: s.Whole(servicesKey), Instances: s.Whole(instancesKey), Clients: s.Whole(clientsKey), Uses: s.Whole(usesKey),
		Churn: s[churnKey], Health: s[healthKey], Size: s.Whole(sizeKey), Seed: seed,
	}
}

// comparisons is how many nodes a second compare themselves with the catalog. Consul's
// agents do so once a minute in clusters of up to 128 nodes, and half as often with each
// doubling of them (lib/cluster.go, RateScaledInterval and agent/ae: scaleFactor).
func (c *Config) comparisons() float64 {
	nodes, minutes := c.Services*c.Instances, 1.0
	for n := 128; n < nodes; n *= 2 {
		minutes++
	}
	return float64(nodes) / (60 * minutes)
}

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := ConfigOf(s, 0)
	switch {
	case c.Services*c.Instances > maxInstances:
		return instancesKey, fmt.Sprintf("<services> times <instances-per-service> is %d instances and can be at most %d", c.Services*c.Instances, maxInstances)
	case c.Uses > c.Services:
		return usesKey, fmt.Sprintf("<services-per-client> is %d, and there are %d <services>", c.Uses, c.Services)
	case c.Clients*c.Uses > maxFollowed/c.Instances:
		return clientsKey, fmt.Sprintf("<discovery-clients> times <services-per-client> times <instances-per-service> is more than can be followed: at most %d", maxFollowed)
	case c.Health > 0 && c.Churn*shortestLife.Seconds() > float64(c.Services*c.Instances):
		return healthKey, fmt.Sprintf("with <instance-churn> at %s the %d instances live for less than %v in the mean, which is too short for <health-changes>", application.Format(c.Churn), c.Services*c.Instances, shortestLife)
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

var shapes = [NumCalls]struct {
	name  string
	kind  kv.Kind
	level kv.Consistency
}{
	Register:   {"register", kv.Put, kv.None},
	Deregister: {"deregister", kv.Delete, kv.None},
	Fail:       {"check critical", kv.Put, kv.None},
	Pass:       {"check passing", kv.Put, kv.None},
	Compare:    {"compare node", kv.Range, kv.Local},
}

// String returns the name of the kind of call.
func (c Call) String() string { return shapes[c].name }

// Kind is what such calls count as among all operations.
func (c Call) Kind() (kv.Kind, kv.Consistency) { return shapes[c].kind, shapes[c].level }

// Profile implements application.Application.
func (Application) Profile(s application.Settings, _ int) application.Profile {
	c := ConfigOf(s, 0)
	p := application.Profile{
		There: uint64(c.Services * c.Instances), KeySize: len("s000000-i000000"), ValueSize: c.Size,
		Watchers: c.Clients * c.Uses, Streams: c.Clients * c.Uses,
	}
	for call, rate := range [NumCalls]float64{Register: c.Churn, Deregister: c.Churn, Fail: c.Health, Pass: c.Health, Compare: c.comparisons()} {
		kind, level := Call(call).Kind()
		p.Calls = append(p.Calls, application.Call{Name: Call(call).String(), Kind: kind, Level: level, PerSecond: rate})
	}
	return p
}

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := ConfigOf(s, 0)
	return fmt.Sprintf("%s with %s each, %s that use %s each, %s a second that come and as many that go, %s a second that fail and pass again",
		readable.Plural(uint64(c.Services), "service"), readable.Plural(uint64(c.Instances), "instance"),
		readable.Plural(uint64(c.Clients), "client"), readable.Plural(uint64(c.Uses), "service"), application.Format(c.Churn), application.Format(c.Health))
}

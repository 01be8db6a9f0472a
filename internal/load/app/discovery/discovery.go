// Package discovery has what applications share that are service discovery: how many
// services, instances and clients there are, which client uses which service, and how an
// instance has its number. Package membership and package catalog are such.
package discovery

import (
	"fmt"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The parameters' keys.
const (
	ServicesKey  = "services"
	InstancesKey = "instances-per-service"
	ClientsKey   = "discovery-clients"
	UsesKey      = "services-per-client"
	ChurnKey     = "instance-churn"
	SizeKey      = "instance-size"
)

// Bounds of what is followed.
const (
	maxInstances = 1_000_000
	maxFollowed  = 4 << 20 // clients' services times the instances of each
)

// Parameters are those that all have; more of an application's own stand before the last,
// an instance's size, which can be mostSize bytes.
func Parameters(mostSize float64, own ...application.Parameter) []application.Parameter {
	all := append([]application.Parameter{
		{Key: ServicesKey, Meaning: "its services", Differs: "the services", Default: 100, Least: 1, Most: 100_000},
		{Key: InstancesKey, Meaning: "the instances of each that are there when the load begins", Differs: "the instances of a service", Default: 10, Least: 1, Most: 10_000},
		{Key: ClientsKey, Meaning: "clients that look services up, each with a session of its own", Differs: "the clients that look services up", Default: 200, Least: 1, Most: 20_000},
		{Key: UsesKey, Meaning: "services that each client uses, and watches", Differs: "the services of a client", Default: 10, Least: 1, Most: 10_000},
		{Key: ChurnKey, Meaning: "instances that come, and as many that go, a second", Differs: "the instances that come and go", Unit: application.Number, Default: 5, Most: 10_000},
	}, own...)
	return append(all, application.Parameter{Key: SizeKey, Meaning: "the size of what an instance says of itself", Differs: "the size of an instance", Unit: application.Bytes, Default: 384, Least: 32, Most: mostSize})
}

// Scales are those with which the load of all grows.
func Scales() []string { return []string{InstancesKey, ServicesKey, ClientsKey, ChurnKey} }

// Config says how large it is.
type Config struct {
	Services, Instances int // of each service
	Clients, Uses       int // services of each client
	Churn               float64
	Size                int // bytes that an instance says of itself
	Seed                uint64
}

// ConfigOf is what settings come to.
func ConfigOf(s application.Settings, seed uint64) Config {
	return Config{
		Services: s.Whole(ServicesKey), Instances: s.Whole(InstancesKey), Clients: s.Whole(ClientsKey), Uses: s.Whole(UsesKey),
		Churn: s[ChurnKey], Size: s.Whole(SizeKey), Seed: seed,
	}
}

// There is how many instances there are when the load begins.
func (c *Config) There() int { return c.Services * c.Instances }

// Check says what is wrong with them together, as application.Application has it.
func (c *Config) Check() (parameter, why string) {
	switch {
	case c.There() > maxInstances:
		return InstancesKey, fmt.Sprintf("<services> times <instances-per-service> is %d instances and can be at most %d", c.There(), maxInstances)
	case c.Uses > c.Services:
		return UsesKey, fmt.Sprintf("<services-per-client> is %d, and there are %d <services>", c.Uses, c.Services)
	case c.Clients*c.Uses > maxFollowed/c.Instances:
		return ClientsKey, fmt.Sprintf("<discovery-clients> times <services-per-client> times <instances-per-service> is more than can be followed: at most %d", maxFollowed)
	}
	return "", ""
}

// Phrase is them in words.
func (c *Config) Phrase() string {
	return fmt.Sprintf("%s with %s each, %s that use %s each, %s a second that come and as many that go",
		text.Plural(uint64(c.Services), "service"), text.Plural(uint64(c.Instances), "instance"),
		text.Plural(uint64(c.Clients), "client"), text.Plural(uint64(c.Uses), "service"), application.Format(c.Churn))
}

// Places is where instances have their numbers. Those of a service have the numbers from
// Room times the service's on: at first those that are there before, then those that
// come.
type Places struct {
	Config
	Room uint32 // numbers of each service
}

// PlacesOf has room for so many that come, spread evenly over the services.
func PlacesOf(c Config, born int) Places {
	return Places{Config: c, Room: uint32(c.Instances + (born+c.Services-1)/c.Services)}
}

// Service is the i-th of those that a client uses.
func (p *Places) Service(client, i int) uint32 { return uint32((client*p.Uses + i) % p.Services) }

// Users are the clients that use a service.
func (p *Places) Users(service uint32) (clients []uint32) {
	for at := int(service); at < p.Clients*p.Uses; at += p.Services {
		clients = append(clients, uint32(at/p.Uses))
	}
	return clients
}

// All is how many instances have a number.
func (p *Places) All() uint32 { return p.Room * uint32(p.Services) }

// Before reports whether an instance is there when the load begins.
func (p *Places) Before(object uint32) bool { return object%p.Room < uint32(p.Instances) }

// BeforeAt is the n-th of those that are there when the load begins.
func (p *Places) BeforeAt(n uint64) uint32 {
	each := uint64(p.Instances)
	return uint32(n/each)*p.Room + uint32(n%each)
}

// Changes is which instance comes and which one goes as the i-th of those that change:
// of each service the oldest goes. The order is of the services.
func (p *Places) Changes(order []int, i int) (came, gone uint32) {
	first, k := uint32(order[i%p.Services])*p.Room, uint32(i/p.Services)
	return first + uint32(p.Instances) + k, first + k
}

// AppendService appends a service's name.
func (p *Places) AppendService(b []byte, prefix string, service uint32) []byte {
	return app.AppendNumber(append(append(b, prefix...), 's'), service)
}

// AppendInstance appends an instance's name, in which a byte stands between its service's
// and its own.
func (p *Places) AppendInstance(b []byte, prefix string, between byte, object uint32) []byte {
	return app.AppendNumber(append(p.AppendService(b, prefix, object/p.Room), between, 'i'), object%p.Room)
}

// Number is the instance that has a name, as AppendInstance made it.
func (p *Places) Number(prefix string, between byte, name []byte) (object uint32, ok bool) {
	const digits = app.Digits
	if len(name) != len(prefix)+len("s/i")+2*digits || string(name[:len(prefix)]) != prefix {
		return 0, false
	}
	rest := name[len(prefix):]
	service, ok := app.ReadNumber(rest[1 : 1+digits])
	place, fine := app.ReadNumber(rest[len(rest)-digits:])
	if !ok || !fine || rest[0] != 's' || rest[1+digits] != between || rest[2+digits] != 'i' || service >= uint32(p.Services) || place >= p.Room {
		return 0, false
	}
	return service*p.Room + place, true
}

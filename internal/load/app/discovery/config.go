package discovery

import (
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Keys of the parameters.
const (
	servicesKey  = "services"
	instancesKey = "instances-per-service"
	clientsKey   = "discovery-clients"
	usesKey      = "services-per-client"
	churnKey     = "instance-churn"
	healthKey    = "health-changes"
	sizeKey      = "instance-size"
)

// The following constants limit the number of objects that a load tracks.
const (
	maxInstances        = 1_000_000
	maxWatchedInstances = 4 << 20 // clients × services per client × instances per service
)

const (
	// criticalDuration is how long an instance stays critical.
	criticalDuration = 5 * time.Second
	// minGap is the minimum time between two calls that change the same instance. It lets watchers
	// receive both changes.
	minGap = 5 * time.Second
	// minMeanLifetime is the minimum mean lifetime of instances in a load with health changes. If
	// instances had shorter lives, too few of them could fail and pass again.
	minMeanLifetime = 2 * (criticalDuration + 2*minGap)
)

func parameters(catalog bool) []application.Parameter {
	all := []application.Parameter{
		{Key: servicesKey, Meaning: "number of services", DifferenceName: "the services", Default: 100, Min: 1, Max: 100_000},
		{Key: instancesKey, Meaning: "instances of each service at the start of the load", DifferenceName: "the instances of a service", Default: 10, Min: 1, Max: 10_000},
		{Key: clientsKey, Meaning: "clients that look up services, each with its own session", DifferenceName: "the clients that look up services", Default: 200, Min: 1, Max: 20_000},
		{Key: usesKey, Meaning: "services that each client uses and watches", DifferenceName: "the services of a client", Default: 10, Min: 1, Max: 10_000},
		{Key: churnKey, Meaning: "instances added per second; the same number is removed", DifferenceName: "the instances added and removed per second", Unit: application.Number, Default: 5, Max: 10_000},
	}
	size := application.Parameter{
		Key: sizeKey, Meaning: "size of an instance's description", DifferenceName: "the size of an instance", Unit: application.Bytes, Default: 384, Min: 32, Max: 1 << 19,
	}
	if catalog {
		size.Max = 512
		all = append(all, application.Parameter{
			Key: healthKey, Meaning: "instances that become critical per second; the same number becomes healthy again", DifferenceName: "the health changes per second", Unit: application.Number, Default: 1, Max: 10_000,
		})
	}
	return append(all, size)
}

// config holds an application's size and rates.
type config struct {
	catalog                    bool // true for catalog, false for membership
	services, instances        int  // number of services, and number of instances of each service
	clients, servicesPerClient int  // number of clients, and number of services that each client uses
	churn                      float64
	health                     float64 // number of instances that become critical per second
	size                       int     // size of an instance's description in bytes
	seed                       uint64
}

func newConfig(catalog bool, s application.Settings, seed uint64) config {
	return config{
		catalog: catalog, services: s.Int(servicesKey), instances: s.Int(instancesKey), clients: s.Int(clientsKey), servicesPerClient: s.Int(usesKey),
		churn: s[churnKey], health: s[healthKey], size: s.Int(sizeKey), seed: seed,
	}
}

// initial returns the number of instances at the start of the load.
func (c *config) initial() int { return c.services * c.instances }

// streams returns the total number of watch streams of all clients. In membership, each client has
// one stream. In a catalog, each client has one blocking query for each of its services.
func (c *config) streams() int {
	if c.catalog {
		return c.clients * c.servicesPerClient
	}
	return c.clients
}

// comparisonRate returns the number of comparisons per second of all agents together. In a
// comparison, an agent compares its node with the catalog. In a cluster of up to 128 nodes, each
// Consul agent does this once a minute. Each doubling of the number of nodes adds a minute to the
// interval (see RateScaledInterval in lib/cluster.go and scaleFactor in agent/ae, in the source
// code of Consul).
func (c *config) comparisonRate() float64 {
	nodes, minutes := c.initial(), 1.0
	for n := 128; n < nodes; n *= 2 {
		minutes++
	}
	return float64(nodes) / (60 * minutes)
}

// rates returns the number of calls of each kind per second. In membership, every client of a
// service reads each new instance of that service.
func (c *config) rates() (rates [numCalls]float64) {
	rates[Register], rates[Deregister] = c.churn, c.churn
	if c.catalog {
		rates[Fail], rates[Pass], rates[Compare] = c.health, c.health, c.comparisonRate()
	} else {
		rates[Lookup] = c.churn * float64(c.clients*c.servicesPerClient) / float64(c.services)
	}
	return rates
}

func (c *config) check() (parameter, why string) {
	switch {
	case c.initial() > maxInstances:
		return instancesKey, fmt.Sprintf("<services> times <instances-per-service> is %d instances, but must be at most %d", c.initial(), maxInstances)
	case c.servicesPerClient > c.services:
		return usesKey, fmt.Sprintf("<services-per-client> is %d, but must not exceed <services>, which is %d", c.servicesPerClient, c.services)
	case c.clients*c.servicesPerClient > maxWatchedInstances/c.instances:
		return clientsKey, fmt.Sprintf("<discovery-clients> times <services-per-client> times <instances-per-service> must be at most %d", maxWatchedInstances)
	case c.health > 0 && c.churn*minMeanLifetime.Seconds() > float64(c.initial()):
		return healthKey, fmt.Sprintf("with an <instance-churn> of %s, the %d instances live for less than %v on average, which is too short for health changes; reduce <instance-churn>, add instances, or set <health-changes> to 0", text.FormatNumber(c.churn), c.initial(), minMeanLifetime)
	}
	return "", ""
}

// maxNumbersPerService is the number of instances of a service that have different keys, because
// the number of an instance has app.Digits digits.
const maxNumbersPerService = 1_000_000

// checkWindow checks whether each instance of a load of the given length has its own key.
func (c *config) checkWindow(length time.Duration) (parameter, why string) {
	if n := c.instancesOfService(length); n > maxNumbersPerService {
		return churnKey, fmt.Sprintf("in a <duration> of %v, an <instance-churn> of %s gives each service %d instances, but a service can have at most %d, whose numbers have %d digits; reduce <instance-churn> or the <duration>, or use more <services>",
			length, text.FormatNumber(c.churn), n, maxNumbersPerService, app.Digits)
	}
	return "", ""
}

// addedCount returns the number of instances that are added in a load of the given length.
func (c *config) addedCount(length time.Duration) int { return int(c.churn * length.Seconds()) }

// instancesOfService returns the number of instances that each service has in a load of the given
// length, including removed ones. The added instances are spread evenly over the services.
func (c *config) instancesOfService(length time.Duration) int {
	return c.instances + (c.addedCount(length)+c.services-1)/c.services
}

func (c *config) phrase() string {
	return fmt.Sprintf("%s with %s each, %s that use %s each, %[5]s instances/s added, %[5]s instances/s removed",
		text.Plural(uint64(c.services), "service"), text.Plural(uint64(c.instances), "instance"),
		text.Plural(uint64(c.clients), "client"), text.Plural(uint64(c.servicesPerClient), "service"), text.FormatNumber(c.churn))
}

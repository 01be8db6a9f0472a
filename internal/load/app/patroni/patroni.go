// Package patroni imitates the calls of Patroni, which manages the failover of PostgreSQL clusters.
// Each member of a PostgreSQL cluster has a session and a key, and the leader holds a lock.
// docs/explanation/applications.md gives the source of each number.
package patroni

import (
	"fmt"
	"regexp"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Name is the application's name in scenario files.
const Name = "patroni"

// maxMembers limits the number of members in a load, because each member has two connections.
const maxMembers = 100_000

// keyNames matches the application's keys, without the prefix.
var keyNames = regexp.MustCompile(`^pg-\d{6}(/|$)`)

// Application implements application.Application.
type Application struct{}

// Definition implements application.Application. The defaults are Patroni's defaults, except for
// the numbers of clusters and members.
func (Application) Definition() application.Definition {
	return application.Definition{
		Name: Name, Meaning: "Patroni, which keeps PostgreSQL available", Prefix: "/service/", Names: keyNames,
		Scales: []string{clustersKey, perKey},
		Parameters: []application.Parameter{
			{Key: clustersKey, Meaning: "number of PostgreSQL clusters", Differs: "the PostgreSQL clusters", Default: 1000, Least: 1, Most: 50_000},
			{Key: perKey, Meaning: "members of each PostgreSQL cluster, including its leader", Differs: "the members of a PostgreSQL cluster", Default: 3, Least: 1, Most: 20},
			{Key: loopKey, Meaning: "interval at which each member repeats its loop", Differs: "the loop interval", Unit: application.Seconds, Default: 10, Least: 1, Most: 3600},
			{Key: ttlKey, Meaning: "time after which a lease expires if it is not renewed", Differs: "the TTL of leases", Unit: application.Seconds, Default: 30, Least: 3, Most: 36_000},
			{Key: retryKey, Meaning: "how late a renewal may be before a leader steps down", Differs: "the retry timeout", Unit: application.Seconds, Default: 10, Least: 1, Most: 3600},
			{Key: writtenKey, Meaning: "share of the clusters with database writes, from 0 to 1", Differs: "the share of clusters with database writes",
				Unit: application.Number, Default: 1, Most: 1},
			{Key: stormKey, Meaning: "number of leaders that fail at the same time", Differs: "the simultaneous leader failures", Most: 50_000},
		},
		Ways: ways(),
	}
}

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := ConfigOf(s, 0, Leases)
	switch {
	case c.MemberCount() > maxMembers:
		return clustersKey, fmt.Sprintf("<clusters> times <members-per-cluster> is %d members, but must be at most %d", c.MemberCount(), maxMembers)
	case c.LoopWait+2*c.RetryTime > c.TTL:
		return ttlKey, fmt.Sprintf("<ttl> is %v, but must be at least <loop-wait> plus twice <retry-timeout>, which is %v", c.TTL, c.LoopWait+2*c.RetryTime)
	case c.Storm > c.Clusters:
		return stormKey, fmt.Sprintf("<failovers> is %d, but must not exceed <clusters>, which is %d", c.Storm, c.Clusters)
	case c.Storm > 0 && c.Members < 2:
		return stormKey, "<failovers> needs another member in each cluster that can take over; set <members-per-cluster> to 2 or more"
	}
	return "", ""
}

// Profile implements application.Application. The mean rates do not include failovers.
func (Application) Profile(s application.Settings, way int) application.Profile {
	c := ConfigOf(s, 0, Way(way))
	rates := c.Rates()
	return application.Profile{
		Calls: app.Calls(c.Way.appShapes(), rates[:]),
		There: c.Keys(), KeySize: keySize, ValueSize: c.MeanValue(), Watchers: c.Watchers(), Streams: c.Watchers(), Connections: c.MemberCount(),
	}
}

// Script implements app.Application.
func (Application) Script(setup app.Setup) app.Script { return New(setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := ConfigOf(s, 0, Leases)
	words := text.Plural(uint64(c.Clusters), "cluster") + " of " + text.Plural(uint64(c.Members), "member")
	if c.Written < c.Clusters {
		words += fmt.Sprintf(", %d of the clusters with database writes", c.Written)
	}
	if c.Storm > 0 {
		words += ", " + text.Plural(uint64(c.Storm), "simultaneous leader failure")
	}
	return words
}

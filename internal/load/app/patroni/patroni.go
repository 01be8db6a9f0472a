// Package patroni imitates the calls of Patroni, which manages the failover of PostgreSQL clusters.
// Each member of a PostgreSQL cluster has a session and a key, and the leader holds a lock.
// docs/explanation/applications.md gives the source of each number.
package patroni

import (
	"fmt"
	"regexp"
	"time"

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
		Name: Name, Meaning: "Patroni, which keeps PostgreSQL available", Prefix: "/service/", KeyPattern: keyNames,
		SizeParameters: []string{clustersKey, membersPerClusterKey},
		Parameters: []application.Parameter{
			{Key: clustersKey, Meaning: "number of PostgreSQL clusters", DifferenceName: "the PostgreSQL clusters", Default: 1000, Min: 1, Max: 50_000},
			{Key: membersPerClusterKey, Meaning: "members of each PostgreSQL cluster, including its leader", DifferenceName: "the members of a PostgreSQL cluster", Default: 3, Min: 1, Max: 20},
			{Key: loopKey, Meaning: "interval at which each member repeats its loop", DifferenceName: "the loop interval", Unit: application.Seconds, Default: 10, Min: 1, Max: 3600},
			{Key: ttlKey, Meaning: "time after which a lease expires if it is not renewed", DifferenceName: "the TTL of leases", Unit: application.Seconds, Default: 30, Min: 3, Max: 36_000},
			{Key: retryKey, Meaning: "how late a renewal may be before a leader steps down", DifferenceName: "the retry timeout", Unit: application.Seconds, Default: 10, Min: 1, Max: 3600},
			{Key: writtenKey, Meaning: "share of the clusters with database writes, from 0 to 1", DifferenceName: "the share of clusters with database writes",
				Unit: application.Number, Default: 1, Max: 1},
			{Key: failoversKey, Meaning: "number of leaders that fail at the same time", DifferenceName: "the simultaneous leader failures", Max: 50_000},
		},
		Ways: ways(),
	}
}

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := NewConfig(s, 0, Leases)
	switch {
	case c.MemberCount() > maxMembers:
		return clustersKey, fmt.Sprintf("<clusters> times <members-per-cluster> is %d members, but must be at most %d", c.MemberCount(), maxMembers)
	case c.LoopWait+2*c.RetryTimeout > c.TTL:
		return ttlKey, fmt.Sprintf("<ttl> is %v, but must be at least <loop-wait> plus twice <retry-timeout>, which is %v", c.TTL, c.LoopWait+2*c.RetryTimeout)
	case c.LeaderFailures > c.Clusters:
		return failoversKey, fmt.Sprintf("<failovers> is %d, but must not exceed <clusters>, which is %d", c.LeaderFailures, c.Clusters)
	case c.LeaderFailures > 0 && c.Members < 2:
		return failoversKey, "<failovers> needs another member in each cluster that can take over; set <members-per-cluster> to 2 or more"
	}
	return "", ""
}

// CheckWindow implements application.WindowChecker. The window must be long enough to contain the
// failovers.
func (Application) CheckWindow(s application.Settings, way int, length time.Duration) (parameter, why string) {
	c := NewConfig(s, 0, Way(way))
	if c.LeaderFailures == 0 || c.LeaderDeath(length) > 0 {
		return "", ""
	}
	return failoversKey, fmt.Sprintf("<failovers> needs a <duration> above %v, so that the lease of a dead leader expires in the window; the <duration> is %v", c.minWindow(), length)
}

// Profile implements application.Application. The mean rates do not include failovers.
func (Application) Profile(s application.Settings, way int) application.Profile {
	c := NewConfig(s, 0, Way(way))
	rates := c.Rates()
	return application.Profile{
		Calls:    app.Calls(c.Way.appShapes(), rates[:]),
		Existing: c.Keys(), KeySize: keySize, ValueSize: c.MeanValueSize(), Watchers: c.WatcherCount(), Streams: c.WatcherCount(), Connections: c.MemberCount(),
	}
}

// Script implements app.Application.
func (Application) Script(setup app.Setup) app.Script { return New(setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := NewConfig(s, 0, Leases)
	words := text.Plural(uint64(c.Clusters), "cluster") + " of " + text.Plural(uint64(c.Members), "member")
	if c.WrittenClusters < c.Clusters {
		words += fmt.Sprintf(", %d of the clusters with database writes", c.WrittenClusters)
	}
	if c.LeaderFailures > 0 {
		words += ", " + text.Plural(uint64(c.LeaderFailures), "simultaneous leader failure")
	}
	return words
}

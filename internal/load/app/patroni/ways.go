package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Way is how a store is used: an index in the Definition's.
type Way int

// The ways.
const (
	Leases Way = iota // members' leases; each watches its cluster's keys
	Locks             // members' sessions hold keys; the cluster is read in each loop, replicas wait for a change of the leader's key
	Nodes             // keys end with the members' connections' sessions; the cluster is read node by node in each loop
	numWays
)

// leastLockTTL is the shortest time that a session of the way Locks lives behind its last
// renewal: Patroni asks for half of ttl, and is given 10 s at least; the store doubles it.
const leastLockTTL = 20 * time.Second

func ways() []application.Way {
	return []application.Way{
		Leases: {
			Name: "leases, transactions and a watcher for each member", Operations: []application.Operation{{Kind: kv.Watch}},
			Features: []kv.Feature{kv.ApplicationCalls},
		},
		Locks: {
			Name: "sessions that hold keys, and a query that waits for each replica", Operations: []application.Operation{{Kind: kv.Watch}, {Kind: kv.Range, Level: kv.Lease}},
			Features: []kv.Feature{kv.SessionLocks},
		},
		Nodes: {
			Name: "keys that end with the session of each member's connection, and a watch that fires once",
			Operations: []application.Operation{
				{Kind: kv.Ephemeral}, {Kind: kv.KeepAlive}, {Kind: kv.Watch}, {Kind: kv.Range, Level: kv.Local}, {Kind: kv.Get, Level: kv.Local},
			},
		},
	}
}

// Watches reports whether a member has a watcher. Of the way Locks a leader has none,
// and the first of each cluster's members leads it.
func (c *Config) Watches(member int) bool { return c.Way != Locks || member > 0 }

// Watchers is how many there are.
func (c *Config) Watchers() int {
	if c.Way == Locks {
		return c.Clusters * (c.Members - 1)
	}
	return c.All()
}

// Of the way Nodes, a member pings behind what it sent last: after half of the time for
// which it awaits an answer (loop-wait less 2 s, 2 s at least), less 0.01 to 0.4 s.
const (
	pingEarly  = 200 * time.Millisecond // in the mean
	readWithin = 50 * time.Millisecond  // about what a loop takes before
)

// PingEvery is how long, of the way Nodes, a member says nothing at most, while it lives and
// its session does: a member that sends nothing else pings.
func (c *Config) PingEvery() time.Duration {
	_, every := c.pings()
	return every + readWithin
}

// pings is how many pings there are in each loop, and after how long each.
func (c *Config) pings() (n int, every time.Duration) {
	every = max(c.LoopWait-2*time.Second, 2*time.Second)/2 - pingEarly
	return int((c.LoopWait - readWithin) / every), every
}

// Config says how many Patroni members there are, and what they are told.
type Config struct {
	Clusters, Members        int // Members of each cluster
	LoopWait, TTL, RetryTime time.Duration
	Written                  int // clusters whose databases are written to
	Storm                    int // clusters whose leaders die at once
	Seed                     uint64
	Way                      Way
}

// ConfigOf is what settings come to.
func ConfigOf(s application.Settings, seed uint64, way Way) Config {
	c := Config{
		Clusters: s.Whole(clustersKey), Members: s.Whole(perKey), Storm: s.Whole(stormKey), Seed: seed, Way: way,
		LoopWait: s.Span(loopKey), TTL: s.Span(ttlKey), RetryTime: s.Span(retryKey),
	}
	c.Written = int(float64(c.Clusters)*s[writtenKey] + 0.5)
	if way == Locks {
		c.TTL = max(c.TTL, leastLockTTL)
	}
	return c
}

// All is how many members there are.
func (c *Config) All() int { return c.Clusters * c.Members }

// The parameters' keys.
const (
	clustersKey = "clusters"
	perKey      = "members-per-cluster"
	loopKey     = "loop-wait"
	ttlKey      = "ttl"
	retryKey    = "retry-timeout"
	writtenKey  = "written"
	stormKey    = "failovers"
)

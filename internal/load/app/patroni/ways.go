package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Way identifies a way to use a store. It is an index in Definition.Ways.
type Way int

// The ways.
const (
	Leases Way = iota // each member has a lease and watches its cluster's keys
	// Members' sessions hold keys. Each loop reads the cluster. Replicas wait for changes of the
	// leader's key.
	Locks
	// Keys are bound to the sessions of the members' connections. Each loop reads the cluster node
	// by node.
	Nodes
	numWays
)

// minLockTTL is the shortest TTL that a session can have in Locks. Patroni requests half of the
// configured TTL. Consul grants at least 10 s, and its sessions live for twice the granted TTL.
const minLockTTL = 20 * time.Second

func ways() []application.Way {
	return []application.Way{
		Leases: {
			Name: "leases, transactions and a watcher for each member", Operations: []application.Operation{{Kind: kv.Watch}},
			Features: []kv.Feature{kv.ApplicationCalls},
		},
		Locks: {
			Name: "sessions that hold keys, and a blocking query for each replica", Operations: []application.Operation{{Kind: kv.Watch}, {Kind: kv.Range, Level: kv.LeaderLease}},
			Features: []kv.Feature{kv.SessionLocks},
		},
		Nodes: {
			Name: "keys that are bound to the session of each member's connection, and one-shot watches",
			Operations: []application.Operation{
				{Kind: kv.Ephemeral}, {Kind: kv.KeepAlive}, {Kind: kv.Watch}, {Kind: kv.Range, Level: kv.Local}, {Kind: kv.Get, Level: kv.Local},
			},
		},
	}
}

// WatcherCount returns the number of watchers in all clusters. In Locks, the first member of each
// cluster has no watcher, because it is the leader.
func (c *Config) WatcherCount() int {
	if c.Way == Locks {
		return c.Clusters * (c.Members - 1)
	}
	return c.MemberCount()
}

// In Nodes, a member sends a ping if it has sent nothing for a certain time. This time is half of
// its read timeout, minus 0.01 to 0.4 s. The read timeout is loop-wait minus 2 s, but at least 2 s.
const (
	pingLeadTime = 200 * time.Millisecond // the mean of 0.01 to 0.4 s
	loopCallTime = 50 * time.Millisecond  // approximate duration of a loop's reads and writes
)

// PingInterval returns the longest time for which a living member in Nodes sends nothing. If a
// member has no other call to make, it sends a ping.
func (c *Config) PingInterval() time.Duration {
	_, every := c.pings()
	return every + loopCallTime
}

// pings returns the number of pings in each loop, and the interval between them.
func (c *Config) pings() (n int, interval time.Duration) {
	interval = max(c.LoopWait-2*time.Second, 2*time.Second)/2 - pingLeadTime
	return int((c.LoopWait - loopCallTime) / interval), interval
}

// Config holds a load's size and times.
type Config struct {
	Clusters, Members           int // number of clusters, and number of members in each cluster
	LoopWait, TTL, RetryTimeout time.Duration
	WrittenClusters             int // number of clusters whose databases are written to
	LeaderFailures              int // number of clusters whose leaders die at the same time
	Seed                        uint64
	Way                         Way
}

// NewConfig returns the configuration that settings describe.
func NewConfig(s application.Settings, seed uint64, way Way) Config {
	c := Config{
		Clusters: s.Int(clustersKey), Members: s.Int(membersPerClusterKey), LeaderFailures: s.Int(failoversKey), Seed: seed, Way: way,
		LoopWait: s.Duration(loopKey), TTL: s.Duration(ttlKey), RetryTimeout: s.Duration(retryKey),
	}
	c.WrittenClusters = int(float64(c.Clusters)*s[writtenKey] + 0.5)
	if way == Locks {
		c.TTL = max(c.TTL, minLockTTL)
	}
	return c
}

// MemberCount returns the number of members in all clusters.
func (c *Config) MemberCount() int { return c.Clusters * c.Members }

// Keys of the parameters.
const (
	clustersKey          = "clusters"
	membersPerClusterKey = "members-per-cluster"
	loopKey              = "loop-wait"
	ttlKey               = "ttl"
	retryKey             = "retry-timeout"
	writtenKey           = "written"
	failoversKey         = "failovers"
)

package patroni

import "github.com/quorumbench/quorumbench/internal/kv"

// Call is a kind of call: a row in the report.
type Call uint8

// The kinds of calls.
const (
	RenewLeader  Call = iota // of the leader's lease or session
	RenewReplica             // of another member's
	PutStatus                // how far the leader has written
	PutMember                // a member's own key
	Race                     // for the leader's key, which is gone
	ReadCluster              // all keys of the cluster at once
	PutHistory               // by who won the race
	ListKeys                 // the names of a cluster's keys, or of its members
	ReadKey                  // one key of those
	Lead                     // the leader's key is taken when a cluster begins
	Join                     // a member's key likewise
	NumCalls
)

// shape is what a kind of call is.
type shape struct {
	name  string
	kind  kv.Kind // what it counts as among all operations
	level kv.Consistency
	// bounded says that a member gives up where it fails for retry-timeout.
	bounded bool
}

// common is what a kind of call is in most ways.
var common = [NumCalls]shape{
	RenewLeader:  {"renew leader's lease", kv.KeepAlive, kv.None, true},
	RenewReplica: {"renew replica's lease", kv.KeepAlive, kv.None, true},
	PutStatus:    {"put status", kv.Put, kv.None, false},
	PutMember:    {"put member", kv.Put, kv.None, false},
	Race:         {"race for the leader's key", kv.CAS, kv.None, false},
	ReadCluster:  {"read cluster", kv.Range, kv.Local, false},
	PutHistory:   {"put history", kv.Put, kv.None, false},
	ListKeys:     {"list keys", kv.Range, kv.Local, true},
	ReadKey:      {"read key", kv.Get, kv.Local, true},
	Lead:         {"take leader's key", kv.Ephemeral, kv.None, false},
	Join:         {"create member", kv.Ephemeral, kv.None, false},
}

// otherwise is what some are in others.
var otherwise = [...]map[Call]shape{
	Leases: {},
	Locks: {
		RenewLeader:  {"renew leader's session", kv.KeepAlive, kv.None, true},
		RenewReplica: {"renew replica's session", kv.KeepAlive, kv.None, true},
		ReadCluster:  {"read cluster", kv.Range, kv.Lease, true},
	},
	Nodes: {
		RenewLeader:  {"ping of leader's session", kv.KeepAlive, kv.None, true},
		RenewReplica: {"ping of replica's session", kv.KeepAlive, kv.None, true},
		Race:         {"race for the leader's key", kv.Ephemeral, kv.None, false},
	},
}

// shapes are those of a way.
func (w Way) shapes() [NumCalls]shape {
	all := common
	for call, s := range otherwise[w] {
		all[call] = s
	}
	return all
}

var shapes = [...][NumCalls]shape{Leases: Leases.shapes(), Locks: Locks.shapes(), Nodes: Nodes.shapes()}

// Called is a call's name.
func (w Way) Called(c Call) string { return shapes[w][c].name }

// Kind is what the call counts as among all operations, and at what level it reads.
func (w Way) Kind(c Call) (kv.Kind, kv.Consistency) { return shapes[w][c].kind, shapes[w][c].level }

// Bounded reports whether a leader gives up its database where the call fails for
// retry-timeout.
func (w Way) Bounded(c Call) bool { return shapes[w][c].bounded }

// Rates are how many of each kind become due a second in the mean, without failovers:
// in each loop every member renews its lease, and where the database was written to the
// leader puts the status and every member its key. Where a member is not told of its
// cluster's keys it reads them in each loop.
func (c *Config) Rates() (rates [NumCalls]float64) {
	loop := c.LoopWait.Seconds()
	all, renewals := float64(c.All())/loop, 1/loop
	switch c.Way {
	case Locks:
		rates[ReadCluster] = all
	case Nodes:
		n, _ := c.pings()
		renewals *= float64(n)
		rates[ListKeys], rates[ReadKey] = 2*all, all*float64(keysRead+c.Members)
	}
	rates[RenewLeader] = float64(c.Clusters) * renewals
	rates[RenewReplica] = float64(c.Clusters*(c.Members-1)) * renewals
	rates[PutStatus] = float64(c.Written) / loop
	rates[PutMember] = float64(c.Written*c.Members) / loop
	return rates
}

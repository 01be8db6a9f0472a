package patroni

import "github.com/quorumbench/quorumbench/internal/kv"

// Call is a kind of call: a row in the report.
type Call uint8

// The kinds of calls.
const (
	RenewLeader  Call = iota // of the leader's lease
	RenewReplica             // of another member's
	PutStatus                // how far the leader has written
	PutMember                // a member's own key
	Race                     // for the leader's key, which is gone
	ReadCluster              // all keys of the cluster, by who lost the race
	PutHistory               // by who won it
	NumCalls
)

// shape is what a kind of call is.
type shape struct {
	name  string
	kind  kv.Kind // what it counts as among all operations
	level kv.Consistency
}

var shapes = [NumCalls]shape{
	RenewLeader:  {"renew leader's lease", kv.KeepAlive, kv.None},
	RenewReplica: {"renew replica's lease", kv.KeepAlive, kv.None},
	PutStatus:    {"put status", kv.Put, kv.None},
	PutMember:    {"put member", kv.Put, kv.None},
	Race:         {"race for the leader's key", kv.CAS, kv.None},
	ReadCluster:  {"read cluster", kv.Range, kv.Local},
	PutHistory:   {"put history", kv.Put, kv.None},
}

// String is the call's name.
func (c Call) String() string {
	if c < NumCalls {
		return shapes[c].name
	}
	return "unknown"
}

// Kind is what the call counts as among all operations, and at what level it reads.
func (c Call) Kind() (kv.Kind, kv.Consistency) { return shapes[c].kind, shapes[c].level }

// Rates are how many of each kind become due a second in the mean, without failovers:
// in each loop every member renews its lease, and where the database was written to the
// leader puts the status and every member its key.
func (c *Config) Rates() (rates [NumCalls]float64) {
	loop := c.LoopWait.Seconds()
	rates[RenewLeader] = float64(c.Clusters) / loop
	rates[RenewReplica] = float64(c.Clusters*(c.Members-1)) / loop
	rates[PutStatus] = float64(c.Written) / loop
	rates[PutMember] = float64(c.Written*c.Members) / loop
	return rates
}

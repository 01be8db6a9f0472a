package patroni

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
)

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
	app.Shape
	// bounded says that a member gives up where it fails for retry-timeout.
	bounded bool
}

// common is what a kind of call is in most ways.
var common = [NumCalls]shape{
	RenewLeader:  {app.Shape{Name: "renew leader's lease", Kind: kv.KeepAlive}, true},
	RenewReplica: {app.Shape{Name: "renew replica's lease", Kind: kv.KeepAlive}, true},
	PutStatus:    {app.Shape{Name: "put status", Kind: kv.Put}, false},
	PutMember:    {app.Shape{Name: "put member", Kind: kv.Put}, false},
	Race:         {app.Shape{Name: "race for the leader's key", Kind: kv.CAS}, false},
	ReadCluster:  {app.Shape{Name: "read cluster", Kind: kv.Range, Level: kv.Local}, false},
	PutHistory:   {app.Shape{Name: "put history", Kind: kv.Put}, false},
	ListKeys:     {app.Shape{Name: "list keys", Kind: kv.Range, Level: kv.Local}, true},
	ReadKey:      {app.Shape{Name: "read key", Kind: kv.Get, Level: kv.Local}, true},
	Lead:         {app.Shape{Name: "take leader's key", Kind: kv.Ephemeral}, false},
	Join:         {app.Shape{Name: "create member", Kind: kv.Ephemeral}, false},
}

// otherwise is what some are in others.
var otherwise = [...]map[Call]shape{
	Leases: {},
	Locks: {
		RenewLeader:  {app.Shape{Name: "renew leader's session", Kind: kv.KeepAlive}, true},
		RenewReplica: {app.Shape{Name: "renew replica's session", Kind: kv.KeepAlive}, true},
		ReadCluster:  {app.Shape{Name: "read cluster", Kind: kv.Range, Level: kv.Lease}, true},
	},
	Nodes: {
		RenewLeader:  {app.Shape{Name: "ping of leader's session", Kind: kv.KeepAlive}, true},
		RenewReplica: {app.Shape{Name: "ping of replica's session", Kind: kv.KeepAlive}, true},
		Race:         {app.Shape{Name: "race for the leader's key", Kind: kv.Ephemeral}, false},
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

// appShapes returns the shapes of a way without what is Patroni's alone.
func (w Way) appShapes() (all []app.Shape) {
	for _, s := range shapes[w] {
		all = append(all, s.Shape)
	}
	return all
}

// Called is a call's name.
func (w Way) Called(c Call) string { return shapes[w][c].Name }

// Kind is what the call counts as among all operations, and at what level it reads.
func (w Way) Kind(c Call) (kv.Kind, kv.Consistency) { return shapes[w][c].Kind, shapes[w][c].Level }

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

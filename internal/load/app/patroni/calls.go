package patroni

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
)

// Call is a kind of call. Each kind is a row in the report.
type Call uint8

// The kinds of calls.
const (
	RenewLeader  Call = iota // renews the leader's lease or session
	RenewReplica             // renews another member's lease or session
	PutStatus                // writes the leader's log position
	PutMember                // writes a member's key
	Race                     // takes the leader's key, which was deleted
	ReadCluster              // reads all keys of the cluster at once
	PutHistory               // writes the history; sent by the member that won a race
	ListKeys                 // reads the names of a cluster's keys, or the names of its members' keys
	ReadKey                  // reads a single key
	Lead                     // takes the leader's key when a cluster starts
	Join                     // creates a member's key when a cluster starts
	NumCalls
)

// shape describes a kind of call.
type shape struct {
	app.Shape
	// bounded is set if a leader gives up its database when the call has failed for longer than
	// retry-timeout.
	bounded bool
}

// common holds the shapes of calls. Most ways use these shapes.
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

// overrides holds the shapes of each way that differ from common.
var overrides = [...]map[Call]shape{
	Leases: {},
	Locks: {
		RenewLeader:  {app.Shape{Name: "renew leader's session", Kind: kv.KeepAlive}, true},
		RenewReplica: {app.Shape{Name: "renew replica's session", Kind: kv.KeepAlive}, true},
		ReadCluster:  {app.Shape{Name: "read cluster", Kind: kv.Range, Level: kv.LeaderLease}, true},
	},
	Nodes: {
		RenewLeader:  {app.Shape{Name: "ping leader's session", Kind: kv.KeepAlive}, true},
		RenewReplica: {app.Shape{Name: "ping replica's session", Kind: kv.KeepAlive}, true},
		Race:         {app.Shape{Name: "race for the leader's key", Kind: kv.Ephemeral}, false},
	},
}

// shapes returns the shapes of a way.
func (w Way) shapes() [NumCalls]shape {
	all := common
	for call, s := range overrides[w] {
		all[call] = s
	}
	return all
}

var shapes = [...][NumCalls]shape{Leases: Leases.shapes(), Locks: Locks.shapes(), Nodes: Nodes.shapes()}

// appShapes returns a way's shapes, without the attributes that exist only in package patroni.
func (w Way) appShapes() (all []app.Shape) {
	for _, s := range shapes[w] {
		all = append(all, s.Shape)
	}
	return all
}

// CallName returns the name of a call.
func (w Way) CallName(c Call) string { return shapes[w][c].Name }

// Kind returns the operation kind and the consistency level under which a call is counted.
func (w Way) Kind(c Call) (kv.Kind, kv.Consistency) { return shapes[w][c].Kind, shapes[w][c].Level }

// Bounded reports whether a leader gives up its database when the call has failed for longer than
// retry-timeout.
func (w Way) Bounded(c Call) bool { return shapes[w][c].bounded }

// Rates returns the mean number of calls of each kind per second, without failovers. In each loop,
// every member renews its lease. If the cluster's database is written to, the leader also writes
// the status, and every member also writes its own key. If members do not watch all keys of their
// cluster, they read these keys in each loop.
func (c *Config) Rates() (rates [NumCalls]float64) {
	loop := c.LoopWait.Seconds()
	all, renewals := float64(c.MemberCount())/loop, 1/loop
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
	rates[PutStatus] = float64(c.WrittenClusters) / loop
	rates[PutMember] = float64(c.WrittenClusters*c.Members) / loop
	return rates
}

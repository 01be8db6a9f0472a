package election

import (
	"cmp"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Config holds a load's size and times.
type Config struct {
	Offices, Candidates int // number of offices, and number of candidates for each office
	Tenure              time.Duration
	LeaderFailures      int           // number of offices whose leaders die at the same time
	TTL                 time.Duration // TTL of sessions and leases; 0 means the way's default
	Seed                uint64
}

// NewConfig returns the configuration that settings describe.
func NewConfig(s application.Settings, seed uint64) Config {
	return Config{
		Offices: s.Int(electionsKey), Candidates: s.Int(candidatesKey), Tenure: s.Duration(tenureKey), LeaderFailures: s.Int(failoversKey), TTL: s.Duration(ttlKey), Seed: seed,
	}
}

// CandidateCount returns the total number of candidates for all offices.
func (c *Config) CandidateCount() int { return c.Offices * c.Candidates }

// Connections returns the number of connections. Each candidate has one connection, in the order of
// the candidates. If candidates wait on a second connection (Way.WatchesSeparately), the second
// connections follow in the same order.
func (c *Config) Connections(w *Way) int {
	if w.WatchesSeparately {
		return 2 * c.CandidateCount()
	}
	return c.CandidateCount()
}

// Call is a kind of call. Each kind is a row in the report.
type Call uint8

// The kinds of calls.
const (
	Resign Call = iota // the leader gives up the office
	Stand              // a candidate tries to take the office, or joins the queue
	Look               // a candidate reads the queue or the lock
	Await              // a candidate watches the leader's key, or the preceding candidate's key
	Drop               // a candidate ends its watcher, or removes a node that a failed call created
	Renew              // a candidate keeps its session or lease alive
	NumCalls
)

// Way describes how the application uses a store.
type Way struct {
	application.Way
	Recipe Recipe
	Shapes [NumCalls]app.Shape
	// CallsPerHandover returns the number of calls of each kind in the handover of an office that
	// has the given number of candidates.
	CallsPerHandover func(candidates float64) [NumCalls]float64
	// DefaultTTL is the default time after which a candidate's session or lease expires if it is
	// not renewed. RenewalsPerTTL is the number of renewals during that time. Both are the defaults
	// of the store's own client.
	DefaultTTL     time.Duration
	RenewalsPerTTL int
	// SessionPerConnection is set if each session belongs to a connection. The connections
	// themselves keep their sessions alive, unless leaders die or a TTL is set (see KeepAlive).
	SessionPerConnection bool
	// MaxVacancy returns the longest time for which an office has no leader after the dead leader's
	// session could have expired, if the store is correct and not busy.
	MaxVacancy func(ttl time.Duration) time.Duration
	// IsolatedReplyTime is how long a member that is cut off from the other members continues to
	// respond to keep-alives before it drops its clients. The other members do not learn of these
	// keep-alives.
	IsolatedReplyTime time.Duration
	// RetryPause is how long a candidate waits after a call failed. It also waits for this time if
	// it failed to acquire a lock that had no holder.
	RetryPause time.Duration
	// WatchesSeparately is set if candidates wait on a second connection.
	WatchesSeparately bool
}

// Recipe identifies the kinds of keys and calls that an election uses.
type Recipe uint8

// Recipes.
const (
	EphemeralRace  Recipe = iota // a node with a fixed name that is bound to a session
	EphemeralQueue               // sequential nodes that are bound to sessions
	LeaseRace                    // a key with a fixed name that is bound to a lease
	LeaseQueue                   // keys named after their leases, ordered by when they were created
	SessionRace                  // a lock on a key, which a session holds
)

// Rates returns the mean number of calls of each kind per second.
func (w *Way) Rates(c *Config) (rates [NumCalls]float64) {
	per := w.CallsPerHandover(float64(c.Candidates))
	for i := range rates {
		rates[i] = per[i] * float64(c.Offices) / c.Tenure.Seconds()
	}
	if _, every := w.KeepAlive(c); every > 0 {
		rates[Renew] = float64(c.CandidateCount()) / every.Seconds()
	}
	return rates
}

func (w *Way) sessionTTL(c *Config) time.Duration { return cmp.Or(c.TTL, w.DefaultTTL) }

// KeepAlive returns the TTL of a candidate's session or lease, and the interval between renewals.
// Both are 0 if the connection itself keeps the session alive. It does so only if no TTL is set and
// no leader dies, because a dead leader must stop renewing.
func (w *Way) KeepAlive(c *Config) (ttl, interval time.Duration) {
	if w.SessionPerConnection && c.LeaderFailures == 0 && c.TTL == 0 {
		return 0, 0
	}
	ttl = w.sessionTTL(c)
	return ttl, ttl / time.Duration(w.RenewalsPerTTL)
}

// leaseTTL is the TTL of the session that etcd's package concurrency requests. A server looks for
// expired leases every leaseExpiryInterval.
const (
	leaseTTL            = 60 * time.Second
	leaseExpiryInterval = 500 * time.Millisecond
)

// nodeSessionTTL is the session timeout that a load's connection requests
// (internal/store/zookeeper). A server looks for expired sessions every nodeExpiryInterval. A
// member that is cut off continues to respond for nodeIsolatedReplyTime: for five ticks
// (syncLimit), plus the half tick after which a member reports its sessions to the leader.
const (
	nodeSessionTTL        = 30 * time.Second
	nodeExpiryInterval    = 2 * time.Second
	nodeIsolatedReplyTime = 5*nodeExpiryInterval + nodeExpiryInterval/2
)

// lockSessionTTL and lockRetry are taken from Consul's client (api/lock.go). lockSessionTTL is the
// TTL of a lock's session. lockRetry is the pause after a failed attempt to acquire a lock that has
// no holder. A server ends a session after at most twice its TTL. After that, no client can acquire
// the session's locks for lockDelay.
const (
	lockSessionTTL = 15 * time.Second
	lockRetry      = 5 * time.Second
	lockDelay      = 15 * time.Second
)

func nodeVacancy(time.Duration) time.Duration { return nodeExpiryInterval }

func leaseVacancy(time.Duration) time.Duration { return leaseExpiryInterval }

func lockVacancy(ttl time.Duration) time.Duration { return ttl + lockDelay + lockRetry }

// newNodeWay returns a way that uses keys bound to a connection's session.
func newNodeWay(name string, r Recipe, stand, look, await app.Shape, per func(float64) [NumCalls]float64) Way {
	return Way{
		Way: application.Way{
			Name:       name,
			Operations: []application.Operation{{Kind: kv.Ephemeral}, {Kind: kv.Delete}, {Kind: kv.Watch}},
			Features:   []kv.Feature{kv.SessionNodes},
		},
		Recipe: r, RetryPause: time.Second, DefaultTTL: nodeSessionTTL, RenewalsPerTTL: 3, SessionPerConnection: true, MaxVacancy: nodeVacancy, IsolatedReplyTime: nodeIsolatedReplyTime,
		Shapes: [NumCalls]app.Shape{
			Resign: {Name: "resign", Kind: kv.Delete},
			Stand:  stand, Look: look, Await: await,
			Drop:  {Name: "remove the node of a failed call", Kind: kv.Delete},
			Renew: {Name: "ping the session", Kind: kv.KeepAlive},
		},
		CallsPerHandover: per,
	}
}

// newLeaseWay returns a way for stores with leases, transactions and watchers.
func newLeaseWay(name string, r Recipe, stand, look, await string, per func(float64) [NumCalls]float64) Way {
	return Way{
		Way: application.Way{
			Name:       name,
			Operations: []application.Operation{{Kind: kv.Watch}},
			Features:   []kv.Feature{kv.ApplicationCalls, kv.CallWatchers},
		},
		Recipe: r, RetryPause: time.Second, DefaultTTL: leaseTTL, RenewalsPerTTL: 3, MaxVacancy: leaseVacancy,
		Shapes: [NumCalls]app.Shape{
			Resign: {Name: "resign", Kind: kv.Delete},
			Stand:  {Name: stand, Kind: kv.CAS},
			Look:   {Name: look, Kind: kv.Range, Level: kv.Linearizable},
			Await:  {Name: await, Kind: kv.Watch},
			Drop:   {Name: "end the watcher", Kind: kv.Watch},
			Renew:  {Name: "renew the lease", Kind: kv.KeepAlive},
		},
		CallsPerHandover: per,
	}
}

// raceWays and queueWays hold each application's ways. The preferred way comes first.
var (
	raceWays = []Way{
		newNodeWay(
			"an ephemeral node and one-shot watches", EphemeralRace,
			app.Shape{Name: "race for the office", Kind: kv.Ephemeral},
			app.Shape{Name: "look", Kind: kv.Get, Level: kv.Local},
			app.Shape{Name: "watch the leader", Kind: kv.Get, Level: kv.Local},
			func(n float64) [NumCalls]float64 { return [NumCalls]float64{Resign: 1, Stand: n, Await: n - 1} },
		),
		newLeaseWay(
			"a key with a lease (a transaction creates the key if it does not exist), and watchers", LeaseRace,
			"race for the office", "look", "watch the leader",
			func(n float64) [NumCalls]float64 {
				return [NumCalls]float64{Resign: 1, Stand: n, Await: n - 1, Drop: n - 1}
			},
		),
		{
			Way: application.Way{
				Name:       "a lock on a key, sessions with a TTL, and blocking queries",
				Operations: []application.Operation{{Kind: kv.Watch}},
				Features:   []kv.Feature{kv.SessionLocks},
			},
			Recipe: SessionRace, DefaultTTL: lockSessionTTL, RenewalsPerTTL: 2, MaxVacancy: lockVacancy, RetryPause: lockRetry, WatchesSeparately: true,
			Shapes: [NumCalls]app.Shape{
				Resign: {Name: "release", Kind: kv.CAS},
				Stand:  {Name: "acquire", Kind: kv.CAS},
				Look:   {Name: "read the lock", Kind: kv.Get, Level: kv.Linearizable},
				Await:  {Name: "begin to wait", Kind: kv.Watch},
				Drop:   {Name: "end the wait", Kind: kv.Watch},
				Renew:  {Name: "renew the session", Kind: kv.KeepAlive},
			},
			CallsPerHandover: func(n float64) [NumCalls]float64 { return [NumCalls]float64{Resign: 1, Stand: n, Look: n + 1} },
		},
	}
	queueWays = []Way{
		newNodeWay(
			"numbered ephemeral nodes and one-shot watches", EphemeralQueue,
			app.Shape{Name: "join the queue", Kind: kv.Ephemeral},
			app.Shape{Name: "list the queue", Kind: kv.Range, Level: kv.Local},
			app.Shape{Name: "watch the previous candidate", Kind: kv.Get, Level: kv.Local},
			func(float64) [NumCalls]float64 { return [NumCalls]float64{Resign: 1, Stand: 1, Look: 2, Await: 1} },
		),
		newLeaseWay(
			"keys with leases (in the order of their creation), and watchers", LeaseQueue,
			"campaign", "find the previous candidate", "watch the previous candidate",
			func(float64) [NumCalls]float64 {
				return [NumCalls]float64{Resign: 1, Stand: 1, Look: 2, Await: 1, Drop: 1}
			},
		),
	}
)

// Keys of the parameters.
const (
	electionsKey  = "elections"
	candidatesKey = "candidates"
	tenureKey     = "tenure"
	failoversKey  = "failovers"
	ttlKey        = "ttl"
)

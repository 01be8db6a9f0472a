package election

import (
	"cmp"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Config says how large it is.
type Config struct {
	Offices, Candidates int // Candidates of each office
	Tenure              time.Duration
	Storm               int           // offices whose leaders die at once
	TTL                 time.Duration // of sessions and leases; 0: the way's
	Seed                uint64
}

// ConfigOf is what settings come to.
func ConfigOf(s application.Settings, seed uint64) Config {
	return Config{
		Offices: s.Whole(electionsKey), Candidates: s.Whole(candidatesKey), Tenure: s.Span(tenureKey), Storm: s.Whole(stormKey), TTL: s.Span(ttlKey), Seed: seed,
	}
}

// All is how many candidates there are.
func (c *Config) All() int { return c.Offices * c.Candidates }

// Connections is how many there are: by a candidate's place among all, and behind those
// likewise those for what it waits for, if that takes one.
func (c *Config) Connections(w *Way) int {
	if w.Watches {
		return 2 * c.All()
	}
	return c.All()
}

// Call is a kind of call: a row in the report.
type Call uint8

// The kinds of calls.
const (
	Resign Call = iota // the leader gives its office up
	Stand              // a candidate tries to take the office, or joins the queue
	Look               // it looks who is in the queue
	Await              // it asks to be told when who is before it is gone
	Drop               // it need not be told of that any more
	Renew              // it keeps its session alive
	NumCalls
)

// Way is how a store is used, and what the calls are there.
type Way struct {
	application.Way
	Recipe Recipe
	Shapes [NumCalls]app.Shape
	// PerHandover is how many of each call a handover takes with so many candidates.
	PerHandover func(candidates float64) [NumCalls]float64
	// Lives is how long a candidate's session or lease lives that is not kept alive, as the
	// store's client has it, which keeps it alive so often in that time.
	Lives time.Duration
	Beats int
	// Connected says that the session is the connection's, which keeps it alive unless the
	// candidate is to.
	Connected bool
	// Vacancy is how much longer than its session's life an office is without a leader that
	// has died, at most, of a store that is right and not busy.
	Vacancy func(lives time.Duration) time.Duration
	// Alone is how long a member that hears nothing of the others still answers what keeps
	// sessions alive, of which those hear nothing either, before it drops its clients.
	Alone time.Duration
	// Pause is how long a candidate waits after a call that failed, or a lock that nobody has
	// and nobody gets.
	Pause time.Duration
	// Watches says that what a candidate waits for takes a connection of its own.
	Watches bool
}

// Recipe says what a way's calls are made of.
type Recipe uint8

// The recipes.
const (
	EphemeralRace  Recipe = iota // a node of one name, which ends with its session
	EphemeralQueue               // numbered nodes that end with their sessions
	LeaseRace                    // a key of one name, which ends with its lease
	LeaseQueue                   // keys of their leases, in the order in which they were created
	SessionRace                  // the lock of a key, which a session has
)

// Rates are how many of each call are made a second in the mean.
func (w *Way) Rates(c *Config) (rates [NumCalls]float64) {
	per := w.PerHandover(float64(c.Candidates))
	for i := range rates {
		rates[i] = per[i] * float64(c.Offices) / c.Tenure.Seconds()
	}
	if _, every := w.Keeps(c); every > 0 {
		rates[Renew] = float64(c.All()) / every.Seconds()
	}
	return rates
}

func (w *Way) lives(c *Config) time.Duration { return cmp.Or(c.TTL, w.Lives) }

// Keeps is how long a candidate's session or lease lives, and how often the candidate keeps
// it alive; 0: its connection does. Who can die keeps it alive itself.
func (w *Way) Keeps(c *Config) (lives, every time.Duration) {
	if w.Connected && c.Storm == 0 && c.TTL == 0 {
		return 0, 0
	}
	lives = w.lives(c)
	return lives, lives / time.Duration(w.Beats)
}

// leaseLives is the time to live of a session of etcd's package concurrency. A server looks
// for leases that have expired each half second.
const (
	leaseLives = 60 * time.Second
	leaseStep  = 500 * time.Millisecond
)

// nodeLives is the timeout of a session of a load's connection (internal/store/zookeeper),
// which ends in steps; nodeAlone is five of those (syncLimit), and the half one after which
// a member tells the leader of its sessions.
const (
	nodeLives = 30 * time.Second
	nodeStep  = 2 * time.Second
	nodeAlone = 5*nodeStep + nodeStep/2
)

// Of Consul's own client (api/lock.go): the TTL of a lock's session, and how long it waits
// where nobody has the lock and it was not got. A server ends a session when twice its TTL
// is over, and nobody gets its locks for lockDelay behind that.
const (
	sessionLives = 15 * time.Second
	lockRetry    = 5 * time.Second
	lockDelay    = 15 * time.Second
)

func nodeVacancy(time.Duration) time.Duration { return nodeStep }

func leaseVacancy(time.Duration) time.Duration { return leaseStep }

func lockVacancy(lives time.Duration) time.Duration { return lives + lockDelay + lockRetry }

// onNodes is a way of stores whose keys can end with a connection's session.
func onNodes(name string, r Recipe, stand, look, await app.Shape, per func(float64) [NumCalls]float64) Way {
	return Way{
		Way: application.Way{
			Name:       name,
			Operations: []application.Operation{{Kind: kv.Ephemeral}, {Kind: kv.Delete}, {Kind: kv.Watch}},
			Features:   []kv.Feature{kv.SessionNodes},
		},
		Recipe: r, Pause: time.Second, Lives: nodeLives, Beats: 3, Connected: true, Vacancy: nodeVacancy, Alone: nodeAlone,
		Shapes: [NumCalls]app.Shape{
			Resign: {Name: "resign", Kind: kv.Delete},
			Stand:  stand, Look: look, Await: await,
			Drop:  {Name: "remove a node of a lost call", Kind: kv.Delete},
			Renew: {Name: "ping of the session", Kind: kv.KeepAlive},
		},
		PerHandover: per,
	}
}

// onLeases is a way of stores with leases, transactions and watchers.
func onLeases(name string, r Recipe, stand, look, await string, per func(float64) [NumCalls]float64) Way {
	return Way{
		Way: application.Way{
			Name:       name,
			Operations: []application.Operation{{Kind: kv.Watch}},
			Features:   []kv.Feature{kv.ApplicationCalls, kv.CallWatchers},
		},
		Recipe: r, Pause: time.Second, Lives: leaseLives, Beats: 3, Vacancy: leaseVacancy,
		Shapes: [NumCalls]app.Shape{
			Resign: {Name: "resign", Kind: kv.Delete},
			Stand:  {Name: stand, Kind: kv.CAS},
			Look:   {Name: look, Kind: kv.Range, Level: kv.Linearizable},
			Await:  {Name: await, Kind: kv.Watch},
			Drop:   {Name: "end the watcher", Kind: kv.Watch},
			Renew:  {Name: "renew the lease", Kind: kv.KeepAlive},
		},
		PerHandover: per,
	}
}

// raceWays and queueWays are the ways of each application, the best first.
var (
	raceWays = []Way{
		onNodes(
			"an ephemeral node and one-shot watches", EphemeralRace,
			app.Shape{Name: "race for the office", Kind: kv.Ephemeral},
			app.Shape{Name: "look", Kind: kv.Get, Level: kv.Local},
			app.Shape{Name: "watch the leader", Kind: kv.Get, Level: kv.Local},
			func(n float64) [NumCalls]float64 { return [NumCalls]float64{Resign: 1, Stand: n, Await: n - 1} },
		),
		onLeases(
			"a key with a lease, made by a transaction if it is not there, and watchers", LeaseRace,
			"race for the office", "look", "watch the leader",
			func(n float64) [NumCalls]float64 {
				return [NumCalls]float64{Resign: 1, Stand: n, Await: n - 1, Drop: n - 1}
			},
		),
		{
			Way: application.Way{
				Name:       "the lock of a key, sessions with a TTL, and blocking queries",
				Operations: []application.Operation{{Kind: kv.Watch}},
				Features:   []kv.Feature{kv.SessionLocks},
			},
			Recipe: SessionRace, Lives: sessionLives, Beats: 2, Vacancy: lockVacancy, Pause: lockRetry, Watches: true,
			Shapes: [NumCalls]app.Shape{
				Resign: {Name: "release", Kind: kv.CAS},
				Stand:  {Name: "acquire", Kind: kv.CAS},
				Look:   {Name: "read the lock", Kind: kv.Get, Level: kv.Linearizable},
				Await:  {Name: "begin to wait", Kind: kv.Watch},
				Drop:   {Name: "end the wait", Kind: kv.Watch},
				Renew:  {Name: "renew the session", Kind: kv.KeepAlive},
			},
			PerHandover: func(n float64) [NumCalls]float64 { return [NumCalls]float64{Resign: 1, Stand: n, Look: n + 1} },
		},
	}
	queueWays = []Way{
		onNodes(
			"numbered ephemeral nodes and one-shot watches", EphemeralQueue,
			app.Shape{Name: "join the queue", Kind: kv.Ephemeral},
			app.Shape{Name: "list the queue", Kind: kv.Range, Level: kv.Local},
			app.Shape{Name: "watch who is before", Kind: kv.Get, Level: kv.Local},
			func(float64) [NumCalls]float64 { return [NumCalls]float64{Resign: 1, Stand: 1, Look: 2, Await: 1} },
		),
		onLeases(
			"keys with leases in the order in which they were created, and watchers", LeaseQueue,
			"campaign", "look who is before", "watch who is before",
			func(float64) [NumCalls]float64 {
				return [NumCalls]float64{Resign: 1, Stand: 1, Look: 2, Await: 1, Drop: 1}
			},
		),
	}
)

// The parameters' keys.
const (
	electionsKey  = "elections"
	candidatesKey = "candidates"
	tenureKey     = "tenure"
	stormKey      = "failovers"
	ttlKey        = "ttl"
)

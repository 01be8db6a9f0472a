// Package election is the load of elections: candidates that want to lead one of many
// offices each, of which one leads at a time until it resigns, as the clients of a store
// do it who need a leader. docs/applications.md says where each number comes from.
//
// There are two of them, which differ in who leads next: any candidate that is the first
// to take an office that is free, so that all are told and race for it; or the one that
// has waited longest, so that one is told.
package election

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// What scenario files call the applications.
const (
	RaceName  = "election-race"
	QueueName = "election-queue"
)

// The parameters' keys.
const (
	electionsKey  = "elections"
	candidatesKey = "candidates"
	tenureKey     = "tenure"
	stormKey      = "failovers"
	ttlKey        = "ttl"
)

// maxCandidates is how many there are at most: each has a connection.
const maxCandidates = 50_000

// leastTTL and mostTTL are what each store's sessions can have: Consul's least is 10 s, and
// ZooKeeper grants 20 ticks of 2 s at most.
const (
	leastTTL = 10 * time.Second
	mostTTL  = 40 * time.Second
)

// keyNames matches the names of its keys after the prefix.
var keyNames = regexp.MustCompile(`^e\d{6}(/|$)`)

// Application is an application.Application: elections by a queue, or by a race.
type Application struct{ Queue bool }

// Definition implements application.Application.
func (a Application) Definition() application.Definition {
	d := application.Definition{
		Name: RaceName, Meaning: "elections in which all candidates race for an office that is free", Prefix: "elections/", Names: keyNames,
		Unsearched: "its trials would be of seconds, and most of what happens in those is that all candidates stand at once, which no tenure later has",
		Parameters: []application.Parameter{
			{Key: electionsKey, Meaning: "offices, each with a leader of its own", Differs: "the offices", Default: 20, Least: 1, Most: 10_000},
			{Key: candidatesKey, Meaning: "candidates for each office, each with a session of its own", Differs: "the candidates for an office", Default: 5, Least: 2, Most: 1000},
			{Key: tenureKey, Meaning: "how long a leader leads before it is to resign", Differs: "the tenure", Unit: application.Seconds, Default: 10, Least: 0.1, Most: 3600},
			{Key: stormKey, Meaning: "leaders that die at once, each of an office of its own: they send nothing any more", Differs: "the leaders that die at once", Most: 10_000},
			{Key: ttlKey, Meaning: "how long a session or lease lives that is not kept alive; 0: as long as the store's client has it", Differs: "the sessions' time to live",
				Unit: application.Seconds, Most: mostTTL.Seconds()},
		},
	}
	ways := raceWays
	if a.Queue {
		d.Name, d.Meaning = QueueName, "elections in which the candidate leads next that has waited longest"
		ways = queueWays
	}
	for i := range ways {
		d.Ways = append(d.Ways, ways[i].Way)
	}
	return d
}

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

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := ConfigOf(s, 0)
	switch {
	case c.All() > maxCandidates:
		return electionsKey, fmt.Sprintf("<elections> times <candidates> is %d candidates and can be at most %d", c.All(), maxCandidates)
	case c.Storm > c.Offices:
		return stormKey, fmt.Sprintf("<failovers> is %d, and there are %d <elections>, each with one leader", c.Storm, c.Offices)
	case c.TTL != 0 && (c.TTL < leastTTL || c.TTL%time.Second != 0):
		return ttlKey, fmt.Sprintf("<ttl> is %v, and stores want whole seconds, %v at least; 0 is what the store's client has", c.TTL, leastTTL)
	}
	return "", ""
}

// CheckWindow implements application.Windowed: all of a failover falls into the window.
func (a Application) CheckWindow(s application.Settings, way int, length time.Duration) (parameter, why string) {
	c, w := ConfigOf(s, 0), a.Way(way)
	if c.Storm == 0 || c.Dies(w, length) > 0 {
		return "", ""
	}
	least := (c.least(w) + time.Second - 1).Truncate(time.Second)
	return stormKey, fmt.Sprintf("<failovers> needs a <duration> of %v at least here, where a session that is not kept alive lives for %v; it is %v", least, w.lives(&c), length)
}

// Way is how a store is used.
func (a Application) Way(way int) *Way {
	if a.Queue {
		return &queueWays[way]
	}
	return &raceWays[way]
}

// Profile implements application.Application: how often each call is made in the mean,
// when nobody fails. That candidates stand for the first time is not in it.
func (a Application) Profile(s application.Settings, way int) application.Profile {
	c, w := ConfigOf(s, 0), a.Way(way)
	rates := w.Rates(&c)
	return application.Profile{
		Calls: app.Calls(w.Shapes[:], rates[:]),
		There: uint64(c.Offices), KeySize: len("e000000/leader"), ValueSize: NameSize, Connections: c.Connections(w),
	}
}

// Script implements app.Application.
func (a Application) Script(setup app.Setup) app.Script { return New(a, setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := ConfigOf(s, 0)
	words := fmt.Sprintf("%s with %s each, and a tenure of %v", text.Plural(uint64(c.Offices), "office"), text.Plural(uint64(c.Candidates), "candidate"), c.Tenure)
	if c.TTL > 0 {
		words += fmt.Sprintf(", sessions of %v", c.TTL)
	}
	if c.Storm > 0 {
		words += ", " + text.Plural(uint64(c.Storm), "leader") + " dying at once"
	}
	return words
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

func nodeVacancy(time.Duration) time.Duration       { return nodeStep }
func leaseVacancy(time.Duration) time.Duration      { return leaseStep }
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

// NameSize is the size of a candidate's name.
const NameSize = 1 + app.Digits + 1 + 2*runBytes

const runBytes = 4

// AppendOffice appends an office's key.
func AppendOffice(b []byte, prefix string, office int) []byte {
	return app.AppendNumber(append(append(b, prefix...), 'e'), number(office))
}

// AppendCandidate appends the name of a candidate, by its place among all, in a run, by a
// number of its own: what a run before has left behind may still be there.
func AppendCandidate(b []byte, all int, run uint32) []byte {
	b = append(app.AppendNumber(append(b, 'c'), number(all)), '-')
	var of [runBytes]byte
	binary.BigEndian.PutUint32(of[:], run)
	return hex.AppendEncode(b, of[:])
}

// Candidate is whose name it is, and of which run, as AppendCandidate made it.
func Candidate(name []byte) (all int, run uint32, ok bool) {
	const end = 1 + app.Digits
	if len(name) != NameSize || name[0] != 'c' || name[end] != '-' {
		return 0, 0, false
	}
	n, ok := app.ReadNumber(name[1:end])
	var of [runBytes]byte
	if _, err := hex.Decode(of[:], name[end+1:]); err != nil {
		return 0, 0, false
	}
	return int(n), binary.BigEndian.Uint32(of[:]), ok
}

func number(n int) uint32 { return uint32(min(max(n, 0), math.MaxInt32)) } // #nosec G115 -- in its bounds

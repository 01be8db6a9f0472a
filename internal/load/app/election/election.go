// Package election imitates clients that elect a leader. Candidates compete for offices. Each
// office has at most one leader at a time. A leader keeps its office until it resigns.
// docs/explanation/applications.md gives the source of each number.
//
// The package has two applications, which differ in who becomes the next leader. In a race, all
// candidates are notified when an office becomes free, and the first candidate to take it becomes
// leader. In a queue, only the candidate that has waited longest is notified and becomes leader.
package election

import (
	"fmt"
	"regexp"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Names of the applications in scenario files.
const (
	RaceName  = "election-race"
	QueueName = "election-queue"
)

// maxCandidates limits the number of candidates in a load, because each candidate has a connection.
const maxCandidates = 50_000

// minTTL and maxTTL are the lowest and the highest session TTL that every store accepts.
// Consul's minimum is 10 s, and ZooKeeper's maximum is 20 ticks of 2 s.
const (
	minTTL = 10 * time.Second
	maxTTL = 40 * time.Second
)

// keyNames matches the application's keys, without the prefix.
var keyNames = regexp.MustCompile(`^e\d{6}(/|$)`)

// Application implements application.Application for elections by a queue or by a race.
type Application struct{ Queue bool }

// Definition implements application.Application.
func (a Application) Definition() application.Definition {
	d := application.Definition{
		Name: RaceName, Meaning: "elections in which all candidates compete for a free office", Prefix: "elections/", KeyPattern: keyNames,
		NoSearchReason: "the trials of a search last only seconds, so most calls would be the candidates' first calls, which occur only once",
		Parameters: []application.Parameter{
			{Key: electionsKey, Meaning: "number of offices, each with its own leader", DifferenceName: "the offices", Default: 20, Min: 1, Max: 10_000},
			{Key: candidatesKey, Meaning: "candidates for each office, each with its own session", DifferenceName: "the candidates for an office", Default: 5, Min: 2, Max: 1000},
			{Key: tenureKey, Meaning: "time after which a leader resigns", DifferenceName: "the tenure", Unit: application.Seconds, Default: 10, Min: 0.1, Max: 3600},
			{Key: failoversKey, Meaning: "number of leaders that fail at the same time, each of a different office", DifferenceName: "the simultaneous leader failures", Max: 10_000},
			{Key: ttlKey, Meaning: "time after which a session or lease expires if it is not kept alive; 0: the default of the store's client", DifferenceName: "the TTL of sessions",
				Unit: application.Seconds, Max: maxTTL.Seconds()},
		},
	}
	ways := raceWays
	if a.Queue {
		d.Name, d.Meaning = QueueName, "elections in which the candidate that has waited longest becomes the next leader"
		ways = queueWays
	}
	for i := range ways {
		d.Ways = append(d.Ways, ways[i].Way)
	}
	return d
}

// Check implements application.Application.
func (Application) Check(s application.Settings) (parameter, why string) {
	c := NewConfig(s, 0)
	switch {
	case c.CandidateCount() > maxCandidates:
		return electionsKey, fmt.Sprintf("<elections> times <candidates> is %d candidates, but must be at most %d", c.CandidateCount(), maxCandidates)
	case c.LeaderFailures > c.Offices:
		return failoversKey, fmt.Sprintf("<failovers> is %d, but must not exceed <elections>, which is %d, because each election has one leader", c.LeaderFailures, c.Offices)
	case c.TTL != 0 && (c.TTL < minTTL || c.TTL%time.Second != 0):
		return ttlKey, fmt.Sprintf("<ttl> is %v, but must be a whole number of seconds and at least %v; 0 uses the default of the store's client", c.TTL, minTTL)
	}
	return "", ""
}

// CheckWindow implements application.WindowChecker. The window must be long enough to contain the
// whole failover.
func (a Application) CheckWindow(s application.Settings, way int, length time.Duration) (parameter, why string) {
	c, w := NewConfig(s, 0), a.Way(way)
	if c.LeaderFailures == 0 || c.LeaderDeath(w, length) > 0 {
		return "", ""
	}
	least := (c.minWindow(w) + time.Second - 1).Truncate(time.Second)
	return failoversKey, fmt.Sprintf("<failovers> needs a <duration> of at least %v, because a session that is not kept alive expires only after %v; the <duration> is %v", least, w.sessionTTL(&c), length)
}

// Way returns the way with the given index in Definition.Ways.
func (a Application) Way(way int) *Way {
	if a.Queue {
		return &queueWays[way]
	}
	return &raceWays[way]
}

// Profile implements application.Application. It returns the mean rate of each call, without
// failovers and without the candidates' first calls at the start of the load.
func (a Application) Profile(s application.Settings, way int) application.Profile {
	c, w := NewConfig(s, 0), a.Way(way)
	rates := w.Rates(&c)
	return application.Profile{
		Calls:    app.Calls(w.Shapes[:], rates[:]),
		Existing: uint64(c.Offices), KeySize: len("e000000/leader"), ValueSize: NameSize, Connections: c.Connections(w),
	}
}

// Script implements app.Application.
func (a Application) Script(setup app.Setup) app.Script { return New(a, setup) }

// Phrase implements application.Application.
func (Application) Phrase(s application.Settings) string {
	c := NewConfig(s, 0)
	words := fmt.Sprintf("%s with %s each, and a tenure of %v", text.Plural(uint64(c.Offices), "office"), text.Plural(uint64(c.Candidates), "candidate"), c.Tenure)
	if c.TTL > 0 {
		words += fmt.Sprintf(", sessions with a TTL of %v", c.TTL)
	}
	if c.LeaderFailures > 0 {
		words += ", " + text.Plural(uint64(c.LeaderFailures), "simultaneous leader failure")
	}
	return words
}

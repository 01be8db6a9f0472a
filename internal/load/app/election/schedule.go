package election

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// All candidates stand for the first time within the duration `entering` after the start. The first
// resignation is due no earlier than the duration `settled` after the start.
const (
	entering = 500 * time.Millisecond
	settled  = time.Second
)

// ComesBack is the time from the election of the next leader to the return of the dead leader,
// which then stands as a new candidate.
const ComesBack = 3 * time.Second

// Entry is a call whose due time does not depend on the store: a candidate's first attempt, or the
// resignation of the candidate that is leader of an office at that time.
type Entry struct {
	Call  Call
	Index uint32 // for Stand: the candidate, counted over all offices; for Resign: the office
}

// Schedule lists the calls that become due at fixed times, in order. It does not contain
// keep-alives or calls that become due because of responses and events.
type Schedule struct {
	Config
	Due     []int64 // nanoseconds since the start of the load
	Entries []Entry
}

// NewSchedule returns the schedule of a load, which depends only on the configuration, the way and
// the length. An office whose leader dies has no resignations between the death and the dead
// leader's return.
func NewSchedule(c Config, w *Way, length time.Duration) *Schedule {
	s := &Schedule{Config: c}
	r := rand.New(rand.NewPCG(c.Seed, 0x656c))
	line := app.Timeline[Entry]{Length: length}
	for all := range c.CandidateCount() {
		line.Add(time.Duration(r.Int64N(int64(entering))), Entry{Stand, number(all)})
	}
	dies, over := c.LeaderDeath(w, length), time.Duration(0)
	if dies > 0 {
		// Handovers that begin before this time are complete when the leaders die.
		dies, over = dies-settled, dies+c.failover(w)
	}
	for office := range c.Offices {
		for at := settled + time.Duration(r.Int64N(int64(c.Tenure))); at < length; at += c.Tenure {
			if office >= c.Storm || at < dies || at >= over {
				line.Add(at, Entry{Resign, number(office)})
			}
		}
	}
	s.Due, s.Entries = line.Sorted()
	return s
}

// failover returns the longest time from a leader's death to the return of that leader, if the
// store is correct and not busy.
func (c *Config) failover(w *Way) time.Duration {
	lives := w.lives(c)
	return lives + w.Vacancy(lives) + ComesBack
}

// least returns the minimum length of a window in which leaders die. Each of these leaders must be
// elected and keep its session alive before it dies. After its return, the window must continue for
// a second.
func (c *Config) least(w *Way) time.Duration {
	_, every := w.KeepAlive(c)
	return settled + every + c.failover(w) + time.Second
}

// LeaderDeath returns the time at which leaders die in a load of the given length. The whole
// failover must be inside the window. LeaderDeath returns the point that is one third of the way
// between the earliest and the latest time that satisfy this condition. It returns 0 if no leader
// dies or the window is too short.
func (c *Config) LeaderDeath(w *Way, length time.Duration) time.Duration {
	rest := length - c.least(w)
	if c.Storm == 0 || rest < 0 {
		return 0
	}
	_, every := w.KeepAlive(c)
	return settled + every + rest/3
}

// Phases returns the time of each candidate's first keep-alive, given the interval between a
// candidate's keep-alives.
func (c *Config) Phases(every time.Duration) []int64 {
	r := rand.New(rand.NewPCG(c.Seed, 0x6265))
	of := make([]int64, c.CandidateCount())
	for i := range of {
		of[i] = r.Int64N(int64(every))
	}
	return of
}

// Kinds returns the number of calls of each kind.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}

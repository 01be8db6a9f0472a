package election

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// All candidates make their first attempt (Stand) within the duration `entryPeriod` after the
// start. The first resignation is due no earlier than the duration `firstResignation` after the
// start.
const (
	entryPeriod      = 500 * time.Millisecond
	firstResignation = time.Second
)

// ReturnDelay is the time from the election of the next leader to the return of the dead leader,
// which then stands for election as a new candidate.
const ReturnDelay = 3 * time.Second

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
// the length. An office whose leader dies has no resignations from shortly before the death until
// the dead leader has returned.
func NewSchedule(c Config, w *Way, length time.Duration) *Schedule {
	s := &Schedule{Config: c}
	r := rand.New(rand.NewPCG(c.Seed, 0x656c))
	line := app.Timeline[Entry]{Length: length}
	for all := range c.CandidateCount() {
		line.Add(time.Duration(r.Int64N(int64(entryPeriod))), Entry{Stand, clampUint32(all)})
	}
	dies, over := c.LeaderDeath(w, length), time.Duration(0)
	if dies > 0 {
		// Handovers that begin before this time are complete when the leaders die.
		dies, over = dies-firstResignation, dies+c.maxFailoverTime(w)
	}
	for office := range c.Offices {
		for at := firstResignation + time.Duration(r.Int64N(int64(c.Tenure))); at < length; at += c.Tenure {
			if office >= c.LeaderFailures || at < dies || at >= over {
				line.Add(at, Entry{Resign, clampUint32(office)})
			}
		}
	}
	s.Due, s.Entries = line.Sorted()
	return s
}

// maxFailoverTime returns the longest time from a leader's death to the return of that leader, if
// the store is correct and not busy.
func (c *Config) maxFailoverTime(w *Way) time.Duration {
	lives := w.sessionTTL(c)
	return lives + w.MaxVacancy(lives) + ReturnDelay
}

// minWindow returns the minimum length of a window in which leaders die. Each of these leaders must
// be elected and keep its session alive before it dies. After the dead leaders have returned, the
// window must continue for one more second.
func (c *Config) minWindow(w *Way) time.Duration {
	_, every := w.KeepAlive(c)
	return firstResignation + every + c.maxFailoverTime(w) + time.Second
}

// LeaderDeath returns the time at which leaders die in a load of the given length. The whole
// failover must be inside the window. LeaderDeath returns the point that is one third of the way
// between the earliest and the latest time that satisfy this condition. It returns 0 if no leader
// dies or the window is too short.
func (c *Config) LeaderDeath(w *Way, length time.Duration) time.Duration {
	rest := length - c.minWindow(w)
	if c.LeaderFailures == 0 || rest < 0 {
		return 0
	}
	_, every := w.KeepAlive(c)
	return firstResignation + every + rest/3
}

// FirstKeepAlives returns the time of each candidate's first keep-alive, given the interval between
// a candidate's keep-alives.
func (c *Config) FirstKeepAlives(interval time.Duration) []int64 {
	r := rand.New(rand.NewPCG(c.Seed, 0x6265))
	times := make([]int64, c.CandidateCount())
	for i := range times {
		times[i] = r.Int64N(int64(interval))
	}
	return times
}

// CountByKind returns the number of calls of each kind.
func (s *Schedule) CountByKind() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}

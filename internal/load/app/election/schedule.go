package election

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
)

// All candidates stand within entering of the beginning, and the first resigns settled
// behind it at the earliest.
const (
	entering = 500 * time.Millisecond
	settled  = time.Second
)

// ComesBack is how long behind the next leader's taking the office one that has died stands
// again, as a new candidate.
const ComesBack = 3 * time.Second

// Entry is a call that becomes due whatever the store says: a candidate stands for the
// first time, or the leader of an office, whoever that is then, is to resign.
type Entry struct {
	Call Call
	Of   uint32 // Stand: the candidate, by its place among all; Resign: the office
}

// Schedule is what becomes due in a load, in its order, besides what answers and events
// make due, and what keeps sessions alive.
type Schedule struct {
	Config
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// NewSchedule makes the calls that become due in a time. The same configuration makes the
// same schedule. Where a leader dies nobody is to resign until there is another.
func NewSchedule(c Config, w *Way, length time.Duration) *Schedule {
	s := &Schedule{Config: c}
	r := rand.New(rand.NewPCG(c.Seed, 0x656c))
	line := app.Timeline[Entry]{Length: length}
	for all := range c.All() {
		line.Add(time.Duration(r.Int64N(int64(entering))), Entry{Stand, number(all)})
	}
	dies, over := c.Dies(w, length), time.Duration(0)
	if dies > 0 {
		dies, over = dies-settled, dies+c.failover(w) // what comes before is settled then
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

// failover is how long it takes at most, of a store that is right and not busy, until one
// that has died has come back.
func (c *Config) failover(w *Way) time.Duration {
	lives := w.lives(c)
	return lives + w.Vacancy(lives) + ComesBack
}

// least is how long a window has to be in which leaders die: each has led, and has kept its
// session alive, before it dies, and there is a second behind its coming back.
func (c *Config) least(w *Way) time.Duration {
	_, every := w.Keeps(c)
	return settled + every + c.failover(w) + time.Second
}

// Dies is when the leaders die that die at once, in a load of that length: a third of the
// way to the last moment at which all of it still falls into it. 0: none dies, or it is too
// short.
func (c *Config) Dies(w *Way, length time.Duration) time.Duration {
	rest := length - c.least(w)
	if c.Storm == 0 || rest < 0 {
		return 0
	}
	_, every := w.Keeps(c)
	return settled + every + rest/3
}

// Phases are when each candidate keeps its session alive for the first time, in a load in
// which it does so often.
func (c *Config) Phases(every time.Duration) []int64 {
	r := rand.New(rand.NewPCG(c.Seed, 0x6265))
	of := make([]int64, c.All())
	for i := range of {
		of[i] = r.Int64N(int64(every))
	}
	return of
}

// Kinds is how many calls of each kind there are.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}

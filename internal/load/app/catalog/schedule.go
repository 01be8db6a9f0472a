package catalog

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
)

const (
	// criticalFor is how long an instance stays critical.
	criticalFor = 5 * time.Second
	// apart is what lies at least between two calls of one instance that change it, so
	// that watchers are told of both.
	apart = 5 * time.Second
	// shortestLife is how long instances must live in the mean, so that enough can fail and
	// pass again.
	shortestLife = 2 * (criticalFor + 2*apart)
)

// Entry is a call that becomes due.
type Entry struct {
	Call   Call
	Object uint32 // the instance
}

// Schedule is what becomes due in a load, in its order.
type Schedule struct {
	discovery.Places
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// life is when an instance comes and goes, of those that change, and until when nothing
// else may change it.
type life struct{ came, gone, busy time.Duration }

// NewSchedule makes the calls that become due in a time. The same configuration makes
// the same schedule.
func NewSchedule(c Config, length time.Duration) *Schedule {
	born := int(c.Churn * length.Seconds())
	s := &Schedule{Places: discovery.PlacesOf(c.Config, born)}
	r := rand.New(rand.NewPCG(c.Seed, 0x6361))
	lives := make([]life, s.All())
	for i := range lives {
		lives[i] = life{came: -apart, gone: length + apart}
		if uint32(i)%s.Room >= uint32(c.Instances) {
			lives[i].came = length // it never comes
		}
	}
	line := app.Timeline[Entry]{Length: length}
	s.changes(&line, r, lives, born)
	s.failures(&line, r, lives, int(c.Health*length.Seconds()))
	comparisons := int(c.comparisons() * length.Seconds())
	for i := range comparisons {
		at := time.Duration((float64(i) + r.Float64()) / float64(comparisons) * float64(length))
		line.Add(at, Entry{Compare, s.BeforeAt(uint64(i % c.There()))})
	}
	s.Due, s.Entries = line.Sorted()
	return s
}

// changes are the instances that come, and those that go: of each service the oldest.
func (s *Schedule) changes(line *app.Timeline[Entry], r *rand.Rand, lives []life, born int) {
	order := r.Perm(s.Services) // of the services that change, one after the other
	place := func(i int) time.Duration {
		return time.Duration((float64(i) + r.Float64()) / float64(born) * float64(line.Length))
	}
	for i := range born {
		came, gone := s.Changes(order, i)
		lives[came].came, lives[gone].gone = place(i), place(i)
		line.Add(lives[came].came, Entry{Register, came})
		line.Add(lives[gone].gone, Entry{Deregister, gone})
	}
}

// mostTries is how often an instance is drawn for a change of health, before the change
// is left out: all may be new, or about to go.
const mostTries = 1000

// failures are the instances that become critical, and pass again.
func (s *Schedule) failures(line *app.Timeline[Entry], r *rand.Rand, lives []life, count int) {
	within := float64(max(line.Length-criticalFor, 0))
	for i := range count {
		at := time.Duration((float64(i) + r.Float64()) / float64(count) * within)
		for range mostTries {
			n := r.Uint32N(s.All())
			l := &lives[n]
			if l.came > at-apart || l.gone < at+criticalFor+apart || l.busy > at {
				continue
			}
			l.busy = at + criticalFor + apart
			line.Add(at, Entry{Fail, n})
			line.Add(at+criticalFor, Entry{Pass, n})
			break
		}
	}
}

// Kinds is how many calls of each kind there are.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}

// AppendID appends an instance's ID.
func (s *Schedule) AppendID(b []byte, prefix string, object uint32) []byte {
	return s.AppendInstance(b, prefix, '-', object)
}

// Number is the instance that has an ID.
func (s *Schedule) Number(prefix string, id []byte) (object uint32, ok bool) {
	return s.Places.Number(prefix, '-', id)
}

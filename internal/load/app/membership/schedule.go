package membership

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/app/discovery"
)

// readAfter is how long behind its instance's registration a client's read of it
// becomes due: when it is told cannot be known beforehand. It waits in any case until
// the registration was answered.
const readAfter = 10 * time.Millisecond

// Entry is a call that becomes due.
type Entry struct {
	Call   Call
	Object uint32 // the instance
	Client uint32 // Lookup: who reads it
}

// Schedule is what becomes due in a load, in its order.
type Schedule struct {
	discovery.Places
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// NewSchedule makes the calls that become due in a time. The same configuration makes
// the same schedule.
func NewSchedule(c discovery.Config, length time.Duration) *Schedule {
	born := int(c.Churn * length.Seconds())
	s := &Schedule{Places: discovery.PlacesOf(c, born)}
	r := rand.New(rand.NewPCG(c.Seed, 0x6d62))
	line := app.Timeline[Entry]{Length: length}
	gap := float64(time.Second) / max(c.Churn, 1e-9)
	place := func(i int) time.Duration { return time.Duration((float64(i) + r.Float64()) * gap) }
	order := r.Perm(c.Services) // of the services that change, one after the other
	for i := range born {
		came, gone := s.Changes(order, i)
		at := place(i)
		line.Add(at, Entry{Call: Register, Object: came})
		for _, client := range s.Users(came / s.Room) {
			line.Add(at+readAfter, Entry{Lookup, came, client})
		}
		line.Add(place(i), Entry{Call: Deregister, Object: gone})
	}
	s.Due, s.Entries = line.Sorted()
	return s
}

// Kinds is how many calls of each kind there are.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}

// AppendService appends what the keys of a service's instances begin with.
func (s *Schedule) AppendService(b []byte, prefix string, service uint32) []byte {
	return append(s.Places.AppendService(b, prefix, service), '/')
}

// AppendKey appends an instance's key.
func (s *Schedule) AppendKey(b []byte, prefix string, object uint32) []byte {
	return s.AppendInstance(b, prefix, '/', object)
}

// Number is the instance that has a key.
func (s *Schedule) Number(prefix string, key []byte) (object uint32, ok bool) {
	return s.Places.Number(prefix, '/', key)
}

package election

import (
	"math/rand/v2"
	"time"

	"github.com/quorumbench/quorumbench/internal/application"
)

// All candidates stand within entering of the beginning, and the first resigns settled
// behind it at the earliest.
const (
	entering = 500 * time.Millisecond
	settled  = time.Second
)

// Entry is a call that becomes due whatever the store says: a candidate stands for the
// first time, or renews its lease, or the leader of an office, whoever that is then, is to resign.
type Entry struct {
	Call Call
	Of   uint32 // Stand, Renew: the candidate, by its place among all; Resign: the office
}

// Schedule is what becomes due in a load, in its order, besides what answers and events
// make due.
type Schedule struct {
	Config
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// NewSchedule makes the calls that become due in a time, where leases are renewed so often;
// 0: never. The same configuration makes the same schedule.
func NewSchedule(c Config, renews, length time.Duration) *Schedule {
	s := &Schedule{Config: c}
	r := rand.New(rand.NewPCG(c.Seed, 0x656c))
	line := application.Timeline[Entry]{Length: length}
	for all := range c.All() {
		line.Add(time.Duration(r.Int64N(int64(entering))), Entry{Stand, number(all)})
	}
	for office := range c.Offices {
		for at := settled + time.Duration(r.Int64N(int64(c.Tenure))); at < length; at += c.Tenure {
			line.Add(at, Entry{Resign, number(office)})
		}
	}
	for all := range c.All() {
		if renews == 0 {
			break
		}
		for at := time.Duration(r.Int64N(int64(renews))); at < length; at += renews {
			line.Add(at, Entry{Renew, number(all)})
		}
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

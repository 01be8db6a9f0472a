package catalog

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
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

// Schedule is what becomes due in a load, in its order. The instances of a service have
// the numbers from Room times the service's on: at first those that are there before,
// then those that come.
type Schedule struct {
	Config
	Room    uint32  // numbers of each service
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// due is an entry with its time.
type due struct {
	at time.Duration
	Entry
}

// life is when an instance comes and goes, of those that change, and until when nothing
// else may change it.
type life struct{ came, gone, busy time.Duration }

// NewSchedule makes the calls that become due in a time. The same configuration makes
// the same schedule.
func NewSchedule(c Config, length time.Duration) *Schedule {
	born := int(c.Churn * length.Seconds())
	s := &Schedule{Config: c, Room: uint32(c.Instances + (born+c.Services-1)/c.Services)}
	r := rand.New(rand.NewPCG(c.Seed, 0x6361))
	lives := make([]life, s.All())
	for i := range lives {
		lives[i] = life{came: -apart, gone: length + apart}
		if uint32(i)%s.Room >= uint32(c.Instances) {
			lives[i].came = length // it never comes
		}
	}
	all := s.changes(r, lives, born, length)
	all = append(all, s.failures(r, lives, length)...)
	comparisons := int(c.comparisons() * length.Seconds())
	there := uint32(c.Services * c.Instances)
	for i := range comparisons {
		n := uint32(i) % there
		at := time.Duration((float64(i) + r.Float64()) / float64(comparisons) * float64(length))
		all = append(all, due{at, Entry{Compare, n/uint32(c.Instances)*s.Room + n%uint32(c.Instances)}})
	}
	slices.SortStableFunc(all, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	for _, d := range all {
		s.Due, s.Entries = append(s.Due, int64(d.at)), append(s.Entries, d.Entry)
	}
	return s
}

// changes are the instances that come, and those that go: of each service the oldest.
func (s *Schedule) changes(r *rand.Rand, lives []life, born int, length time.Duration) (all []due) {
	order := r.Perm(s.Services) // of the services that change, one after the other
	place := func(i int) time.Duration {
		return time.Duration((float64(i) + r.Float64()) / float64(born) * float64(length))
	}
	for i := range born {
		first, k := uint32(order[i%s.Services])*s.Room, uint32(i/s.Services)
		came, gone := first+uint32(s.Instances)+k, first+k
		lives[came].came, lives[gone].gone = place(i), place(i)
		all = append(all, due{lives[came].came, Entry{Register, came}}, due{lives[gone].gone, Entry{Deregister, gone}})
	}
	return all
}

// mostTries is how often an instance is drawn for a change of health, before the change
// is left out: all may be new, or about to go.
const mostTries = 1000

// failures are the instances that become critical, and pass again.
func (s *Schedule) failures(r *rand.Rand, lives []life, length time.Duration) (all []due) {
	count := int(s.Health * length.Seconds())
	within := float64(max(length-criticalFor, 0))
	for i := range count {
		at := time.Duration((float64(i) + r.Float64()) / float64(count) * within)
		for range mostTries {
			n := r.Uint32N(s.All())
			l := &lives[n]
			if l.came > at-apart || l.gone < at+criticalFor+apart || l.busy > at {
				continue
			}
			l.busy = at + criticalFor + apart
			all = append(all, due{at, Entry{Fail, n}}, due{at + criticalFor, Entry{Pass, n}})
			break
		}
	}
	return all
}

// Service is the i-th of those that a client uses.
func (s *Schedule) Service(client, i int) uint32 {
	return uint32((client*s.Uses + i) % s.Services)
}

// All is how many instances have a number.
func (s *Schedule) All() uint32 { return s.Room * uint32(s.Services) }

// Before reports whether an instance is there when the load begins.
func (s *Schedule) Before(object uint32) bool { return object%s.Room < uint32(s.Instances) }

// Kinds is how many calls of each kind there are.
func (s *Schedule) Kinds() (n [NumCalls]uint64) {
	for _, e := range s.Entries {
		n[e.Call]++
	}
	return n
}

// digits is how many a number has in a name.
const digits = 6

// AppendService appends a service's name.
func (s *Schedule) AppendService(b []byte, prefix string, service uint32) []byte {
	return appendNumber(append(append(b, prefix...), 's'), service)
}

// AppendID appends an instance's ID.
func (s *Schedule) AppendID(b []byte, prefix string, object uint32) []byte {
	return appendNumber(append(s.AppendService(b, prefix, object/s.Room), "-i"...), object%s.Room)
}

func appendNumber(b []byte, n uint32) []byte {
	at := len(b)
	b = append(b, "000000"[:digits]...)
	for i := len(b) - 1; i >= at; i-- {
		b[i] = '0' + byte(n%10)
		n /= 10
	}
	return b
}

// Number is the instance that has an ID.
func (s *Schedule) Number(prefix string, id []byte) (object uint32, ok bool) {
	if len(id) != len(prefix)+len("s-i")+2*digits || string(id[:len(prefix)]) != prefix {
		return 0, false
	}
	rest := id[len(prefix):]
	service, ok := number(rest[1 : 1+digits])
	place, fine := number(rest[len(rest)-digits:])
	if !ok || !fine || rest[0] != 's' || rest[1+digits] != '-' || rest[2+digits] != 'i' || service >= uint32(s.Services) || place >= s.Room {
		return 0, false
	}
	return service*s.Room + place, true
}

func number(b []byte) (n uint32, ok bool) {
	for _, d := range b {
		if d < '0' || d > '9' {
			return 0, false
		}
		n = 10*n + uint32(d-'0')
	}
	return n, true
}

package membership

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
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

// Schedule is what becomes due in a load, in its order. The instances of a service have
// the numbers from Room times the service's on: at first those that are there before,
// then those that come.
type Schedule struct {
	Config
	Room    uint32  // numbers of each service
	Due     []int64 // nanoseconds since the load began
	Entries []Entry
}

// NewSchedule makes the calls that become due in a time. The same configuration makes
// the same schedule.
func NewSchedule(c Config, length time.Duration) *Schedule {
	born := int(c.Churn * length.Seconds())
	s := &Schedule{Config: c, Room: uint32(c.Instances + (born+c.Services-1)/c.Services)}
	r := rand.New(rand.NewPCG(c.Seed, 0x6d62))
	type due struct {
		at time.Duration
		Entry
	}
	var all []due
	add := func(at time.Duration, e Entry) {
		if at >= 0 && at < length {
			all = append(all, due{at, e})
		}
	}
	gap := float64(time.Second) / max(c.Churn, 1e-9)
	place := func(i int) time.Duration { return time.Duration((float64(i) + r.Float64()) * gap) }
	order := r.Perm(c.Services) // of the services that change, one after the other
	for i := range born {
		service, k := uint32(order[i%c.Services]), uint32(i/c.Services)
		came := service*s.Room + uint32(c.Instances) + k
		at := place(i)
		add(at, Entry{Call: Register, Object: came})
		for _, client := range s.users(service) {
			add(at+readAfter, Entry{Lookup, came, client})
		}
		add(place(i), Entry{Call: Deregister, Object: service*s.Room + k}) // the oldest
	}
	slices.SortStableFunc(all, func(a, b due) int { return cmp.Compare(a.at, b.at) })
	for _, d := range all {
		s.Due, s.Entries = append(s.Due, int64(d.at)), append(s.Entries, d.Entry)
	}
	return s
}

// Service is the i-th of those that a client uses.
func (s *Schedule) Service(client, i int) uint32 {
	return uint32((client*s.Uses + i) % s.Services)
}

// users are the clients that use a service.
func (s *Schedule) users(service uint32) (clients []uint32) {
	for at := int(service); at < s.Clients*s.Uses; at += s.Services {
		clients = append(clients, uint32(at/s.Uses))
	}
	return clients
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

// digits is how many a number has in a key.
const digits = 6

// AppendService appends what the keys of a service's instances begin with.
func (s *Schedule) AppendService(b []byte, prefix string, service uint32) []byte {
	return append(appendNumber(append(append(b, prefix...), 's'), service), '/')
}

// AppendKey appends an instance's key.
func (s *Schedule) AppendKey(b []byte, prefix string, object uint32) []byte {
	return appendNumber(append(s.AppendService(b, prefix, object/s.Room), 'i'), object%s.Room)
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

// Number is the instance that has a key.
func (s *Schedule) Number(prefix string, key []byte) (object uint32, ok bool) {
	if len(key) != len(prefix)+len("s/i")+2*digits || string(key[:len(prefix)]) != prefix {
		return 0, false
	}
	rest := key[len(prefix):]
	service, ok := number(rest[1 : 1+digits])
	place, fine := number(rest[len(rest)-digits:])
	if !ok || !fine || rest[0] != 's' || rest[1+digits] != '/' || rest[2+digits] != 'i' || service >= uint32(s.Services) || place >= s.Room {
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

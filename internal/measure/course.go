package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// WindowTimeline describes the course of the whole window of a load with faults.
type WindowTimeline struct {
	// Done, Definite and Indefinite are the counts from Fine, for each slot of the window.
	Done, Definite, Indefinite []uint32
	// Members contains the pulses of the successes by the member that replied (0 if unknown).
	// Operations contains the pulses by operation.
	Members    map[uint64]*Pulse
	Operations map[Asked]*Pulse
	// P99 is the p99 of the response times for each second in which operations became due.
	P99 []Figure
	// Clients is the number of clients in a closed loop. Waits contains the clients' times without
	// a success (Fine.Waits), in milliseconds since the start of the window. Crowded is set if some
	// of these times were dropped.
	Clients int
	Waits   []ClientGap
	Crowded bool
	// Watched is nil if watchers received no events and the load noticed no ended lease.
	Watched *Watched
}

// ClientGap is a period in which a single client had no success.
type ClientGap struct {
	Client uint32
	Gap
}

// Asked is a kind of operation and its consistency.
type Asked struct {
	Kind        kv.Kind
	Consistency kv.Consistency
}

// Add adds one second of the window and its p99. Each second must be added only once.
func (c *WindowTimeline) Add(s *Second, p99 Figure) {
	for len(c.P99) <= s.Index {
		c.P99 = append(c.P99, Figure{})
		for _, counts := range []*[]uint32{&c.Done, &c.Definite, &c.Indefinite} {
			*counts = append(*counts, make([]uint32, Slots)...)
		}
	}
	c.P99[s.Index] = p99
	for _, p := range c.Members {
		p.add(s.Index, &[16]uint64{}) // extend p to the length of the other pulses
	}
	for _, p := range c.Operations {
		p.add(s.Index, &[16]uint64{})
	}
	c.Clients = max(c.Clients, s.Clients)
	c.addWatched(s)
	if s.Fine == nil {
		return
	}
	for _, w := range s.Fine.Waits {
		to := 1000*s.Index + int(w.At)
		c.Waits = append(c.Waits, ClientGap{w.Client, Gap{to - int(w.Length), to}})
	}
	c.Crowded = c.Crowded || s.Fine.Crowded
	at := s.Index * Slots
	copy(c.Done[at:], s.Fine.Done[:])
	copy(c.Definite[at:], s.Fine.Definite[:])
	copy(c.Indefinite[at:], s.Fine.Indefinite[:])
	if c.Members == nil {
		c.Members, c.Operations = map[uint64]*Pulse{}, map[Asked]*Pulse{}
	}
	for i := range s.Fine.Groups {
		g := &s.Fine.Groups[i]
		member := g.Member
		if c.Members[member] == nil && len(c.Members) >= mostGroups {
			member = 0
		}
		pulseFor(c.Members, member).add(s.Index, &g.Alive)
		pulseFor(c.Operations, Asked{g.Kind, g.Consistency}).add(s.Index, &g.Alive)
	}
}

// addWatched adds the watch events and the ended leases of one second.
func (c *WindowTimeline) addWatched(s *Second) {
	var f *FineWatch
	if s.Fine != nil {
		f = s.Fine.Watch
	}
	if c.Watched == nil && f != nil {
		c.Watched = &Watched{Events: &Pulse{}, Leases: map[int64]LeaseGone{}}
	}
	if c.Watched != nil {
		c.Watched.add(s.Index, f)
	}
}

// pulseFor returns the pulse for a key, and creates the pulse if needed.
func pulseFor[K comparable](all map[K]*Pulse, of K) *Pulse {
	if all[of] == nil {
		all[of] = &Pulse{}
	}
	return all[of]
}

// Watched describes the watch events and leases in the whole window of a load with faults.
type Watched struct {
	Events *Pulse // milliseconds in which events arrived
	// Latest, Passed, MadeUp, Ended and Again are the values from FineWatch, for each slot of the
	// window.
	Latest, Passed, MadeUp, Ended, Again []uint32
	ShowsPassed                          bool // set if FineWatch.ShowsPassed is set in any second
	Late                                 []LateInWindow
	Leases                               map[int64]LeaseGone // by lease
}

// LateInWindow is like LateEvents, but Slot is the number of the slot in the window.
type LateInWindow struct {
	Slot, Class int
	Count       uint32
}

// LeaseGone describes a lease that has ended. At is the time at which the end was first noticed, in
// milliseconds since the start of the window.
type LeaseGone struct {
	At    int
	Early bool
}

// add adds one second of the window. Each second must be added only once.
func (w *Watched) add(second int, f *FineWatch) {
	for _, counts := range []*[]uint32{&w.Latest, &w.Passed, &w.MadeUp, &w.Ended, &w.Again} {
		if n := (second + 1) * Slots; len(*counts) < n {
			*counts = append(*counts, make([]uint32, n-len(*counts))...)
		}
	}
	if f == nil {
		w.Events.add(second, &[16]uint64{})
		return
	}
	w.Events.add(second, &f.Alive)
	w.ShowsPassed = w.ShowsPassed || f.ShowsPassed
	at := second * Slots
	copy(w.Latest[at:], f.Latest[:])
	copy(w.Passed[at:], f.Passed[:])
	copy(w.MadeUp[at:], f.MadeUp[:])
	copy(w.Ended[at:], f.Ended[:])
	copy(w.Again[at:], f.Again[:])
	for _, l := range f.Late {
		w.Late = append(w.Late, LateInWindow{at + int(l.Slot), int(l.Class), l.Count})
	}
	for _, e := range f.Leases {
		one, there := w.Leases[e.Lease]
		if now := 1000*second + int(e.At); !there || now < one.At {
			one.At = now
		}
		one.Early = one.Early || e.Early
		w.Leases[e.Lease] = one
	}
}

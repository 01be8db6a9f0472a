package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// WindowTimeline describes the course of the whole window of a load with faults.
type WindowTimeline struct {
	// Completed contains the milliseconds in which at least one operation succeeded.
	Completed Pulse
	// Done contains SlotDetail.Done for each slot of the window.
	Done []uint32
	// Failures contains the failures of all operations that were due in the window.
	Failures []WindowFailures
	// Members contains one pulse of the successes for each member that replied (0 if unknown).
	// Operations contains one pulse for each kind of operation.
	Members    map[uint64]*Pulse
	Operations map[OperationKey]*Pulse
	// P99 contains, for each second of the window, the p99 of the response times of the operations
	// that were due in it.
	P99 []Figure
	// Clients is the number of clients in a closed loop. Waits contains the clients' times without
	// a success (SlotDetail.Waits), in milliseconds since the start of the window. WaitsTruncated
	// is set if some of these times were dropped.
	Clients        int
	Waits          []ClientGap
	WaitsTruncated bool
	// WatchTimeline is nil if watchers received no events and the load noticed no ended lease.
	WatchTimeline *WatchTimeline
}

// WindowFailures is like Failures. Due and End are numbers of slots in the window. End can be after
// the window.
type WindowFailures struct {
	Due, End             int
	Definite, Indefinite uint64
}

// ClientGap is a period in which a single client had no success.
type ClientGap struct {
	Client uint32
	Gap
}

// OperationKey is a kind of operation and its consistency.
type OperationKey struct {
	Kind        kv.Kind
	Consistency kv.Consistency
}

// Add adds one second of the window. Each second must be added only once.
func (c *WindowTimeline) Add(s *WindowSecond) {
	for len(c.P99) <= s.Index {
		c.P99 = append(c.P99, Figure{})
		c.Done = append(c.Done, make([]uint32, Slots)...)
	}
	c.P99[s.Index] = s.p99()
	c.Completed.add(s.Index, &s.Completed)
	for _, p := range c.Members {
		p.add(s.Index, &Milliseconds{}) // extend p to the length of the other pulses
	}
	for _, p := range c.Operations {
		p.add(s.Index, &Milliseconds{})
	}
	c.Clients = max(c.Clients, s.Clients)
	c.addWatchTimeline(s)
	if s.SlotDetail == nil {
		return
	}
	for _, w := range s.Waits {
		to := 1000*s.Index + int(w.End)
		c.Waits = append(c.Waits, ClientGap{w.Client, Gap{to - int(w.Length), to}})
	}
	c.WaitsTruncated = c.WaitsTruncated || s.WaitsTruncated
	at := s.Index * Slots
	copy(c.Done[at:], s.Done[:])
	for _, f := range s.Failures {
		c.Failures = append(c.Failures, WindowFailures{Due: at + int(f.Slot), End: at + int(f.End), Definite: uint64(f.Definite), Indefinite: uint64(f.Indefinite)})
	}
	if c.Members == nil {
		c.Members, c.Operations = map[uint64]*Pulse{}, map[OperationKey]*Pulse{}
	}
	for i := range s.Groups {
		g := &s.Groups[i]
		member := g.Member
		if c.Members[member] == nil && len(c.Members) >= maxGroups {
			member = 0
		}
		pulseFor(c.Members, member).add(s.Index, &g.Alive)
		pulseFor(c.Operations, OperationKey{g.Kind, g.Consistency}).add(s.Index, &g.Alive)
	}
}

// EstimateMemory returns approximately how much memory the timeline needs, in bytes.
func (c *WindowTimeline) EstimateMemory() int {
	perSecond := 4*Slots + 24 + 125*(1+len(c.Members)+len(c.Operations))
	lists := 32*len(c.Failures) + 24*len(c.Waits)
	if w := c.WatchTimeline; w != nil {
		perSecond += 5*4*Slots + 125
		lists += 24*len(w.Late) + 32*len(w.Leases)
	}
	return perSecond*len(c.P99) + lists
}

// addWatchTimeline adds the watch events and the ended leases of one second.
func (c *WindowTimeline) addWatchTimeline(s *WindowSecond) {
	var f *SlotWatchDetail
	if s.SlotDetail != nil {
		f = s.Watch
	}
	if c.WatchTimeline == nil && f != nil {
		c.WatchTimeline = &WatchTimeline{Events: &Pulse{}, Leases: map[int64]WindowLeaseEnd{}}
	}
	if c.WatchTimeline != nil {
		c.WatchTimeline.add(s.Index, f)
	}
}

// pulseFor returns the pulse for a key, and creates the pulse if needed.
func pulseFor[K comparable](all map[K]*Pulse, key K) *Pulse {
	if all[key] == nil {
		all[key] = &Pulse{}
	}
	return all[key]
}

// WatchTimeline describes the watch events and leases in the whole window of a load with faults.
type WatchTimeline struct {
	Events *Pulse // milliseconds in which events arrived
	// MaxDelays, NewlyMissing, NoLongerMissing, Ended and Resubscribed are the values from
	// SlotWatchDetail, for each slot of the window.
	MaxDelays, NewlyMissing, NoLongerMissing, Ended, Resubscribed []uint32
	ShowsMissing                                                  bool // set if SlotWatchDetail.ShowsMissing is set in any second
	Late                                                          []WindowLateEvents
	Leases                                                        map[int64]WindowLeaseEnd // by lease
}

// WindowLateEvents is like LateEvents, but Slot is the number of the slot in the window.
type WindowLateEvents struct {
	Slot, Class int
	Count       uint32
}

// WindowLeaseEnd describes a lease that has ended. At is the time at which the end was first
// noticed, in milliseconds since the start of the window.
type WindowLeaseEnd struct {
	At    int
	Early bool
}

// add adds one second of the window. Each second must be added only once.
func (w *WatchTimeline) add(second int, f *SlotWatchDetail) {
	for _, counts := range []*[]uint32{&w.MaxDelays, &w.NewlyMissing, &w.NoLongerMissing, &w.Ended, &w.Resubscribed} {
		if n := (second + 1) * Slots; len(*counts) < n {
			*counts = append(*counts, make([]uint32, n-len(*counts))...)
		}
	}
	if f == nil {
		w.Events.add(second, &Milliseconds{})
		return
	}
	w.Events.add(second, &f.Alive)
	w.ShowsMissing = w.ShowsMissing || f.ShowsMissing
	at := second * Slots
	copy(w.MaxDelays[at:], f.MaxDelay[:])
	copy(w.NewlyMissing[at:], f.NewlyMissing[:])
	copy(w.NoLongerMissing[at:], f.NoLongerMissing[:])
	copy(w.Ended[at:], f.Ended[:])
	copy(w.Resubscribed[at:], f.Resubscribed[:])
	for _, l := range f.Late {
		w.Late = append(w.Late, WindowLateEvents{at + int(l.Slot), int(l.Class), l.Count})
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

// SumBetween returns the sum of the counts with an index in [from, to). An index is a second or a
// slot.
func SumBetween[N uint32 | uint64](counts []N, from, to int) (n uint64) {
	for i := max(from, 0); i < min(to, len(counts)); i++ {
		n += uint64(counts[i])
	}
	return n
}

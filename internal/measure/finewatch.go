package measure

import (
	"math/bits"
	"slices"
)

// FineWatch is what watchers were told, and which leases were found to have ended, in a
// second of a load with faults, by when that came.
type FineWatch struct {
	Alive [16]uint64 // the milliseconds in which an event came, as in Second
	// Latest is the longest time from when a write was sent until its event came, of the
	// events that came in each slot, in milliseconds, rounded up; 0 for none.
	Latest [Slots]uint32
	// Late are the events that came LeastWait or more after their write was sent.
	Late []LateEvents
	// Passed are the events of a key that were not seen when a later one came, and Made
	// up those of them that came after all.
	Passed, MadeUp [Slots]uint32
	// ShowsPassed says that events came of watchers whose later events show that earlier
	// ones did not. Of others Passed is 0 whatever was lost.
	ShowsPassed bool
	// Ended are the watchers that the store ended for good, and Again those that had to
	// be created again.
	Ended, Again [Slots]uint32
	// Leases are those that were found to have ended, as far as there was room for them.
	Leases []LeaseEnd
}

// LateEvents is how many events came so late in one slot.
type LateEvents struct {
	Slot  uint8
	Class uint8 // LateClass
	Count uint32
}

// LeaseEnd is a lease that the store said is gone.
type LeaseEnd struct {
	Lease int64
	At    uint32 // milliseconds after the second began, to 999
	// Early says that it had been kept alive for longer.
	Early bool
}

const (
	lateClasses   = 16 // the last is of 55 minutes and more
	mostLeaseEnds = 1 << 13
)

// LateClass says how late an event was by so many milliseconds, of LeastWait at least:
// the number of times that LeastWait can be doubled and is not above that.
func LateClass(ms int64) int {
	return min(bits.Len64(uint64(max(ms, LeastWait)/LeastWait))-1, lateClasses-1) // #nosec G115 -- above 0
}

// watch is what watchers were told in the second, which is there from now on.
func (f *Fine) watch() *FineWatch {
	if f.Watch == nil {
		f.Watch = &FineWatch{}
	}
	return f.Watch
}

func msAndSlot(at int64) (ms int64, slot int) {
	ms = min(max(at/1_000_000, 0), 999)
	return ms, int(ms / SlotLength)
}

// Told takes a watch event that came so many nanoseconds after the second began. after is
// how long after its write was sent that was, in nanoseconds; negative where nobody knows.
// at is below 0 of an event that came in an earlier second, which has it, and whose write
// is known only now: its lateness counts at the beginning of this one.
func (f *Fine) Told(after, at int64) {
	w := f.watch()
	ms, slot := msAndSlot(at)
	if at >= 0 {
		w.Alive[ms>>6] |= 1 << (ms & 63)
	}
	if after < 0 {
		return
	}
	after = min((after+999_999)/1_000_000, 1<<32-1)
	w.Latest[slot] = max(w.Latest[slot], uint32(after)) // #nosec G115 -- bounded
	if after >= LeastWait {
		w.late(LateEvents{uint8(slot), uint8(LateClass(after)), 1}) // #nosec G115 -- small numbers
	}
}

// late adds some in their place: by slot, and then by class.
func (w *FineWatch) late(some LateEvents) {
	at := len(w.Late)
	for ; at > 0; at-- {
		switch l := &w.Late[at-1]; {
		case l.Slot == some.Slot && l.Class == some.Class:
			l.Count += some.Count
			return
		case l.Slot > some.Slot, l.Slot == some.Slot && l.Class > some.Class:
			continue
		}
		break
	}
	w.Late = slices.Insert(w.Late, at, some)
}

// Missed takes that an event showed that so many were passed over, and so many came after
// all. Of a watcher whose events do not show it, it is not called.
func (f *Fine) Missed(passed, madeUp uint32, at int64) {
	_, slot := msAndSlot(at)
	w := f.watch()
	w.ShowsPassed = true
	w.Passed[slot] += passed
	w.MadeUp[slot] += madeUp
}

// WatcherEnded takes a watcher that the store ended, and that is created again or not.
func (f *Fine) WatcherEnded(again bool, at int64) {
	_, slot := msAndSlot(at)
	if w := f.watch(); again {
		w.Again[slot]++
	} else {
		w.Ended[slot]++
	}
}

// LeaseEnded takes a lease that was found to have ended.
func (f *Fine) LeaseEnded(lease int64, early bool, at int64) {
	ms, _ := msAndSlot(at)
	f.watch().leaseEnded(LeaseEnd{lease, uint32(ms), early}) // #nosec G115 -- below 1000
}

func (w *FineWatch) leaseEnded(e LeaseEnd) {
	at, there := slices.BinarySearchFunc(w.Leases, e, func(a, b LeaseEnd) int {
		if a.Lease != b.Lease {
			return map[bool]int{true: -1, false: 1}[a.Lease < b.Lease]
		}
		return 0
	})
	switch {
	case there: // another loop found it, too
		w.Leases[at].At, w.Leases[at].Early = min(w.Leases[at].At, e.At), w.Leases[at].Early || e.Early
	case len(w.Leases) < mostLeaseEnds:
		w.Leases = slices.Insert(w.Leases, at, e)
	}
}

// merge adds another's, which stays as it is.
func (w *FineWatch) merge(o *FineWatch) {
	for i, word := range o.Alive {
		w.Alive[i] |= word
	}
	for i := range Slots {
		w.Latest[i] = max(w.Latest[i], o.Latest[i])
		w.Passed[i] += o.Passed[i]
		w.MadeUp[i] += o.MadeUp[i]
		w.Ended[i] += o.Ended[i]
		w.Again[i] += o.Again[i]
	}
	w.ShowsPassed = w.ShowsPassed || o.ShowsPassed
	for _, l := range o.Late {
		w.late(l)
	}
	for _, e := range o.Leases {
		w.leaseEnded(e)
	}
}

func (c *coder) fineWatch(at **FineWatch) {
	there := uint64(0)
	if *at != nil {
		there = 1
	}
	c.number(&there, 1)
	if there == 0 || c.err != nil {
		return
	}
	if c.reading {
		*at = &FineWatch{}
	}
	w := *at
	for i := range w.Alive {
		c.number(&w.Alive[i], anyNumber)
	}
	for _, counts := range []*[Slots]uint32{&w.Latest, &w.Passed, &w.MadeUp, &w.Ended, &w.Again} {
		for i := range counts {
			small(c, 1<<32-1, &counts[i])
		}
	}
	shows := uint64(0)
	if w.ShowsPassed {
		shows = 1
	}
	c.number(&shows, 1)
	w.ShowsPassed = shows == 1
	n := uint64(len(w.Late))
	c.number(&n, Slots*lateClasses)
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			w.Late = append(w.Late, LateEvents{})
		}
		l := &w.Late[i]
		small(c, Slots-1, &l.Slot)
		small(c, lateClasses-1, &l.Class)
		small(c, 1<<32-1, &l.Count)
	}
	c.leaseEnds(w)
}

func (c *coder) leaseEnds(w *FineWatch) {
	n := uint64(len(w.Leases))
	c.number(&n, mostLeaseEnds)
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			w.Leases = append(w.Leases, LeaseEnd{})
		}
		e := &w.Leases[i]
		early := uint64(0)
		if e.Early {
			early = 1
		}
		lease := uint64(e.Lease) // #nosec G115 -- and back again
		c.number(&lease, anyNumber)
		small(c, 999, &e.At)
		c.number(&early, 1)
		e.Lease, e.Early = int64(lease), early == 1 // #nosec G115 -- as above
	}
}

// Watched is how watchers and leases went through a whole window of a load with faults.
type Watched struct {
	Events *Pulse // in which milliseconds events came
	// Latest, Passed, MadeUp, Ended and Again are those of FineWatch, by slot of the window.
	Latest, Passed, MadeUp, Ended, Again []uint32
	ShowsPassed                          bool // in any second
	Late                                 []LateInWindow
	Leases                               map[int64]LeaseGone // by the lease
}

// LateInWindow is LateEvents, by slot of the window.
type LateInWindow struct {
	Slot, Class int
	Count       uint32
}

// LeaseGone is when a lease was first found to have ended, in milliseconds of the window.
type LeaseGone struct {
	At    int
	Early bool
}

// add adds a second of the window, of which no part was added before.
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

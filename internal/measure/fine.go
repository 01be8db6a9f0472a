package measure

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// A second of a load with faults is known in slots.
const (
	Slots      = 100 // of a second
	SlotLength = 10  // milliseconds
)

// mostGroups bounds the groups of a second, whose members a server names.
const mostGroups = 64

// Fine is how a second of a load with faults went within, by when operations ended.
type Fine struct {
	// Done are successes; Definite are errors of operations that did not happen, reads
	// among them, and Indefinite those of writes that may have.
	Done, Definite, Indefinite [Slots]uint32
	Groups                     []Group
	// Waits are the times without a success of single clients of a closed loop that ended
	// in this second, of LeastWait at least, by client. Crowded says that there were more
	// than are kept.
	Waits   []Wait
	Crowded bool
	// Watch is nil where watchers were told nothing and no lease was found to have ended.
	Watch *FineWatch
}

// LeastWait is the shortest time without a success of a client that is kept, and the
// shortest by which an event is late, in milliseconds, and mostWaits how many of a second are.
const (
	LeastWait = 100
	mostWaits = 1 << 13
)

// Wait is a time without a success of one client.
type Wait struct {
	Client uint32 // its number among all of the load
	At     uint32 // when it ended, in milliseconds after the second began: to 1000, where the load ended
	Length uint32 // in milliseconds
}

// Group is the successes of one operation that one member answered.
type Group struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Member      uint64     // 0: it is not known
	Alive       [16]uint64 // as that of Second
}

// Note takes an operation that ended so many nanoseconds after the second began.
func (f *Fine) Note(s *Series, o kv.Outcome, at int64) {
	ms := min(max(at/1_000_000, 0), 999)
	slot := ms / SlotLength
	switch {
	case !o.Failed():
		f.Done[slot]++
		g := f.group(Group{Kind: s.Kind, Consistency: s.Consistency, Member: s.Member})
		g.Alive[ms>>6] |= 1 << (ms & 63)
	case o.Definite() || !s.Kind.Writes():
		f.Definite[slot]++
	default:
		f.Indefinite[slot]++
	}
}

// Waited takes a client that had no success for so many nanoseconds, until so many after
// the second began.
func (f *Fine) Waited(client uint32, length, at int64) {
	if length >= LeastWait*1_000_000 {
		f.wait(Wait{client, uint32(min(max(at/1_000_000, 0), 1000)), uint32(min(length/1_000_000, 1<<32-1))}) // #nosec G115 -- bounded
	}
}

// wait adds one in its place, so that what is merged is the same in any order.
func (f *Fine) wait(w Wait) {
	if len(f.Waits) >= mostWaits {
		f.Crowded = true
		return
	}
	at, _ := slices.BinarySearchFunc(f.Waits, w, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.At, b.At), cmp.Compare(a.Length, b.Length))
	})
	f.Waits = slices.Insert(f.Waits, at, w)
}

// group is the group like one; of those beyond mostGroups, that of no member. Groups
// are in an order, so that what is merged is the same in whichever order it came.
func (f *Fine) group(like Group) *Group {
	at := 0
	for ; at < len(f.Groups); at++ {
		g := &f.Groups[at]
		if c := cmp.Or(cmp.Compare(g.Member, like.Member), cmp.Compare(g.Kind, like.Kind), cmp.Compare(g.Consistency, like.Consistency)); c == 0 {
			return g
		} else if c > 0 {
			break
		}
	}
	if len(f.Groups) >= mostGroups && like.Member != 0 {
		like.Member = 0
		return f.group(like)
	}
	like.Alive = [16]uint64{}
	f.Groups = slices.Insert(f.Groups, at, like)
	return &f.Groups[at]
}

// merge adds another's, which stays as it is.
func (f *Fine) merge(o *Fine) {
	for i := range f.Done {
		f.Done[i] += o.Done[i]
		f.Definite[i] += o.Definite[i]
		f.Indefinite[i] += o.Indefinite[i]
	}
	for i := range o.Groups {
		to := f.group(o.Groups[i])
		for k, word := range o.Groups[i].Alive {
			to.Alive[k] |= word
		}
	}
	for _, w := range o.Waits {
		f.wait(w)
	}
	f.Crowded = f.Crowded || o.Crowded
	if o.Watch != nil {
		f.watch().merge(o.Watch)
	}
}

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

func (c *coder) fine(at **Fine) {
	there := uint64(0)
	if *at != nil {
		there = 1
	}
	c.number(&there, 1)
	if there == 0 || c.err != nil {
		return
	}
	if c.reading {
		*at = &Fine{}
	}
	f := *at
	for _, counts := range []*[Slots]uint32{&f.Done, &f.Definite, &f.Indefinite} {
		for i := range counts {
			small(c, 1<<32-1, &counts[i])
		}
	}
	n := uint64(len(f.Groups))
	c.number(&n, mostGroups+uint64(kv.NumKinds)*uint64(kv.NumConsistencies))
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			f.Groups = append(f.Groups, Group{})
		}
		g := &f.Groups[i]
		small(c, uint64(kv.NumKinds-1), &g.Kind)
		small(c, uint64(kv.NumConsistencies-1), &g.Consistency)
		c.number(&g.Member, anyNumber)
		for k := range g.Alive {
			c.number(&g.Alive[k], anyNumber)
		}
	}
	c.waits(f)
	c.fineWatch(&f.Watch)
}

func (c *coder) waits(f *Fine) {
	n, crowded := uint64(len(f.Waits)), uint64(0)
	if f.Crowded {
		crowded = 1
	}
	c.number(&n, mostWaits)
	c.number(&crowded, 1)
	f.Crowded = crowded == 1
	for i := range int(n) {
		if c.reading {
			if c.err != nil {
				return
			}
			f.Waits = append(f.Waits, Wait{})
		}
		w := &f.Waits[i]
		small(c, 1<<32-1, &w.Client, &w.Length)
		small(c, 1000, &w.At)
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

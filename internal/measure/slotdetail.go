package measure

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// In a load with faults, each second is divided into slots.
const (
	Slots      = 100 // per second
	SlotLength = 10  // in milliseconds
)

// maxGroups limits the number of groups per second. A limit is needed because a faulty server can
// return any number of member IDs.
const maxGroups = 64

// SlotDetail contains the times at which operations succeeded within one second of a load with
// faults, and the failures of the operations that were due in this second.
//
// Example: an operation that succeeds 234 ms after the start of the second is counted in Done[23].
// It also sets bit 234 of Alive in its group.
type SlotDetail struct {
	Done   [Slots]uint32 `json:"successes,omitzero"`
	Groups []Group       `json:"groups,omitempty"`
	// Failures are sorted by Slot and End.
	Failures []Failures `json:"failures,omitempty"`
	// Waits lists the periods of at least MinWait in which a client of a closed loop had no
	// success, if they ended in this second. WaitsTruncated is set if the number of such periods
	// exceeded maxWaits.
	Waits          []Wait `json:"waits,omitempty"`
	WaitsTruncated bool   `json:"waits_truncated,omitempty"`
	// Watch is nil if watchers received no events and the load noticed no ended lease.
	Watch *SlotWatchDetail `json:"watch,omitempty"`
}

// MinWait is the minimum length of a Wait, and the minimum delay of a late event, both in
// milliseconds. maxWaits is the maximum number of Waits that are recorded per second.
const (
	MinWait  = 100
	maxWaits = 1 << 13
)

// maxFailures is the maximum number of Failures that are recorded per second. If a second has more
// pairs of slots, some of its failures count in the preceding pair.
const maxFailures = 1 << 13

// Failures counts the operations that were due in the slot Slot and failed in the slot End.
// Indefinite counts the writes among them that the store may have executed. Definite counts all
// others, including reads.
type Failures struct {
	Slot uint8 `json:"slot"` // slot of this second in which the operations were due
	// End is the slot in which the operations failed. It is counted from the start of this second,
	// but may be in a later second.
	End        uint32 `json:"end_slot"`
	Definite   uint32 `json:"definite,omitempty"`
	Indefinite uint32 `json:"indefinite,omitempty"`
}

// Wait is a period in which a single client had no success.
type Wait struct {
	Client uint32 `json:"client"` // number of the client in the whole load
	// End is the end of the wait, in milliseconds since the start of the second. It is 1000 if the
	// wait ended with the load.
	End    uint32 `json:"end_ms"`
	Length uint32 `json:"length_ms"` // length in milliseconds
}

// Group contains the times at which operations of one kind and consistency succeeded on one member.
type Group struct {
	Kind        kv.Kind
	Consistency kv.Consistency
	Member      uint64 // 0 if unknown
	Alive       Milliseconds
}

// CountSuccess counts an operation that succeeded `at` nanoseconds after the start of the second.
func (f *SlotDetail) CountSuccess(s *Series, at int64) {
	slot := slotAt(at)
	f.Done[slot]++
	g := f.group(Group{Kind: s.Kind, Consistency: s.Consistency, Member: s.Member})
	g.Alive.Add(at)
}

// CountFailure counts an operation that was due in this second and failed. `due` and `end` are the
// times at which it was due and failed, in nanoseconds since the start of the second.
func (f *SlotDetail) CountFailure(k kv.Kind, o kv.Outcome, due, end int64) {
	slot := slotAt(due)
	failed := Failures{Slot: uint8(slot), End: uint32(min(max(end/(1_000_000*SlotLength), int64(slot)), math.MaxUint32))} // #nosec G115 -- bounded
	if o.Definite() || !k.Writes() {
		failed.Definite = 1
	} else {
		failed.Indefinite = 1
	}
	f.addFailures(failed)
}

// addFailures adds failures. It keeps the entries sorted, so that the result does not depend on the
// order in which records are merged, unless there are more than maxFailures.
func (f *SlotDetail) addFailures(added Failures) {
	at, exists := slices.BinarySearchFunc(f.Failures, added, func(a, b Failures) int {
		return cmp.Or(cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.End, b.End))
	})
	if !exists && len(f.Failures) < maxFailures {
		f.Failures = slices.Insert(f.Failures, at, added)
		return
	}
	if !exists {
		at = max(at-1, 0)
	}
	f.Failures[at].Definite += added.Definite
	f.Failures[at].Indefinite += added.Indefinite
}

// AddWait records a period of `length` nanoseconds in which one client had no success, and which
// ended `at` nanoseconds after the start of the second. Waits shorter than MinWait are ignored.
func (f *SlotDetail) AddWait(client uint32, length, at int64) {
	if length >= MinWait*1_000_000 {
		f.insertWait(Wait{client, uint32(min(max(at/1_000_000, 0), 1000)), uint32(min(length/1_000_000, 1<<32-1))}) // #nosec G115 -- bounded
	}
}

// insertWait inserts a wait. It keeps the waits sorted, so that the result does not depend on the
// order in which records are merged.
func (f *SlotDetail) insertWait(w Wait) {
	if len(f.Waits) >= maxWaits {
		f.WaitsTruncated = true
		return
	}
	at, _ := slices.BinarySearchFunc(f.Waits, w, func(a, b Wait) int {
		return cmp.Or(cmp.Compare(a.Client, b.Client), cmp.Compare(a.End, b.End), cmp.Compare(a.Length, b.Length))
	})
	f.Waits = slices.Insert(f.Waits, at, w)
}

// group returns the group with the same operation and member as `key`, and creates the group if
// needed. If maxGroups groups exist already, it returns the group for an unknown member instead.
// It keeps the groups sorted, so that the result does not depend on the order in which records are
// merged.
func (f *SlotDetail) group(key Group) *Group {
	at := 0
	for ; at < len(f.Groups); at++ {
		g := &f.Groups[at]
		if c := cmp.Or(cmp.Compare(g.Member, key.Member), cmp.Compare(g.Kind, key.Kind), cmp.Compare(g.Consistency, key.Consistency)); c == 0 {
			return g
		} else if c > 0 {
			break
		}
	}
	if len(f.Groups) >= maxGroups && key.Member != 0 {
		key.Member = 0
		return f.group(key)
	}
	key.Alive = Milliseconds{}
	f.Groups = slices.Insert(f.Groups, at, key)
	return &f.Groups[at]
}

// merge adds o to f. It does not change o.
func (f *SlotDetail) merge(o *SlotDetail) {
	for i := range f.Done {
		f.Done[i] += o.Done[i]
	}
	for _, failed := range o.Failures {
		f.addFailures(failed)
	}
	for i := range o.Groups {
		to := f.group(o.Groups[i])
		to.Alive.merge(&o.Groups[i].Alive)
	}
	for _, w := range o.Waits {
		f.insertWait(w)
	}
	f.WaitsTruncated = f.WaitsTruncated || o.WaitsTruncated
	if o.Watch != nil {
		f.watch().merge(o.Watch)
	}
}

// SlotWatchDetail contains the times at which, within one second of a load with faults, watch
// events arrived and the load noticed ended leases.
type SlotWatchDetail struct {
	Alive Milliseconds `json:"arrivals"` // milliseconds in which an event arrived
	// MaxDelay contains, for each slot, the longest time from sending a write to the arrival of its
	// event, over the events that arrived in the slot. The time is in milliseconds, rounded up. It
	// is 0 if no event arrived.
	MaxDelay [Slots]uint32 `json:"max_delay_ms,omitzero"`
	// Late counts the events that arrived at least MinWait after their write was sent.
	Late []LateEvents `json:"late,omitempty"`
	// NewlyMissing counts the events of a key that had not arrived when a later event of the same
	// key arrived. NoLongerMissing counts how many of these events arrived after all.
	NewlyMissing    [Slots]uint32 `json:"newly_missing,omitzero"`
	NoLongerMissing [Slots]uint32 `json:"no_longer_missing,omitzero"`
	// ShowsMissing is set if the events of some watchers can show that earlier events are missing.
	// Otherwise NewlyMissing is 0, even if events were lost.
	ShowsMissing bool `json:"shows_missing,omitempty"`
	// Ended counts the watchers that the store ended permanently. Resubscribed counts the watchers
	// that ended and that the load then re-created.
	Ended        [Slots]uint32 `json:"ended_watchers,omitzero"`
	Resubscribed [Slots]uint32 `json:"resubscribed,omitzero"`
	// Leases lists the ended leases that the load noticed, up to maxLeaseEnds.
	Leases []LeaseEnd `json:"leases,omitempty"`
}

// LateEvents is the number of events in one slot whose lateness is in one class.
type LateEvents struct {
	Slot  uint8  `json:"slot"`
	Class uint8  `json:"class"` // see LateClass
	Count uint32 `json:"count"`
}

// LeaseEnd describes a lease that has ended according to the store.
type LeaseEnd struct {
	Lease int64  `json:"lease,string"`
	At    uint32 `json:"at_ms"` // milliseconds since the start of the second, at most 999
	// Early is set if the lease ended earlier than its keep-alives should have allowed.
	Early bool `json:"early,omitempty"`
}

const (
	lateClasses  = 16 // the last class is for 55 minutes and more
	maxLeaseEnds = 1 << 13
)

// LateClass returns the class of an event that was `ms` milliseconds late. `ms` is at least
// MinWait. Class 0 is 100 to 199 ms, class 1 is 200 to 399 ms, class 2 is 400 to 799 ms, and so
// on.
func LateClass(ms int64) int {
	return min(bits.Len64(uint64(max(ms, MinWait)/MinWait))-1, lateClasses-1) // #nosec G115 -- above 0
}

// watch returns the record of watch events, and creates the record if needed.
func (f *SlotDetail) watch() *SlotWatchDetail {
	if f.Watch == nil {
		f.Watch = &SlotWatchDetail{}
	}
	return f.Watch
}

// slotAt returns the slot that contains a time in nanoseconds since the start of the second.
func slotAt(at int64) int { return int(millisecondAt(at) / SlotLength) }

// CountEvent counts a watch event that arrived `at` nanoseconds after the start of the second.
// `delay` is the time in nanoseconds from sending the write to the arrival of its event, or
// negative if unknown. `at` is negative if the event was already counted in an earlier second and
// its write became known only now. In this case, the lateness is counted at the start of this
// second.
func (f *SlotDetail) CountEvent(delay, at int64) {
	w := f.watch()
	slot := slotAt(at)
	if at >= 0 {
		w.Alive.Add(at)
	}
	if delay < 0 {
		return
	}
	delay = min((delay+999_999)/1_000_000, 1<<32-1)
	w.MaxDelay[slot] = max(w.MaxDelay[slot], uint32(delay)) // #nosec G115 -- bounded
	if delay >= MinWait {
		w.addLate(LateEvents{uint8(slot), uint8(LateClass(delay)), 1}) // #nosec G115 -- small numbers
	}
}

// addLate adds late events. It keeps the entries sorted by slot and class.
func (w *SlotWatchDetail) addLate(added LateEvents) {
	at := len(w.Late)
	for ; at > 0; at-- {
		switch l := &w.Late[at-1]; {
		case l.Slot == added.Slot && l.Class == added.Class:
			l.Count += added.Count
			return
		case l.Slot > added.Slot, l.Slot == added.Slot && l.Class > added.Class:
			continue
		}
		break
	}
	w.Late = slices.Insert(w.Late, at, added)
}

// CountMissing adds what an event showed about earlier events: `newlyMissing` earlier events were
// missing, and `noLongerMissing` missing events arrived after all. It is called only for watchers
// whose events can show this.
func (f *SlotDetail) CountMissing(newlyMissing, noLongerMissing uint32, at int64) {
	slot := slotAt(at)
	w := f.watch()
	w.ShowsMissing = true
	w.NewlyMissing[slot] += newlyMissing
	w.NoLongerMissing[slot] += noLongerMissing
}

// CountWatcherEnd counts a watcher that ended at the given time. `resubscribed` is set if the load
// re-creates the watcher.
func (f *SlotDetail) CountWatcherEnd(resubscribed bool, at int64) {
	slot := slotAt(at)
	if w := f.watch(); resubscribed {
		w.Resubscribed[slot]++
	} else {
		w.Ended[slot]++
	}
}

// AddLeaseEnd must be called when the load notices the end of a lease.
func (f *SlotDetail) AddLeaseEnd(lease int64, early bool, at int64) {
	f.watch().insertLeaseEnd(LeaseEnd{lease, uint32(millisecondAt(at)), early}) // #nosec G115 -- below 1000
}

// insertLeaseEnd adds the end of a lease. It keeps the entries sorted by lease.
func (w *SlotWatchDetail) insertLeaseEnd(e LeaseEnd) {
	at, exists := slices.BinarySearchFunc(w.Leases, e, func(a, b LeaseEnd) int {
		if a.Lease != b.Lease {
			return map[bool]int{true: -1, false: 1}[a.Lease < b.Lease]
		}
		return 0
	})
	switch {
	case exists: // another event loop has also noticed the end
		w.Leases[at].At, w.Leases[at].Early = min(w.Leases[at].At, e.At), w.Leases[at].Early || e.Early
	case len(w.Leases) < maxLeaseEnds:
		w.Leases = slices.Insert(w.Leases, at, e)
	}
}

// merge adds o to w. It does not change o.
func (w *SlotWatchDetail) merge(o *SlotWatchDetail) {
	w.Alive.merge(&o.Alive)
	for i := range Slots {
		w.MaxDelay[i] = max(w.MaxDelay[i], o.MaxDelay[i])
		w.NewlyMissing[i] += o.NewlyMissing[i]
		w.NoLongerMissing[i] += o.NoLongerMissing[i]
		w.Ended[i] += o.Ended[i]
		w.Resubscribed[i] += o.Resubscribed[i]
	}
	w.ShowsMissing = w.ShowsMissing || o.ShowsMissing
	for _, l := range o.Late {
		w.addLate(l)
	}
	for _, e := range o.Leases {
		w.insertLeaseEnd(e)
	}
}

// slotDetail encodes or decodes the detailed record of a second.
func (c *coder) slotDetail(detail **SlotDetail) {
	if !codePresence(c, detail) {
		return
	}
	f := *detail
	for i := range f.Done {
		codeSmall(c, 1<<32-1, &f.Done[i])
	}
	codeList(c, &f.Failures, maxFailures, func(failed *Failures) {
		codeSmall(c, Slots-1, &failed.Slot)
		codeSmall(c, 1<<32-1, &failed.End, &failed.Definite, &failed.Indefinite)
	})
	codeList(c, &f.Groups, maxGroups+uint64(kv.NumKinds)*uint64(kv.NumConsistencies), func(g *Group) {
		codeSmall(c, uint64(kv.NumKinds-1), &g.Kind)
		codeSmall(c, uint64(kv.NumConsistencies-1), &g.Consistency)
		c.number(&g.Member, noLimit)
		for k := range g.Alive {
			c.number(&g.Alive[k], noLimit)
		}
	})
	c.waits(f)
	c.slotWatchDetail(&f.Watch)
}

// waits encodes or decodes the fields Waits and WaitsTruncated.
func (c *coder) waits(f *SlotDetail) {
	n := uint64(len(f.Waits))
	c.number(&n, maxWaits)
	c.flag(&f.WaitsTruncated)
	codeItems(c, &f.Waits, n, func(w *Wait) {
		codeSmall(c, 1<<32-1, &w.Client, &w.Length)
		codeSmall(c, 1000, &w.End)
	})
}

// slotWatchDetail encodes or decodes the record of watch events.
func (c *coder) slotWatchDetail(detail **SlotWatchDetail) {
	if !codePresence(c, detail) {
		return
	}
	w := *detail
	for i := range w.Alive {
		c.number(&w.Alive[i], noLimit)
	}
	for _, counts := range []*[Slots]uint32{&w.MaxDelay, &w.NewlyMissing, &w.NoLongerMissing, &w.Ended, &w.Resubscribed} {
		for i := range counts {
			codeSmall(c, 1<<32-1, &counts[i])
		}
	}
	c.flag(&w.ShowsMissing)
	codeList(c, &w.Late, Slots*lateClasses, func(l *LateEvents) {
		codeSmall(c, Slots-1, &l.Slot)
		codeSmall(c, lateClasses-1, &l.Class)
		codeSmall(c, 1<<32-1, &l.Count)
	})
	codeList(c, &w.Leases, maxLeaseEnds, func(e *LeaseEnd) {
		codeSmall(c, noLimit, &e.Lease)
		codeSmall(c, 999, &e.At)
		c.flag(&e.Early)
	})
}

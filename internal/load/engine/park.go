package engine

// A loop occupies one of Go's processors (P) even while it waits, and Go's monitor thread
// interrupts it a hundred times a second. A loop that has no operation in flight, and none
// due soon, therefore parks: its goroutine blocks like any other, so that a program whose
// loops are all parked uses no CPU. Waking from a park takes longer, so the loop wakes a
// little early and waits for the rest as usual.

const (
	// leastPark is the shortest wait for which parking costs less than waiting. longestPark
	// is the longest sleep while no operation is in flight.
	leastPark   = 20 * millisecond
	longestPark = 100 * millisecond
	// parkMargin is how much earlier than needed a parked loop wakes.
	parkMargin = 2 * millisecond
)

// mayPark reports whether nothing can happen before the next operation is due. Then a
// pause would not lengthen any operation, and the loop needs no beat to detect one.
func (l *Loop) mayPark() bool {
	return l.slots.open == 0 && l.parking != nil && l.sched.due > l.now && !l.draining && !l.more &&
		len(l.left) == 0 && l.watchers.none && !l.cfg.Shared.several()
}

// park parks until shortly before a time at least leastPark away, and reports whether the
// loop was allowed to.
func (l *Loop) park(until int64) (parked bool) {
	if !l.mayPark() {
		return false
	}
	l.parking.Park(until - parkMargin)
	return true
}

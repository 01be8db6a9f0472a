package engine

// A loop occupies one of Go's processors (P) even while it waits, and Go's monitor thread
// interrupts it a hundred times per second. Therefore a loop parks if it has no operation in flight
// and none is due soon: its goroutine blocks in the Go runtime, like a goroutine that waits for a
// channel. So a program whose loops are all parked uses no CPU. Waking up from a park takes longer
// than waking up from an ordinary wait, so the loop wakes a little early and waits as usual for the
// remaining time.

const (
	// minPark is the shortest wait for which a loop parks. For shorter waits, parking would cost
	// more than an ordinary wait. maxPark is the longest time for which a loop parks.
	minPark = 20 * millisecond
	maxPark = 100 * millisecond
	// parkMargin is the time between the end of a park and the time at which the loop must run.
	parkMargin = 2 * millisecond
)

// mayPark reports whether nothing can happen before the next operation is due. In that case a pause
// of the generator would not lengthen any operation, so the loop needs no beat to detect pauses.
func (l *Loop) mayPark() bool {
	return l.slots.open == 0 && l.parking != nil && l.sched.due > l.now && !l.draining && !l.hasMoreDue &&
		len(l.unread) == 0 && l.watchers.isEmpty && !l.cfg.Shared.hasSeveralLoops()
}

// park parks the loop until shortly before the given time, which is at least minPark away. It
// reports whether parking was allowed.
func (l *Loop) park(until int64) (parked bool) {
	if !l.mayPark() {
		return false
	}
	l.parking.Park(until - parkMargin)
	return true
}

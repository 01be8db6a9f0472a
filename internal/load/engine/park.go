package engine

// A loop keeps one of Go's processors while it waits, and Go's monitor interrupts it a
// hundred times a second. One that has nothing in flight, and nothing due for a while,
// parks: its goroutine waits as any other does, and a program whose loops are all
// parked does nothing. It wakes a little before something is due, because that takes
// longer, and waits for the rest as it always does.

const (
	// leastPark is the shortest wait in which parking costs less than waiting, and
	// longestPark how long a loop sleeps at most while nothing is in flight.
	leastPark   = 20 * millisecond
	longestPark = 100 * millisecond
	// parkMargin is how long before its time a parked loop wakes.
	parkMargin = 2 * millisecond
)

// mayPark reports whether nothing can end before an operation is due: then no pause
// can be in any operation's time, and no beat is needed to find one.
func (l *Loop) mayPark() bool {
	return l.slots.open == 0 && l.parking != nil && l.sched.due > l.now && !l.draining && !l.more &&
		len(l.left) == 0 && l.watchers.none && !l.cfg.Shared.several()
}

// park parks until a little before a time that is leastPark away, if the loop may.
func (l *Loop) park(until int64) (parked bool) {
	if !l.mayPark() {
		return false
	}
	l.parking.Park(until - parkMargin)
	return true
}

package engine

// Dependent is an optional interface of the Source of an open loop in which an operation
// can need what the answer to an earlier one says. Such loads have one loop.
type Dependent interface {
	// Ready reports whether the measured phase's n-th operation can be made: what it
	// needs is known, or will never be.
	Ready(n uint64) bool
	// Failed takes that the n-th failed, and so was not given to Check.
	Failed(n uint64)
}

// Placed is an optional interface of a Dependent whose operations belong to sessions,
// which are connections here.
type Placed interface {
	// Place is which of the loop's connections the measured phase's n-th operation goes
	// over, from 0. It waits for that one.
	Place(n uint64) int
}

// keep has an operation that was taken up wait for others' answers. It is in flight, and
// its timeout runs.
func (l *Loop) keep(tag uint32, sl *slot) {
	sl.state = waiting
	l.kept = append(l.kept, waiter{tag, sl.n})
}

// letGo sends those that have waited long enough. Their waiting was not the generator's.
func (l *Loop) letGo() {
	left := l.kept[:0]
	for _, w := range l.kept {
		sl := &l.slots.table[w.tag]
		if sl.state != waiting || sl.n != w.n {
			continue // it was given up
		}
		i, ok := 0, l.needs.Ready(w.n)
		if ok {
			switch i = int(sl.conn); {
			case l.conns.takes(i):
			case l.placed != nil:
				ok = false
			default:
				i, ok = l.conns.route(elsewhere)
			}
		}
		if !ok {
			left = append(left, w)
			continue
		}
		sl.ready = max(sl.ready, l.now)
		l.submit(i, w.tag)
	}
	l.kept = left
}

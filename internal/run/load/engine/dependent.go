package engine

import "github.com/quorumbench/quorumbench/internal/store"

// Dependent is an optional interface of the Source of an open loop in which an operation
// can need what the answer to an earlier one says. Such loads have one loop.
type Dependent interface {
	// Ready reports whether the measured phase's n-th operation can be made: what it
	// needs is known, or will never be.
	Ready(n uint64) bool
	// Failed takes that the n-th failed, and so was not given to Check.
	Failed(n uint64)
	// Sent takes by how many nanoseconds the n-th was sent late, and whether it waited for
	// an answer or a connection, which is not in that.
	Sent(n uint64, late int64, waited bool)
}

// Placed is an optional interface of a Dependent whose operations belong to sessions,
// which are connections here.
type Placed interface {
	// Place is which of the loop's connections the measured phase's n-th operation goes
	// over, from 0, and it waits for that one; -1 for any.
	Place(n uint64) int
}

// Hearing is an optional interface of a Source whose operations begin watchers.
type Hearing interface {
	// Told takes what a watcher was told: a Notify, Seen or Ended.
	Told(ev *store.Event)
	// Awaits reports whether more is to come, at the end of a load of which nothing else
	// is open. It is asked again until it does not.
	Awaits(now int64) bool
}

// placedAt reports whether an operation must go over its place's connection, and which
// that is; another one is as good otherwise.
func (l *Loop) placedAt(n uint64, other int) (i int, must bool) {
	if l.placed != nil {
		if place := l.placed.Place(n); place >= 0 {
			return l.conns.places[place], true
		}
	}
	return other, false
}

// keep has an operation that was taken up wait for others' answers, or for a connection
// that takes it: such a load has so many operations, and each is sent. It is in flight,
// and its timeout runs.
func (l *Loop) keep(tag uint32, sl *slot) {
	sl.state = waiting
	l.kept = append(l.kept, waiter{tag, sl.n})
}

// letGo sends those that have waited long enough. Their waiting was not the generator's.
func (l *Loop) letGo() {
	left, full := l.kept[:0], false
	for _, w := range l.kept {
		sl := &l.slots.table[w.tag]
		if sl.state != waiting || sl.n != w.n {
			continue // it was given up
		}
		i, ok := 0, !full && l.needs.Ready(w.n)
		if ok {
			var must bool
			switch i, must = l.placedAt(w.n, int(sl.conn)); {
			case l.conns.takes(i):
			case must:
				ok = false
			default:
				i, ok = l.conns.route(elsewhere)
				full = !ok && l.placed == nil // as are all behind it
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

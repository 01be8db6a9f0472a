package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Dependent is an optional interface of the Source of an open loop in which an operation
// can need what the answer to an earlier one says. Such loads have one loop. Each
// operation that is due is in flight from then on, also while it waits for an answer or
// for a connection, and its timeout runs; the window's end does not end it.
type Dependent interface {
	// Ready reports whether the measured phase's n-th operation can be made: what it
	// needs is known, or will never be.
	Ready(n uint64) bool
	// Failed takes that the n-th failed, and so was not given to Check.
	Failed(n uint64)
}

// Punctual is an optional interface of the Source of an open loop that keeps how late its
// operations were sent.
type Punctual interface {
	// Sent takes by how many nanoseconds the measured phase's n-th was sent late, and
	// whether it waited for an answer or a connection, which is not in that.
	Sent(n uint64, late int64, waited bool)
}

// Timed is an optional interface of a Source that counts what became of its operations
// by kinds of its own.
type Timed interface {
	// Ended takes how the measured phase's n-th operation ended, with its response time
	// and, if it succeeded, its service time, in nanoseconds. What was due and never
	// taken up it is not told.
	Ended(n uint64, o kv.Outcome, response, service int64)
}

// Placed is an optional interface of the Source of an open loop whose operations each
// belong to a certain connection, as those of a session do. Such loads have one loop.
type Placed interface {
	// Place is the number, from 0, of the connection that the measured phase's n-th
	// operation is sent on. It waits for that one alone, and its timeout runs. -1, of a
	// Dependent: it is sent on any.
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

// placeOf is the connection that an operation belongs to; -1: it is sent on any.
func (l *Loop) placeOf(n uint64) int {
	if l.placed != nil {
		if place := l.placed.Place(n); place >= 0 {
			return l.conns.places[place]
		}
	}
	return -1
}

// place sends an operation that was taken up on the connection that it belongs to, or
// has it wait for that.
func (l *Loop) place(i int, n uint64, tag uint32) {
	c, sl := l.conns.table[i], &l.slots.table[tag]
	sl.conn = int32(i)
	if len(c.queue) == 0 && c.ready() {
		l.submit(i, tag)
		return
	}
	sl.state = waiting
	c.queue = append(c.queue, waiter{tag, n})
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
		i := l.placeOf(w.n)
		placed := i >= 0
		ok := (placed || !full) && l.needs.Ready(w.n)
		if ok && placed {
			sl.ready = max(sl.ready, l.now)
			l.place(i, w.n, w.tag)
			continue
		}
		if ok {
			if i = int(sl.conn); !l.conns.takes(i) {
				i, ok = l.conns.route(elsewhere)
				full = !ok // as are all behind it
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

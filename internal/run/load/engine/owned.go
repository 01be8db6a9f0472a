package engine

import "github.com/quorumbench/quorumbench/internal/kv"

// owned is a key that ends with the session of a connection's place.
type owned struct {
	ref  uint64
	made int64 // not before
}

// own notes a key that an operation made, or may have made, for the history alone.
func (l *Loop) own(sl *slot, outcome kv.Outcome) {
	if sl.kind != kv.Ephemeral || sl.conn < 0 || outcome != kv.OK && (!outcome.Failed() || outcome.Definite()) {
		return
	}
	if l.owned == nil {
		l.owned = make([][]owned, len(l.conns.places))
	}
	place := l.conns.table[sl.conn].place
	l.owned[place] = append(l.owned[place], owned{sl.ref, sl.began()})
}

// mayEnd tells the history that the keys of a connection's session may be gone. Of a
// session that is closed that is from now on. When the server last heard of one whose
// connection was lost nobody knows, so that its keys may be gone since they were made.
func (l *Loop) mayEnd(i int, closed bool) {
	h, ok := l.cfg.History.(SessionHistory)
	if !ok || l.owned == nil {
		return
	}
	place := l.conns.table[i].place
	session := uint32(place)*uint32(l.sched.stride) + uint32(l.sched.offset)
	for _, o := range l.owned[place] {
		from := o.made
		if closed {
			from = l.now
		}
		h.MayEnd(o.ref, session, from, l.now)
	}
	if closed {
		l.owned[place] = l.owned[place][:0]
	}
}

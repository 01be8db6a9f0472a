package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// recording is what the loop needs for its History alone.
type recording struct {
	told      history.Op // what it gets next
	completed Completion // likewise
	owned     [][]owned  // by place: keys that end with its session
}

// remember gives the history an operation that has ended. One that never was made
// into a request changed nothing, and saw nothing.
func (l *Loop) remember(sl *slot, outcome kv.Outcome, ev *store.Event, at int64) {
	if sl.state == waiting {
		return
	}
	o := &l.told
	*o = history.Op{
		Kind: sl.kind, Consistency: sl.level, Outcome: outcome, Session: l.session(sl), Member: l.memberOf(sl, ev),
		Invoked: min(sl.began(), at), Done: at,
	}
	l.own(sl, outcome, ev)
	l.completed = Completion{Phase: sl.acc.Phase, N: sl.n, Ref: sl.ref, Expected: sl.expected, Event: ev, Op: o}
	l.cfg.History.Ended(&l.completed)
}

// began is when an operation was sent.
func (sl *slot) began() int64 {
	if sl.state == submitted { // never seen written, and some of it may have been
		return sl.due
	}
	return sl.sent
}

// session is the number of an operation's client among those of all shards; in an
// open loop it is that of its connection's place.
func (l *Loop) session(sl *slot) uint32 {
	client := uint32(sl.client)
	if sl.client < 0 {
		client = uint32(l.conns.table[sl.conn].place)
	}
	return client*uint32(l.sched.stride) + uint32(l.sched.offset)
}

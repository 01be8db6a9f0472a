package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// recording holds the loop's state for its History.
type recording struct {
	recorded      history.Op       // scratch memory, reused for each operation
	completed     Completion       // scratch memory, reused for each operation
	ephemeralKeys [][]ephemeralKey // by place: keys that the store deletes when the place's session ends
}

// recordCompletion records an operation that has ended. It ignores an operation that was never
// encoded, because such an operation neither changed nor read anything.
func (l *Loop) recordCompletion(sl *slot, outcome kv.Outcome, ev *store.Event, at int64) {
	if sl.state == waiting {
		return
	}
	o := &l.recorded
	*o = history.Op{
		Kind: sl.kind, Consistency: sl.level, Outcome: outcome, Session: l.sessionNumber(sl), Member: l.memberOf(sl, ev),
		Invoked: min(sl.earliestSend(), at), Done: at,
	}
	l.noteEphemeral(sl, outcome, ev)
	l.completed = Completion{Phase: sl.acc.Phase, N: sl.n, Ref: sl.ref, Expected: sl.expected, Event: ev, Op: o}
	l.cfg.History.OperationEnded(&l.completed)
}

// earliestSend returns a time before which the operation was not sent.
func (sl *slot) earliestSend() int64 {
	// No completed write call was seen, but some of the operation's bytes may have been written.
	if sl.state == submitted {
		return sl.due
	}
	return sl.sent
}

// sessionNumber returns the number that identifies the operation's client across all shards. An
// open loop has no clients. There, the number identifies the connection's place.
func (l *Loop) sessionNumber(sl *slot) uint32 {
	if sl.client < 0 {
		return l.placeSession(l.conns.table[sl.conn].place)
	}
	return l.sched.globalNumber(uint32(sl.client))
}

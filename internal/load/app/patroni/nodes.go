package patroni

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/watch"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// nodes implements way for stores in which keys can be bound to a connection's session. A member's
// calls keep the session of its connection alive. So a member that sends nothing counts as dead.
type nodes struct {
	ttl        time.Duration
	keyDeleted []bool // by member: its key does not exist, because its session ended
}

func (w *nodes) fill(s *source, e Entry, k Key, member int, op *store.Op) {
	switch e.Call {
	case RenewLeader, RenewReplica:
		return
	case ListKeys:
		s.key = AppendScope(s.key[:0], s.prefix, int(e.Cluster))
		if e.Key == FirstMember {
			s.key = append(s.key, MemberPath...)
		}
		// If a history is recorded, the same request as below is sent as a call, so that the names
		// in the response are passed to the history.
		if s.chronicle != nil {
			s.setCall(call.Part{Action: call.Read, Scope: call.Prefix, Key: s.key, Flags: call.Local | call.KeysOnly})
			op.Call = &s.call
			s.keepList(op)
			return
		}
		s.end = append(s.end[:0], s.key...)
		s.end[len(s.end)-1]++ // key ends with a slash, so this is the end of its prefix
		s.list = store.RangeOp{End: s.end}
		op.Key, op.Range = s.key, &s.list
		return
	case ReadKey:
		k = e.Key
	}
	s.key = AppendKey(s.key[:0], s.prefix, int(e.Cluster), k)
	op.Key, op.Value = s.key, s.value
	if e.Call == ReadKey {
		op.Value = nil
	}
	if e.Call != PutMember {
		return
	}
	// If the key is gone, the call creates it and binds it to the session.
	put := call.Part{Action: call.Write, Flags: call.MustExist, Key: s.key, Value: s.callValue()}
	if w.keyDeleted[member] {
		put.Flags = call.Ephemeral
	}
	if s.setCall(put); w.keyDeleted[member] {
		s.addGuard(call.Part{Action: call.Compare, Target: call.Version, Key: s.key})
		w.keyDeleted[member], op.Revision = false, createMark
	}
	op.Key, op.Value, op.Call = nil, nil, &s.call
}

// createMark marks a call that creates a member's key instead of setting it. The mark is removed
// when the call ends.
const createMark = 1

func (w *nodes) handleRenewal(int, *store.Event) []byte { return nil }
func (w *nodes) dropLease(member int)                   { w.keyDeleted[member] = true }
func (w *nodes) grant(*source, *store.Op) bool          { return false }
func (w *nodes) save() []int64                          { return nil }
func (w *nodes) restore([]int64)                        {}
func (w *nodes) grantedIn(*store.Event) int64           { return 0 }
func (w *nodes) lifetime() time.Duration                { return w.ttl }

// addWatchers implements way. Each member has a one-shot watch on the leader's key, on its own
// connection. After each event, the member sets the watch again.
func (w *nodes) addWatchers(s *Script, p *watch.Plan) {
	p.Sink.Coalesced = true
	dies := s.LeaderDeath(s.length) > 0
	// If a dead member's connection sent progress requests, they would keep its session alive.
	p.SkipsProgress = func(n uint32) bool {
		cluster, member := s.memberAt(int(n))
		return dies && member == 0 && cluster < s.LeaderFailures
	}
	for i := range p.Streams {
		p.Sink.Watchers = append(p.Sink.Watchers, watch.Watcher{First: uint64(i/s.Members*s.KeysPerCluster() + int(Leader)), Keys: 1})
	}
	var key []byte
	p.Fill = func(n uint32, op *store.Op) {
		key = AppendKey(key[:0], s.prefix, int(n)/s.Members, Leader)
		op.Key, op.Watch.Mode = key, kv.OnceWatch
	}
}

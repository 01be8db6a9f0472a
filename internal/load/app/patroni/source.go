package patroni

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// source creates the calls. Each call reuses the memory of the previous one.
type source struct {
	engine.ReactiveBase
	*Script
	call            call.Call
	parts           [2]call.Part
	list            store.RangeOp
	key, end, value []byte
}

var _ engine.Reactive = (*source)(nil)

// member returns the number, within its cluster, of the member that makes a call.
func (s *source) member(e Entry) int {
	leader := int(s.leaders[e.Cluster])
	switch {
	case e.CallerFixed || leader == none:
		return int(e.Caller)
	case e.Caller == 0:
		return leader
	}
	// Find the other member with the number e.Caller. The leader is not counted. If the leader is
	// not the first member, the first member has died and is not counted either.
	first := 0
	if leader > 0 {
		first = 1
	}
	for m, rank := first, 0; m < s.Members; m++ {
		if m == leader {
			continue
		}
		if rank++; rank == int(e.Caller) {
			return m
		}
	}
	return leader
}

func (s *source) memberIndex(e Entry, member int) int { return int(e.Cluster)*s.Members + member }

// ConnectionIndex implements engine.Reactive. Each member has its own connection. The order in
// which a cluster's members use its connections differs between clusters. Without this difference,
// all leaders would be connected to the same member of a store that has as many members as each
// cluster.
func (s *source) ConnectionIndex(n uint64) int {
	e := s.schedule.Entries[n]
	return int(e.Cluster)*s.Members + (s.member(e)+int(e.Cluster))%s.Members
}

// memberAt returns the member that uses the connection with the given index.
func (s *Script) memberAt(place int) (cluster, member int) {
	cluster = place / s.Members
	return cluster, (place%s.Members + s.Members - cluster%s.Members) % s.Members
}

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	e := s.schedule.Entries[n]
	kind, level := s.Way.Kind(e.Call)
	member := s.member(e)
	all := s.memberIndex(e, member)
	s.pendingCall[all] = uint32(n) + 1
	*op = store.Op{Kind: kind, Consistency: level}
	s.way.fill(s, e, s.write(e, member, n), all, op)
	return n | uint64(member)<<memberShift
}

// memberShift is the bit position of the member in an operation's reference.
const memberShift = 48

// write determines the value and the key that a member's call writes. It stores the value in
// s.value and returns the key.
func (s *source) write(e Entry, member int, n uint64) (k Key) {
	cluster, leads := int(e.Cluster), int(s.leaders[e.Cluster]) == member
	s.value = s.value[:0]
	switch e.Call {
	case PutStatus:
		s.value, k = AppendStatus(s.value, cluster, s.Members, n), Status
	case PutMember, Join:
		s.value, k = AppendMember(s.value, member, leads, n), MemberKey(member)
	case PutHistory:
		s.value, k = AppendHistory(s.value, cluster, member, n), History
	case Race, Lead:
		s.racingCall[s.memberIndex(e, member)] = uint32(n) + 1
		s.value, k = AppendName(s.value, cluster, member), Leader
	}
	return k
}

// callValue returns s.value in the form that calls use.
func (s *source) callValue() call.Value { return call.Value{Size: len(s.value), Text: s.value} }

// setCall sets a call that consists of a single part.
func (s *source) setCall(p call.Part) {
	s.parts[0] = p
	s.call = call.Call{Parts: s.parts[:1]}
}

// addGuard adds a guard to the source's call.
func (s *source) addGuard(guard call.Part) {
	s.parts[1] = s.parts[0]
	s.parts[1].Branch = call.Then
	s.parts[0] = guard
	s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
}

// keepList is used for a read of several keys. If the load records a history, keepList ensures that
// the keys in the response are passed to the history.
func (s *source) keepList(op *store.Op) {
	if s.chronicle != nil {
		s.list = store.RangeOp{KeysOnly: op.Call.Parts[0].Flags&call.KeysOnly != 0, Keys: &s.chronicle.lists}
		op.Range = &s.list
	}
}

// ConnectionLost implements engine.Reactive.
func (s *source) ConnectionLost(place int) {
	if s.chronicle != nil {
		s.chronicle.loseConnection(place, false)
	}
}

// SessionExpired implements engine.Reactive.
func (s *source) SessionExpired(place int) {
	if s.chronicle != nil {
		s.chronicle.loseConnection(place, true)
	}
}

// Kind implements engine.Source.
func (s *source) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	return s.Way.Kind(s.schedule.Entries[n].Call)
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) []engine.Share {
	kinds := s.schedule.CountByKind()
	return app.ComputeShares(s.Way.appShapes(), kinds[:])
}

// Ready implements engine.Reactive. A member has at most one call in flight. The calls of a
// failover wait until the leader's key has been deleted. Calls that depend on the new leader also
// wait until a member has won the race.
func (s *source) Ready(n uint64) bool {
	e := s.schedule.Entries[n]
	if e.AfterFailover && (!s.leaderKeyDeleted[e.Cluster] || !e.CallerFixed && s.leaders[e.Cluster] == none) {
		return false
	}
	return s.pendingCall[s.memberIndex(e, s.member(e))] == 0
}

// OperationFailed implements engine.Reactive. The member that made the call may have become leader
// in the meantime, so Entry.Caller may now identify a different member. Therefore OperationFailed
// searches the calls in flight of all members of the cluster.
func (s *source) OperationFailed(n uint64) {
	s.endedMember = none
	first := int(s.schedule.Entries[n].Cluster) * s.Members
	for all := first; all < first+s.Members; all++ {
		s.endCall(n, all)
	}
}

// endCall records that call n has ended, if it is the member's call in flight.
func (s *source) endCall(n uint64, index int) {
	if s.pendingCall[index] == uint32(n)+1 {
		s.pendingCall[index], s.endedMember = 0, index
	}
}

// OperationEnded implements engine.Reactive. If a lease or session has ended, the member's next
// renewal requests a new one.
func (s *source) OperationEnded(n uint64, o kv.Outcome, response, service int64) {
	call := s.schedule.Entries[n].Call
	s.calls[call].CountEnded(o, response, service)
	if o == kv.BadRequest && s.endedMember != none && (call == RenewLeader || call == RenewReplica) {
		s.way.dropLease(s.endedMember)
	}
}

// emptyListText is the text for a wrong response. It must not be modified.
var emptyListText = []byte("the response contains no key of the cluster")

// Check implements engine.Source. It updates the state of the members from the response.
func (s *source) Check(_ kv.Kind, ref uint64, ev *store.Event) kv.Outcome {
	n, member := ref&(1<<memberShift-1), int(ref>>memberShift)
	e := s.schedule.Entries[n]
	index := s.memberIndex(e, member)
	s.endCall(n, index)
	switch e.Call {
	case RenewLeader, RenewReplica:
		if wrong := s.way.handleRenewal(index, ev); wrong != nil {
			ev.Text = wrong
			return kv.WrongResponse
		}
	case Race, Lead:
		if ev.Outcome == kv.OK {
			s.leaders[e.Cluster] = int16(member)
			s.noteWrite(e, Leader)
		}
	case PutStatus:
		s.noteWrite(e, Status)
	case PutMember, Join:
		if ev.Outcome != kv.OK { // the member's session has ended, so its key was deleted
			s.way.dropLease(index)
			break
		}
		s.noteWrite(e, MemberKey(member))
	case PutHistory:
		s.noteWrite(e, History)
	case ReadKey: // a missing key is a valid response to this read
		if ev.Outcome == kv.Miss && (isLeased(e.Key) || e.Key == History) {
			return kv.OK
		}
	case ReadCluster, ListKeys:
		if ev.Count == 0 && ev.Outcome == kv.OK {
			if s.Way == Locks { // a leader that was just elected may respond before it has applied its log
				return kv.Stale
			}
			ev.Text = emptyListText
			return kv.WrongResponse
		}
	}
	return ev.Outcome
}

// noteWrite records an acknowledged write in s.board, because the watchers must report this write.
// It does nothing if watch events contain the current state instead of each change.
func (s *source) noteWrite(e Entry, k Key) {
	if !s.reportsStates {
		s.board.Acknowledge(uint64(int(e.Cluster)*s.KeysPerCluster() + int(k)))
	}
}

// noteLeader records the acknowledged election of a leader. Watchers whose events contain the
// current state must report this election.
func (s *Script) noteLeader(_ kv.Kind, ref uint64, sent int64, ev *store.Event) {
	if e := s.schedule.Entries[ref&(1<<memberShift-1)]; e.Call == Race && ev.Outcome == kv.OK {
		s.board.AcknowledgeSent(uint64(int(e.Cluster)*s.KeysPerCluster()+int(Leader)), sent)
	}
}

// Source implements app.Script.
func (s *Script) Source() engine.Source { return &source{Script: s} }

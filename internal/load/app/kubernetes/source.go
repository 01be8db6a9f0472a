package kubernetes

import (
	"bytes"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
)

// compactionKey is the key whose version decides which API server compacts. The key has the load's
// prefix only if other clients also use the cluster.
const compactionKey = "compact_rev_key"

// healthKey is the key that health checks read. It does not exist.
const healthKey = "health"

// source creates the calls. It implements engine.Reactive. It reuses the same buffers for all
// calls.
type source struct {
	engine.ReactiveBase
	*Script
	call             call.Call
	parts            [3]call.Part
	key, value, path []byte
}

var _ engine.Reactive = (*source)(nil)

// Fill implements engine.Source.
func (s *source) Fill(_ measure.Phase, n uint64, _ uint32, op *store.Op) uint64 {
	e := s.schedule.Entries[n]
	kind, level := e.Call.Kind()
	s.setCall(n, e)
	*op = store.Op{Kind: kind, Consistency: level, Call: &s.call}
	if writes(e.Call) {
		op.Revision = s.versions[e.Object] // the revision that the transaction compares
	}
	if s.lists != nil && s.lists.collects(e) {
		op.Range = &s.lists.rangeOp
	}
	return n
}

// setCall sets s.call to call n.
func (s *source) setCall(n uint64, e Entry) {
	switch e.Call {
	case GetPod, GetMasterLease:
		s.pendingCall[e.Object] = uint32(n) + 1
		s.key = s.keys.Append(s.key[:0], e.Object)
		s.setPart(call.Part{Action: call.Read, Key: s.key, Limit: 1})
	case ListPods:
		s.setPage(n, e)
	case ListKeys, ListOne, ListMasterLeases:
		s.path = s.keys.AppendPath(s.path[:0], e.Call.Resource().Path())
		p := call.Part{Action: call.Read, Scope: call.Prefix, Key: s.path}
		switch e.Call {
		case ListKeys:
			p.Flags = call.KeysOnly
		case ListOne:
			p.Limit = 1
		}
		s.setPart(p)
	case Count:
		s.path = s.keys.AppendPath(s.path[:0], s.schedule.Counted[e.Object])
		s.setPart(call.Part{Action: call.Read, Scope: call.Prefix, Key: s.path, Flags: call.CountOnly})
	case GrantLease:
		s.events.setPendingGrant(n)
		s.setPart(call.Part{Action: call.Grant, Number: EventTTL})
	case GrantMasterLease:
		s.master.setPendingGrant(n)
		s.setPart(call.Part{Action: call.Grant, Number: MasterTTL})
	case Health:
		s.path = s.keys.AppendPath(s.path[:0], healthKey)
		s.setPart(call.Part{Action: call.Read, Key: s.path})
	case Status:
		s.setPart(call.Part{Action: call.AskStatus})
	case MarkCompaction:
		s.pendingMark = uint32(n) + 1
		s.key, s.value = append(s.key[:0], s.compaction...), strconv.AppendInt(s.value[:0], s.markedRevision, 10)
		s.setGuarded(call.Version, s.version, call.Part{Action: call.Write}, true)
	case Compact:
		s.setPart(call.Part{Action: call.Compaction, Number: s.compactRevision})
	default:
		s.setWrite(n, e)
	}
}

// setPart sets s.call to a call with a single part.
func (s *source) setPart(p call.Part) {
	s.parts[0] = p
	s.call = call.Call{Parts: s.parts[:1]}
}

// setWrite sets s.call to a transaction that creates, updates or removes an object.
func (s *source) setWrite(n uint64, e Entry) {
	r := e.Call.Resource()
	s.pendingCall[e.Object] = uint32(n) + 1
	s.key = s.keys.Append(s.key[:0], e.Object)
	p := call.Part{Action: call.Write}
	switch e.Call {
	case DeletePod:
		p.Action = call.Remove
		s.deletingCall[e.Object-s.keys.First[r]] = uint32(n) + 1
	case CreateEvent:
		p.Lease = s.events.lease
	case UpdateMasterLease:
		p.Lease = s.master.lease
	}
	if p.Action == call.Write {
		s.value = s.values[r].Append(s.value[:0], s.key, 0, n)
	}
	s.setGuarded(call.Modified, s.versions[e.Object], p, e.Call != CreatePod && e.Call != CreateEvent)
}

// setGuarded sets s.call to a transaction that compares the key's version or revision with
// `expected`. If they are equal, the transaction executes the part `thenPart`. Otherwise it reads
// the key, provided that `readElse` is set.
func (s *source) setGuarded(target call.Target, expected int64, thenPart call.Part, readElse bool) {
	s.parts[0] = call.Part{Action: call.Compare, Target: target, Key: s.key, Number: expected}
	if thenPart.Key, thenPart.Branch = s.key, call.Then; thenPart.Action == call.Write {
		thenPart.Value = call.Value{Size: len(s.value), Text: s.value}
	}
	s.parts[1] = thenPart
	s.call = call.Call{Guarded: true, Parts: s.parts[:2]}
	if readElse {
		s.parts[2] = call.Part{Action: call.Read, Branch: call.Else, Key: s.key}
		s.call.Parts = s.parts[:3]
	}
}

// setPage sets s.call to the read of one page in the listing of pods. Keys sort in the order of the
// pods' indexes. So the last pod on a full page is known in advance, and the next page starts after
// that pod.
func (s *source) setPage(n uint64, e Entry) {
	const limit = ListLimit
	l := &s.list
	l.pendingCall = uint32(n) + 1
	s.path = s.keys.AppendPath(s.path[:0], Pods.Path())
	p := call.Part{Action: call.Read, Scope: call.Prefix, Key: s.path, Limit: limit}
	if e.Object == 0 {
		*l = listing{pendingCall: l.pendingCall, firstPod: s.oldestPod}
	} else {
		after := s.keys.First[Pods] + l.firstPod + e.Object*limit - 1
		s.key = append(s.keys.Append(s.key[:0], min(after, s.keys.First[Events]-1)), 0)
		p.Scope, p.Key, p.End, p.Number = call.LaterPage, s.key, s.path, l.revision
	}
	s.setPart(p)
}

// Kind implements engine.Source.
func (s *source) Kind(_ measure.Phase, n uint64) (kv.Kind, kv.Consistency) {
	return s.schedule.Entries[n].Call.Kind()
}

// Shares implements engine.Source.
func (s *source) Shares(measure.Phase) []engine.Share {
	kinds := s.schedule.CountByKind()
	return app.ComputeShares(shapes[:], kinds[:])
}

// Ready implements engine.Reactive. The API server has at most one write of an object in flight. It
// does not create an event before the event's lease is granted. A read of an object waits until the
// object has been created. A write of an object waits until a read of the same object has ended.
func (s *source) Ready(n uint64) bool {
	e := s.schedule.Entries[n]
	switch e.Call {
	case CreateEvent:
		return s.events.pendingGrant == 0 && s.pendingCall[e.Object] == 0
	case UpdateMasterLease:
		return s.master.pendingGrant == 0 && s.pendingCall[e.Object] == 0
	case ListPods:
		return s.list.pendingCall == 0
	case MarkCompaction, Compact:
		return s.pendingMark == 0
	}
	return !hasObject(e.Call) || s.pendingCall[e.Object] == 0
}

// hasObject reports whether the call reads or writes a single object.
func hasObject(c Call) bool {
	return writes(c) || c == GetPod || c == GetMasterLease
}

// writes reports whether the call is a transaction that creates, updates or removes an object.
func writes(c Call) bool {
	kind, _ := c.Kind()
	return kind == kv.CAS && c.Resource() != NumResources
}

// OperationFailed implements engine.Reactive. Other calls stop waiting for the failed call. The
// next write of the object finds out whether the failed call was executed.
func (s *source) OperationFailed(n uint64) { s.clearPendingCall(n, s.schedule.Entries[n]) }

// clearPendingCall records that a call has ended. It does nothing if the call was not sent.
func (s *source) clearPendingCall(n uint64, e Entry) {
	call := uint32(n) + 1
	var pending *uint32
	switch e.Call {
	case GrantLease:
		pending = &s.events.pendingGrant
	case GrantMasterLease:
		pending = &s.master.pendingGrant
	case ListPods:
		pending = &s.list.pendingCall
	case MarkCompaction:
		pending = &s.pendingMark
	default:
		if !hasObject(e.Call) {
			return
		}
		pending = &s.pendingCall[e.Object]
	}
	if *pending == call {
		*pending = 0
	}
}

// OperationEnded implements engine.Reactive.
func (s *source) OperationEnded(n uint64, o kv.Outcome, response, service int64) {
	s.calls[s.schedule.Entries[n].Call].CountEnded(o, response, service)
}

// Check implements engine.Source. It updates the script's state from the response.
func (s *source) Check(_ kv.Kind, n uint64, ev *store.Event) kv.Outcome {
	e := s.schedule.Entries[n]
	s.clearPendingCall(n, e)
	switch e.Call {
	case GetPod, GetMasterLease:
		return s.checkRead(e, ev)
	case ListPods:
		if e.Object == 0 {
			s.list.revision = ev.StoreRevision
		}
	case GrantLease:
		s.events.lease = ev.Count
	case GrantMasterLease:
		s.master.lease = ev.Count
	case MarkCompaction:
		s.version++ // this API server or another one has increased the version
		if ev.Outcome == kv.OK {
			s.compactRevision, s.latestMark = s.markedRevision, uint32(n)+1
			s.board.Acknowledge(uint64(s.keys.Count()))
		}
		s.markedRevision = ev.StoreRevision
	default:
		if writes(e.Call) {
			s.noteWrite(e, ev)
		}
	}
	return ev.Outcome
}

// noteWrite updates the revision of an object after a write.
func (s *source) noteWrite(e Entry, ev *store.Event) {
	if ev.Outcome == kv.Conflict {
		s.versions[e.Object] = ev.ModRevision
		return
	}
	s.versions[e.Object] = ev.Revision
	if e.Call == DeletePod {
		s.versions[e.Object] = 0
		s.oldestPod = max(s.oldestPod, e.Object-s.keys.First[Pods]+1)
	}
	s.board.Acknowledge(uint64(e.Object))
}

// Texts for wrong responses. They must not be modified.
var (
	wrongKeyText     = []byte("the response is for a different key than the request")
	unknownValueText = []byte("a value that was never written to this key")
)

// checkRead checks the response to a read of an object.
func (s *source) checkRead(e Entry, ev *store.Event) kv.Outcome {
	if ev.Count == 0 {
		return kv.Miss
	}
	if s.key = s.keys.Append(s.key[:0], e.Object); !bytes.Equal(ev.Key, s.key) {
		ev.Text = wrongKeyText
		return kv.WrongResponse
	}
	if s.values[e.Call.Resource()].Judge(ev.Key, ev.Value) != keys.OriginOwn {
		ev.Text = unknownValueText
		return kv.WrongResponse
	}
	return ev.Outcome
}

// Source implements app.Script.
func (s *Script) Source() engine.Source { return &source{Script: s} }

package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// nodeRecorder records the race for a node with a fixed name. A create is recorded as a
// compare-and-set that requires that the node does not exist. A one-shot watch reports only the
// next change, so each wait is recorded as a new watcher that starts at the current revision.
type nodeRecorder struct{}

func (nodeRecorder) usesLeases() bool { return false }

func (nodeRecorder) record(c *chronicle, index int, call Call, ev *store.Event, o *history.Op) {
	r := &c.candidates[index]
	o.Key = r.key.Number
	switch call {
	case Stand:
		if o.Kind, o.Written = kv.CAS, c.valueIdentity(index); o.Outcome == kv.Conflict {
			o.Read = history.UnknownValue // the response does not contain the current node
		}
		r.key.RecordCreate(o)
	case Resign:
		if !c.script.candidates[index].stateAtCall.wasLeader {
			c.completeRead(ev, o)
			break
		}
		c.completeRemoval(index, o)
	case Await:
		c.completeRead(ev, o)
	}
	c.recorder.Add(o)
	c.recordReached(index, o)
	if call == Await {
		c.beginWatcher(index, r.key.Number, 0, ev, o)
	}
}

// completeRead completes o, which reads a node from the contacted member.
func (c *chronicle) completeRead(ev *store.Event, o *history.Op) {
	if o.Kind, o.Consistency = kv.Get, kv.Local; o.Outcome == kv.OK {
		c.setRead(ev, ev.VersionRevision(), o)
	}
}

// completeRemoval completes o, which deletes a candidate's own node. If the node does not exist,
// the call's outcome is a conflict.
func (c *chronicle) completeRemoval(index int, o *history.Op) {
	r := &c.candidates[index]
	if o.Kind = kv.Delete; o.Outcome == kv.Conflict {
		o.Outcome = kv.Miss
	}
	if o.HasStoreData() {
		r.key.RecordAbsence()
	}
}

// recordReached records which changes the watch on the same session has delivered by the time a
// response arrives. Before the response, the store delivers all changes with lower revisions. If
// the response belongs to a read, the store also delivers the change with the response's own
// revision before the response.
func (c *chronicle) recordReached(index int, o *history.Op) {
	r, upTo := &c.candidates[index], o.Revision
	if o.Kind.Writes() {
		upTo--
	}
	if r.hasWatcher && o.HasStoreData() && upTo > 0 {
		c.recorder.Add(&history.Op{Kind: kv.Watch, Watch: history.ProgressReached, Session: r.watcher, Member: o.Member, Key: r.watchedKey, ModRevision: upTo, Invoked: o.Done, Done: o.Done})
	}
}

// KeyMayBeDeleted implements engine.History. If a session was closed, its nodes may now be deleted
// at any time. If it is uncertain whether the session was still alive, they may have been deleted
// earlier.
func (c *chronicle) KeyMayBeDeleted(ref uint64, _ uint32, from, now int64) {
	index := int(ref & (1<<candidateBits - 1)) // #nosec G115 -- encoded by Fill
	closed := from == now && !c.script.candidates[index].dead && c.script.sessionMustBeAlive(index)
	c.recordSessionEnd(index, now, closed)
}

// SessionEnded implements engine.History. Nodes that were already deleted are not recorded.
func (c *chronicle) SessionEnded(ref uint64, o *history.Op) {
	r := &c.candidates[int(ref&(1<<candidateBits-1))] // #nosec G115 -- encoded by Fill
	for i := range r.olderKeys {
		r.olderKeys[i].RecordSessionEnd(c.recorder, o)
	}
	r.key.RecordSessionEnd(c.recorder, o)
}

// recordSessionEnd records, once per node, that the nodes of a candidate's session may have been
// deleted. If `closed` is set, the session was alive until now and was then closed, so the nodes
// may now be deleted at any time. Otherwise they may have been deleted at any time since they were
// created.
func (c *chronicle) recordSessionEnd(index int, now int64, closed bool) {
	r := &c.candidates[index]
	for i := range r.olderKeys {
		r.olderKeys[i].RecordPossibleSessionEnd(c.recorder, uint32(index), closed, now) // #nosec G115 -- a count
	}
	r.key.RecordPossibleSessionEnd(c.recorder, uint32(index), closed, now) // #nosec G115 -- a count
}

// expireSession records that a candidate's session ended before its current session began.
func (c *chronicle) expireSession(index int) {
	c.recordSessionEnd(index, c.lastTime, false)
	r := &c.candidates[index]
	r.key.MayExist, r.nodeNumber, r.olderKeys = false, 0, r.olderKeys[:0]
	// In a queue, calls without a response may still turn out to have created nodes, so the time of
	// the earliest such call is still needed.
	if c.script.way.Recipe != EphemeralQueue {
		r.key.UnansweredSince = 0
	}
}

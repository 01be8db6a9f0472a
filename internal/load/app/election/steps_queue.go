package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// queueRecorder records the queue of sequential nodes. A create is recorded as a compare-and-set of
// a new key. A listing is recorded as several reads: one for each node of this run in the list, and
// one for each node that is known to have been created but is missing from the list.
type queueRecorder struct{}

func (queueRecorder) usesLeases() bool { return false }

// nodeShift is the position of the office's number in the number of a sequential node's key.
const nodeShift = 40

func (c *chronicle) nodeKey(index int, order int64) uint64 {
	return uint64(index/c.script.Candidates)<<nodeShift | uint64(order) // #nosec G115 -- ten digits
}

func (t queueRecorder) record(c *chronicle, index int, call Call, ev *store.Event, o *history.Op) {
	state := &c.script.candidates[index].stateAtCall
	switch call {
	case Stand:
		t.recordStand(c, index, ev, o)
	case Resign:
		t.recordRemoval(c, index, state.ownNumber, o)
	case Drop:
		t.recordRemoval(c, index, state.precedingNumber, o)
	case Look:
		t.recordList(c, index, o)
	case Await:
		if state.precedingRun == c.script.run { // a node from an earlier run is deleted when its session ends
			t.recordAwait(c, index, state.precedingNumber, ev, o)
		}
	}
}

// recordStand records that a node was created. If the call has no response, the node's number is
// unknown. In that case, the creation is recorded as soon as another response contains the node.
func (t queueRecorder) recordStand(c *chronicle, index int, ev *store.Event, o *history.Op) {
	r := &c.candidates[index]
	if o.Kind = kv.CAS; o.Indefinite() {
		if r.key.UnansweredSince == 0 {
			r.key.UnansweredSince = max(o.Invoked, 1)
		}
		if r.latestSeenNode != 0 {
			t.noteNode(c, index, r.latestSeenNode, o.Done)
		}
		return
	}
	order, ok := parseSequence(ev.Key)
	if o.Outcome != kv.OK || !ok {
		return
	}
	if r.key.MayExist { // the list that did not contain the previous node may have been out of date
		r.olderKeys = append(r.olderKeys, r.key)
	}
	o.Key, o.Written = c.nodeKey(index, order), c.valueIdentity(index)
	r.key.Number, r.key.MayExist, r.nodeNumber = o.Key, false, order
	r.key.RecordCreate(o)
	c.recorder.Add(o)
}

// noteNode handles a node that appeared in a response to another candidate. If a call without a
// response may have created this node, noteNode records, once, that the node was created and that
// it may be deleted when its session ends.
func (t queueRecorder) noteNode(c *chronicle, index int, order, now int64) {
	r := &c.candidates[index]
	if r.latestSeenNode = order; r.key.UnansweredSince == 0 || order == r.latestRecordedNode || order == r.nodeNumber {
		return
	}
	r.latestRecordedNode = order
	key := c.nodeKey(index, order)
	c.recorder.Add(&history.Op{
		Kind: kv.CAS, Outcome: kv.ConnectionLost, Session: uint32(index), Key: key, Written: c.valueIdentity(index), // #nosec G115 -- a count
		Invoked: min(r.key.UnansweredSince, now), Done: now,
	})
	app.RecordPossibleDelete(c.recorder, key, uint32(index), r.key.UnansweredSince, now) // #nosec G115 -- a count
}

// recordRemoval records the deletion of a node. If the node does not exist, the call's outcome is a
// conflict.
func (t queueRecorder) recordRemoval(c *chronicle, index int, order int64, o *history.Op) {
	if order == 0 {
		return
	}
	o.Key = c.nodeKey(index, order)
	if o.Kind = kv.Delete; o.Outcome == kv.Conflict {
		o.Outcome = kv.Miss
	}
	if r := &c.candidates[index]; o.HasStoreData() && order == r.nodeNumber {
		r.key.MayExist, r.nodeNumber = false, 0
	}
	c.recorder.Add(o)
}

// recordAwait records a read that also sets a watch. It reads the node that precedes the
// candidate's own node.
func (t queueRecorder) recordAwait(c *chronicle, index int, order int64, ev *store.Event, o *history.Op) {
	o.Key = c.nodeKey(index, order)
	if o.Outcome == kv.OK {
		if owner, run, ok := ParseCandidate(ev.Value); ok && run == c.script.run && owner < len(c.candidates) {
			t.noteNode(c, owner, order, o.Done)
		}
		o.Read, o.ModRevision = c.identity(ev.Value), ev.VersionRevision()
	}
	c.recorder.Add(o)
	c.beginWatcher(index, o.Key, 0, ev, o)
}

// recordList records a listing of an office's nodes.
func (t queueRecorder) recordList(c *chronicle, index int, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	s, h := c.script, c.script.recipe.(*ephemeralQueue).names
	for i, owner := range h.owners {
		if h.runs[i] == s.run && int(owner) < len(c.candidates) {
			t.noteNode(c, int(owner), h.numbers[i], o.Done)
		}
	}
	c.lists++
	addRead := func(key, value uint64) {
		o.Key, o.Read = key, value
		c.recorder.Add(o)
		o.ContinuesPrevious = true
	}
	for i, owner := range h.owners {
		if h.runs[i] != s.run || int(owner) >= len(c.candidates) {
			continue
		}
		if r := &c.candidates[owner]; r.nodeNumber == h.numbers[i] {
			r.latestList = c.lists
		}
		addRead(c.nodeKey(index, h.numbers[i]), c.valueIdentity(int(owner)))
	}
	first := index / s.Candidates * s.Candidates
	for member := first; member < first+s.Candidates; member++ {
		if r := &c.candidates[member]; r.key.MayExist && r.nodeNumber != 0 && r.latestList != c.lists {
			addRead(r.key.Number, history.Absent)
		}
	}
}

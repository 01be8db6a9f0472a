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

func (c *chronicle) nodeKey(of int, order int64) uint64 {
	return uint64(of/c.script.Candidates)<<nodeShift | uint64(order) // #nosec G115 -- ten digits
}

func (t queueRecorder) record(c *chronicle, of int, call Call, ev *store.Event, o *history.Op) {
	asks := &c.script.candidates[of].asks
	switch call {
	case Stand:
		t.recordStand(c, of, ev, o)
	case Resign:
		t.recordRemoval(c, of, asks.own, o)
	case Drop:
		t.recordRemoval(c, of, asks.before, o)
	case Look:
		t.recordList(c, of, o)
	case Await:
		if asks.run == c.script.run { // a node from an earlier run is deleted when its session ends
			t.recordAwait(c, of, asks.before, ev, o)
		}
	}
}

// recordStand records that a node was created. If the call has no response, the node's number is
// unknown. In that case, the creation is recorded as soon as another response contains the node.
func (t queueRecorder) recordStand(c *chronicle, of int, ev *store.Event, o *history.Op) {
	r := &c.of[of]
	if o.Kind = kv.CAS; o.Indefinite() {
		if r.key.Unsure == 0 {
			r.key.Unsure = max(o.Invoked, 1)
		}
		if r.seen != 0 {
			t.noteNode(c, of, r.seen, o.Done)
		}
		return
	}
	order, ok := sequence(ev.Key)
	if o.Outcome != kv.OK || !ok {
		return
	}
	if r.key.There { // the list that did not contain the previous node may have been out of date
		r.older = append(r.older, r.key)
	}
	o.Key, o.Written = c.nodeKey(of, order), c.valueOf(of)
	r.key.Number, r.key.There, r.order = o.Key, false, order
	r.key.MayBeMade(o)
	c.to.Add(o)
}

// noteNode handles a node that appeared in a response to another candidate. If a call without a
// response may have created this node, noteNode records, once, that the node was created and that
// it may be deleted when its session ends.
func (t queueRecorder) noteNode(c *chronicle, of int, order, now int64) {
	r := &c.of[of]
	if r.seen = order; r.key.Unsure == 0 || order == r.known || order == r.order {
		return
	}
	r.known = order
	key := c.nodeKey(of, order)
	c.to.Add(&history.Op{
		Kind: kv.CAS, Outcome: kv.ConnectionLost, Session: uint32(of), Key: key, Written: c.valueOf(of), // #nosec G115 -- a count
		Invoked: min(r.key.Unsure, now), Done: now,
	})
	app.RecordPossibleDelete(c.to, key, uint32(of), r.key.Unsure, now) // #nosec G115 -- a count
}

// recordRemoval records the deletion of a node. If the node does not exist, the call's outcome is a
// conflict.
func (t queueRecorder) recordRemoval(c *chronicle, of int, order int64, o *history.Op) {
	if order == 0 {
		return
	}
	o.Key = c.nodeKey(of, order)
	if o.Kind = kv.Delete; o.Outcome == kv.Conflict {
		o.Outcome = kv.Miss
	}
	if r := &c.of[of]; o.Answered() && order == r.order {
		r.key.There, r.order = false, 0
	}
	c.to.Add(o)
}

// recordAwait records a read that also sets a watch. It reads the node that precedes the
// candidate's own node.
func (t queueRecorder) recordAwait(c *chronicle, of int, order int64, ev *store.Event, o *history.Op) {
	o.Key = c.nodeKey(of, order)
	if o.Outcome == kv.OK {
		if who, run, ok := ParseCandidate(ev.Value); ok && run == c.script.run && who < len(c.of) {
			t.noteNode(c, who, order, o.Done)
		}
		o.Read, o.Mod = c.identity(ev.Value), ev.VersionRevision()
	}
	c.to.Add(o)
	c.beginWatcher(of, o.Key, 0, ev, o)
}

// recordList records a listing of an office's nodes.
func (t queueRecorder) recordList(c *chronicle, of int, o *history.Op) {
	if o.Outcome != kv.OK {
		return
	}
	s, h := c.script, c.script.recipe.(*ephemeralQueue).names
	for i, who := range h.of {
		if h.runs[i] == s.run && int(who) < len(c.of) {
			t.noteNode(c, int(who), h.order[i], o.Done)
		}
	}
	c.lists++
	part := func(key, value uint64) {
		o.Key, o.Read = key, value
		c.to.Add(o)
		o.Joined = true
	}
	for i, who := range h.of {
		if h.runs[i] != s.run || int(who) >= len(c.of) {
			continue
		}
		if r := &c.of[who]; r.order == h.order[i] {
			r.list = c.lists
		}
		part(c.nodeKey(of, h.order[i]), c.valueOf(int(who)))
	}
	first := of / s.Candidates * s.Candidates
	for who := first; who < first+s.Candidates; who++ {
		if r := &c.of[who]; r.key.There && r.order != 0 && r.list != c.lists {
			part(r.key.Number, history.Absent)
		}
	}
}

package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// readBack lists each office's sequential nodes after the load. A node from this run should exist
// only if its session was not closed.
type readBack struct {
	source
	// The lists are indexed by the operation's tag, because several lists are read at the same
	// time.
	lists   map[uint32]*nodeList
	current *nodeList // the list that is being read
}

// Begin implements store.Keys.
func (b *readBack) Begin(tag uint32) bool {
	if b.current = b.lists[tag]; b.current == nil {
		b.current = &nodeList{}
		b.lists[tag] = b.current
	}
	return b.current.Begin(tag)
}

// Add implements store.Keys.
func (b *readBack) Add(tag uint32, name, value []byte, revision int64) {
	b.current.Add(tag, name, value, revision)
}

// listOf returns the list in a response, or an empty list if the response was an error.
func (b *readBack) listOf(ev *store.Event) *nodeList {
	if h := b.lists[ev.Tag]; h != nil {
		return h
	}
	return &nodeList{}
}

// record adds reads to the history: one for each node that is in an office's list and was created
// by this run.
func (b *readBack) record(c *chronicle, office uint64, ev *store.Event, o *history.Op) {
	if o.Kind = kv.Get; ev.Outcome != kv.OK {
		return
	}
	o.Outcome = kv.OK
	h := b.listOf(ev)
	for i, owner := range h.owners {
		if h.runs[i] != b.run || int(owner) >= len(c.candidates) {
			continue
		}
		o.Key, o.Read = office<<nodeShift|uint64(h.numbers[i]), c.valueIdentity(int(owner)) // #nosec G115 -- ten digits
		c.recorder.Add(o)
		o.ContinuesPrevious = true
	}
}

// Read implements app.KeyRecorder.
func (c *chronicle) Read(number uint64, ev *store.Event, o *history.Op) {
	if c.script.readBack != nil {
		c.script.readBack.record(c, number, ev, o)
		return
	}
	if o.Key = number; o.Outcome == kv.OK {
		if c.setRead(ev, ev.VersionRevision(), o); c.script.way.Recipe == SessionRace {
			o.ModRevision = 0 // the end of a session changes the revision, too
		}
	}
	c.recorder.Add(o)
}

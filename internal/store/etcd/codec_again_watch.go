package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Recorded watchers sent again: all of a connection on its first Watch stream, under the
// numbers that Op.Watch gives them.

// ending is a watcher whose end was asked for.
type ending struct{ tag, watcher uint32 }

// watchAgain begins a recorded watcher, with all that it asked for.
func (c *codec) watchAgain(op *store.Op, p *call.Part) {
	if len(c.watches) == 0 {
		c.watches = append(c.watches, watchStream{})
	}
	w := &c.watches[0]
	if w.id == 0 {
		w.id = c.conn.OpenStream(c.watchRPC, 0, uint8(c.gen<<genShift)|callWatch)
	}
	b := appendWatcher(c.again[:0], p)
	b = wrap(b, 0, 1<<3|pbBytes) // WatchRequest{create_request: 1}
	c.again = b
	copy(c.conn.Send(w.id, len(b)), b)
	w.creating = append(w.creating, creation{op.Tag, op.Watch.Watcher})
}

// appendWatcher appends a WatchCreateRequest{key: 1, range_end: 2, start_revision: 3,
// progress_notify: 4, filters: 5, prev_kv: 6, fragment: 8}.
func appendWatcher(b []byte, p *call.Part) []byte {
	b = appendNumber(appendKeys(b, p), 3<<3, p.Number)
	b = appendFlag(b, 4<<3, p.Flags&call.Progress)
	if p.Flags&call.NoWrites != 0 {
		b = append(b, 5<<3|pbVarint, 0)
	}
	if p.Flags&call.NoRemovals != 0 {
		b = append(b, 5<<3|pbVarint, 1)
	}
	b = appendFlag(b, 6<<3, p.Flags&call.Before)
	return appendFlag(b, 8<<3, p.Flags&call.Fragment)
}

// endWatcher asks for a watcher's end. Where there is none any more, something harmless
// is asked for, because an answer can only come from Feed.
func (c *codec) endWatcher(op *store.Op, gen uint8) {
	for i := range c.watches {
		w := &c.watches[i]
		for id, watcher := range w.watchers {
			if watcher != op.Watch.Watcher || w.id == 0 {
				continue
			}
			// WatchRequest{cancel_request: 2 {watch_id: 1}}
			b := append(c.again[:0], 1<<3|pbVarint)
			b = wrap(appendVarint(b, uint64(id)), 0, 2<<3|pbBytes) // #nosec G115 -- an index
			c.again = b
			copy(c.conn.Send(w.id, len(b)), b)
			c.endings = append(c.endings, ending{op.Tag, watcher})
			return
		}
	}
	b := appendText(c.again[:0], 1<<3|pbBytes, harmless)
	c.again = b
	copy(c.conn.Call(c.rangeRPC, op.Tag, gen|callAgainRead, len(b)), b)
}

var harmless = []byte("quorumbench/refused")

// endedByUs is the operation that asked for a watcher's end, if one did; gaveUp if it
// was given up meanwhile.
func (c *codec) endedByUs(watcher uint32) (tag uint32, ok bool) {
	for i, e := range c.endings {
		if e.watcher == watcher {
			c.endings = append(c.endings[:i], c.endings[i+1:]...)
			return e.tag, true
		}
	}
	return 0, false
}

// cancelEnding forgets who waits for a watcher's end.
func (c *codec) cancelEnding(tag uint32) {
	for i := range c.endings {
		if c.endings[i].tag == tag {
			c.endings[i].tag = gaveUp
		}
	}
}

// lostEndings appends the end of the operations that wait for a watcher's: its stream
// is over, so that the watcher is, too.
func (c *codec) lostEndings(to []store.Event, r *h2.Reply) []store.Event {
	for _, e := range c.endings {
		if e.tag != gaveUp {
			to = append(to, store.Event{Tag: e.tag, Outcome: outcomeOfEnd(r.End), Text: r.Text})
		}
	}
	c.endings = c.endings[:0]
	return to
}

package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
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
	c.request = message.AppendWatch(c.request[:0], p)
	c.sendOn(w.id)
	w.creating = append(w.creating, creation{op.Tag, op.Watch.Watcher})
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
			c.request = message.AppendCancel(c.request[:0], uint64(id)) // #nosec G115 -- an index
			c.sendOn(w.id)
			c.endings = append(c.endings, ending{op.Tag, watcher})
			return
		}
	}
	c.send(c.rangeRPC, op.Tag, gen|callAgainRead, &call.Part{Action: call.Read, Key: harmless})
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

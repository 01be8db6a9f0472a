package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
)

// Recorded watchers sent again: all of a connection on its first Watch stream, under the
// numbers that Op.Watch gives them.

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

package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// watchOther asks for a watcher of the key before ours.
func (c *codec) watchOther(place uint32) {
	w, m := &c.waits, &c.stm.table[place].lock.mutex
	if w.stream == 0 {
		w.stream = c.conn.OpenStream(c.watchRPC, ownTag, uint8(c.gen<<genShift)|callLockWatch)
	}
	m.wait++
	w.creating = append(w.creating, lockWait{place, m.wait})
	c.createWatcher(w.stream, &store.Op{Key: m.before, Start: m.revision})
}

// leaveWait gives up a mutex's watcher.
func (c *codec) leaveWait(l *lock) {
	l.mutex.wait++
	if id := l.mutex.watcher; id != noLockWatcher {
		l.mutex.watcher = noLockWatcher
		delete(c.waits.watchers, id)
		c.cancelLockWatcher(id)
	}
}

// cancelLockWatcher sends a WatchRequest{cancel_request: 2 {watch_id: 1}}.
func (c *codec) cancelLockWatcher(id int64) {
	if !c.conn.IsOpen(c.waits.stream) {
		return
	}
	size := 0
	if id != 0 {
		size = 1 + sizeVarint(uint64(id))
	}
	b := putHead(c.conn.Send(c.waits.stream, sizeBytes(size)), 2<<3|pbBytes, size)
	if id != 0 {
		b[0] = 1<<3 | pbVarint
		putVarint(b[1:], uint64(id))
	}
}

// lockWatchReply takes a message of the mutexes' Watch stream, or its end.
func (c *codec) lockWatchReply(r *h2.Reply, to []store.Event) ([]store.Event, error) {
	if r.End != h2.Message {
		return c.lockWatchEnded(r, to), nil
	}
	w := &c.waits
	var m watchMessage
	var ok bool
	if w.events, ok = m.parse(c, r.Body, w.events[:0]); !ok {
		return to, errMalformed
	}
	if m.created {
		return c.lockWatcherCreated(&m, to), nil
	}
	place, ok := w.watchers[m.id]
	if !ok {
		return to, nil // of a watcher that was given up, or a progress notification
	}
	l := &c.stm.table[place].lock
	if m.canceled {
		delete(w.watchers, m.id)
		if l.mutex.watcher = noLockWatcher; m.compacted == 0 {
			return c.lockFailed(place, m.outcome(), m.why(), to), nil
		}
		l.state = wantsOthers
		c.advanceSTM(place)
		return to, nil
	}
	for i := range w.events {
		if w.events[i].Version == 0 { // deleted
			c.leaveWait(l)
			l.state = wantsOthers
			c.advanceSTM(place)
			break
		}
	}
	return to, nil
}

// lockWatcherCreated takes the number of the oldest watcher that was asked for.
func (c *codec) lockWatcherCreated(m *watchMessage, to []store.Event) []store.Event {
	w := &c.waits
	if w.first == len(w.creating) {
		return to
	}
	asked := w.creating[w.first]
	w.creating, w.first = dropFirst(w.creating, w.first)
	t := &c.stm.table[asked.place]
	wanted := t.busy && t.lock.state == waiting && t.lock.mutex.wait == asked.wait
	switch {
	case m.canceled && wanted:
		return c.lockFailed(asked.place, m.outcome(), m.why(), to)
	case m.canceled:
	case wanted:
		if w.watchers == nil {
			w.watchers = map[int64]uint32{}
		}
		w.watchers[m.id] = asked.place
		t.lock.mutex.watcher = m.id
	default:
		c.cancelLockWatcher(m.id)
	}
	return to
}

func (c *codec) lockFailed(place uint32, o kv.Outcome, why []byte, to []store.Event) []store.Event {
	return c.endSTM(place, &store.Event{Tag: c.stm.table[place].tag, Outcome: o, Text: why}, to)
}

// lockWatchEnded ends the transactions that wait for their lock. The next wait
// opens another stream.
func (c *codec) lockWatchEnded(r *h2.Reply, to []store.Event) []store.Event {
	var e store.Event
	c.failed(r, &e)
	if r.End == h2.Answered && r.Code == h2.StatusOK {
		e.Outcome, e.Text = kv.StoreError, []byte("the server ended the watch stream on which a lock was waited for")
	}
	w := &c.waits
	w.stream, w.creating, w.first = 0, w.creating[:0], 0
	clear(w.watchers)
	for place := range c.stm.table {
		if t := &c.stm.table[place]; t.busy && t.lock.state == waiting {
			t.lock.mutex.watcher = noLockWatcher
			to = c.lockFailed(uint32(place), e.Outcome, e.Text, to)
		}
	}
	return to
}

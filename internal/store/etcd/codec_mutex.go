package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// acquire sends a transaction that creates the session's key if the key does not exist yet. The
// transaction also reads the oldest key of all clients that want the lock, whether or not it
// creates a key.
func (c *codec) acquire(slot uint32) {
	l := &c.stm.table[slot].lock
	oldest := l.readSorted()
	oldest.Branch = call.Then
	c.parts = append(c.parts[:0],
		call.Part{Action: call.Compare, Target: call.Created, Key: l.key},
		call.Part{Action: call.Write, Branch: call.Then, Key: l.key, Lease: l.session},
		oldest,
		call.Part{Action: call.Read, Branch: call.Else, Key: l.key})
	oldest.Branch = call.Else
	c.parts = append(c.parts, oldest)
	c.sendTxn(stmTag(slot, 0), c.lockSub(callLock))
}

// readSorted returns the request part that reads the oldest key of all clients that want the lock.
func (l *lock) readSorted() call.Part {
	return call.Part{
		Action: call.Read, Scope: call.Interval, Key: l.prefix, End: l.end,
		Limit: 1, Flags: call.Sorted, Target: call.Created,
	}
}

// readOlderKey sends a RangeRequest for the newest of the keys that were created before the
// session's key.
func (c *codec) readOlderKey(slot uint32) {
	l := &c.stm.table[slot].lock
	last := l.readSorted()
	last.Flags |= call.Descending
	last.MaxCreateRevision = l.mutex.created - 1
	c.sendForLock(c.rangeRPC, slot, callLock, &last)
}

// checkKey sends a RangeRequest for the session's key, to check that it still exists.
func (c *codec) checkKey(slot uint32) {
	l := &c.stm.table[slot].lock
	c.sendForLock(c.rangeRPC, slot, callLock, &call.Part{Action: call.Read, Key: l.key})
}

// handleAcquire handles the TxnResponse that replies to acquire.
func (c *codec) handleAcquire(l *lock, b []byte) bool {
	var head store.Event
	// The create revision of the session's key, if it already existed, and of the oldest key.
	var created [2]int64
	succeeded, revision, n := false, int64(0), 0
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case message.HeaderTag:
			f.must(c.parseHeader(f.v, &head))
			revision = c.extra.revision
		case message.TxnSucceededTag:
			succeeded = f.n != 0
		case message.TxnResultTag:
			if n < len(created) {
				var ok bool
				created[n], ok = createRevisionIn(f.v)
				f.must(ok)
				n++
			}
		}
	}
	if l.mutex.created = revision; !succeeded {
		l.mutex.created = created[0]
	}
	if !f.ok() || n < len(created) || l.mutex.created <= 0 {
		return false
	}
	if l.state = wantsOlderKey; created[1] == 0 || created[1] == l.mutex.created {
		l.state = holding
	}
	return true
}

// createRevisionIn returns the create_revision of the last key in a ResponseOp with the result of a
// read, or 0 if there is no key. The response has at most one key.
func createRevisionIn(b []byte) (created int64, ok bool) {
	op := fields{b: b}
	for op.next() {
		if op.tag != message.RangeResultTag {
			continue
		}
		found := fields{b: op.v}
		for found.next() {
			if found.tag != message.RangeKVTag {
				continue
			}
			pair := fields{b: found.v}
			for pair.next() {
				if pair.tag == message.CreateRevisionTag {
					created = int64(pair.n)
				}
			}
			found.must(pair.ok())
		}
		op.must(found.ok())
	}
	return created, op.ok()
}

// handleOlderKey handles the reply to readOlderKey.
func (c *codec) handleOlderKey(l *lock, b []byte) bool {
	var found store.Event
	if !c.parseRange(b, &found) {
		return false
	}
	if found.Count == 0 {
		l.state = wantsCheck
		return true
	}
	l.mutex.olderKey, l.mutex.revision = append(l.mutex.olderKey[:0], found.Key...), c.extra.revision
	l.state = wantsWatcher
	return len(found.Key) > 0
}

// watchOlderKey creates a watcher for the key that was created just before the session's key.
func (c *codec) watchOlderKey(slot uint32) {
	w, m := &c.waits, &c.stm.table[slot].lock.mutex
	if w.stream == 0 {
		w.stream = c.conn.OpenStream(c.watchRPC, ownTag, uint8(c.gen<<genShift)|callLockWatch)
	}
	m.watchCount++
	w.creating = append(w.creating, lockWait{slot, m.watchCount})
	c.createWatcher(w.stream, m.olderKey, &store.WatchOp{Start: m.revision})
}

// stopWaiting ends a mutex's wait for the deletion of an earlier key. If the server has already
// created the watcher for that key, stopWaiting cancels the watcher; otherwise the watcher is
// cancelled when the server creates it.
func (c *codec) stopWaiting(l *lock) {
	l.mutex.watchCount++
	if id := l.mutex.watcher; id != noLockWatcher {
		l.mutex.watcher = noLockWatcher
		delete(c.waits.watchers, id)
		c.cancelLockWatcher(id)
	}
}

// cancelLockWatcher sends a WatchRequest that cancels a watcher.
func (c *codec) cancelLockWatcher(id int64) {
	if c.conn.IsOpen(c.waits.stream) {
		c.request = message.AppendCancel(c.request[:0], uint64(id))
		c.sendOn(c.waits.stream)
	}
}

// lockWatchReply handles a message on the mutexes' Watch stream, or the stream's end.
func (c *codec) lockWatchReply(r *h2.Reply, events []store.Event) ([]store.Event, error) {
	if r.End != h2.Message {
		return c.lockWatchEnded(r, events), nil
	}
	w := &c.waits
	var m watchMessage
	var ok bool
	if w.events, ok = m.parse(c, r.Body, w.events[:0]); !ok {
		return events, errMalformed
	}
	if m.created {
		return c.lockWatcherCreated(&m, events), nil
	}
	place, ok := w.watchers[m.id]
	if !ok {
		return events, nil // the message is for an abandoned watcher, or is a progress notification
	}
	l := &c.stm.table[place].lock
	if m.canceled {
		delete(w.watchers, m.id)
		if l.mutex.watcher = noLockWatcher; m.compacted == 0 {
			outcome, text := m.cancellation()
			return c.lockFailed(place, outcome, text, events), nil
		}
		l.state = wantsOlderKey
		c.advanceSTM(place)
		return events, nil
	}
	for i := range w.events {
		if w.events[i].Version == 0 { // the key was deleted
			c.stopWaiting(l)
			l.state = wantsOlderKey
			c.advanceSTM(place)
			break
		}
	}
	return events, nil
}

// lockWatcherCreated handles the server's message that it has created a watcher. The server creates
// watchers in the order of the requests, so the message is the reply to the oldest pending request.
func (c *codec) lockWatcherCreated(m *watchMessage, events []store.Event) []store.Event {
	w := &c.waits
	if w.first == len(w.creating) {
		return events
	}
	asked := w.creating[w.first]
	w.creating, w.first = dropFirst(w.creating, w.first)
	t := &c.stm.table[asked.slot]
	wanted := t.busy && t.lock.state == waiting && t.lock.mutex.watchCount == asked.wait
	switch {
	case m.canceled && wanted:
		outcome, text := m.cancellation()
		return c.lockFailed(asked.slot, outcome, text, events)
	case m.canceled:
	case wanted:
		if w.watchers == nil {
			w.watchers = map[int64]uint32{}
		}
		w.watchers[m.id] = asked.slot
		t.lock.mutex.watcher = m.id
	default:
		c.cancelLockWatcher(m.id)
	}
	return events
}

func (c *codec) lockFailed(slot uint32, o kv.Outcome, reason []byte, events []store.Event) []store.Event {
	return c.endSTM(slot, &store.Event{Tag: c.stm.table[slot].tag, Outcome: o, Text: reason}, events)
}

// lockWatchEnded fails the transactions that wait for their lock, because the Watch stream has
// ended. The next transaction that waits opens a new stream.
func (c *codec) lockWatchEnded(r *h2.Reply, events []store.Event) []store.Event {
	var e store.Event
	c.setFailure(r, &e)
	if r.End == h2.Answered && r.Code == h2.StatusOK {
		e.Outcome, e.Text = kv.StoreError, []byte("the server closed the watch stream on which the client waited for a lock")
	}
	w := &c.waits
	w.stream, w.creating, w.first = 0, w.creating[:0], 0
	clear(w.watchers)
	for place := range c.stm.table {
		if t := &c.stm.table[place]; t.busy && t.lock.state == waiting {
			t.lock.mutex.watcher = noLockWatcher
			events = c.lockFailed(uint32(place), e.Outcome, e.Text, events)
		}
	}
	return events
}

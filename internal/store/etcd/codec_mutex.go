package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// mutex is a lock as package concurrency of etcd's client makes it: each who
// wants it creates a key under the prefix, bound to his lease, and the oldest
// key's owner has it. Who has to wait watches the key that was created last
// before his own until it is deleted, asks again, and at last whether his own
// is still there.
type mutex struct {
	created  int64  // our key's create_revision
	before   []byte // the key before ours
	revision int64  // at which that was so
	watcher  int64  // the server's number of the watcher; or noLockWatcher
	wait     uint32 // counts the watches
}

const noLockWatcher = -1

// lockWaits is the Watch stream of the connection's mutexes.
type lockWaits struct {
	stream   uint32 // 0: not open
	creating []lockWait
	first    int              // of creating
	watchers map[int64]uint32 // who waits, by the server's number: his place
	events   []store.Event    // of one message
}

// lockWait is a watcher that is asked for. It is not wanted any more if the
// mutex counts another watch.
type lockWait struct{ place, wait uint32 }

// Sizes of fields whose numbers and values are small.
const sizeFlag = 2

// acquire sends a TxnRequest: if our key is not there, make it; and in any case
// read whose key is the oldest.
//
//	compare: 1 {target: 2 = CREATE, key: 3, create_revision: 5 = 0}
//	success: 2 {request_put: 2 {key: 1, lease: 3}}, 2 {request_range: 1 {...}}
//	failure: 3 {request_range: 1 {key: 1}}, 3 {request_range: 1 {...}}
func (c *codec) acquire(place uint32) {
	l := &c.stm.table[place].lock
	lease, key := uint64(l.session), sizeBytes(len(l.key))
	compare := sizeFlag + key + sizeFlag
	put := key + 1 + sizeVarint(lease)
	oldest := l.sizeOldest()
	size := sizeBytes(compare) + sizeBytes(sizeBytes(put)) + sizeBytes(sizeBytes(key)) + 2*sizeBytes(sizeBytes(oldest))

	b := c.callOfLock(c.txnRPC, place, callLock, size)
	b = putHead(b, 1<<3|pbBytes, compare)
	b[0], b[1] = 2<<3|pbVarint, 1
	b = putBytes(b[2:], 3<<3|pbBytes, l.key)
	b[0], b[1] = 5<<3|pbVarint, 0

	b = putHead(b[2:], 2<<3|pbBytes, sizeBytes(put))
	b = putHead(b, 2<<3|pbBytes, put)
	b = putBytes(b, 1<<3|pbBytes, l.key)
	b[0] = 3<<3 | pbVarint
	b = putVarint(b[1:], lease)
	b = l.putOldest(putHead(putHead(b, 2<<3|pbBytes, sizeBytes(oldest)), 1<<3|pbBytes, oldest))

	b = putHead(putHead(b, 3<<3|pbBytes, sizeBytes(key)), 1<<3|pbBytes, key)
	b = putBytes(b, 1<<3|pbBytes, l.key)
	l.putOldest(putHead(putHead(b, 3<<3|pbBytes, sizeBytes(oldest)), 1<<3|pbBytes, oldest))
}

// sizeOldest is the size of the RangeRequest{key: 1, range_end: 2, limit: 3 = 1,
// sort_order: 5 = ASCEND, sort_target: 6 = CREATE} that putOldest writes.
func (l *lock) sizeOldest() int { return sizeBytes(len(l.prefix)) + sizeBytes(len(l.end)) + 3*sizeFlag }

func (l *lock) putOldest(b []byte) []byte { return l.putSorted(b, 1) }

func (l *lock) putSorted(b []byte, order byte) []byte {
	b = putBytes(putBytes(b, 1<<3|pbBytes, l.prefix), 2<<3|pbBytes, l.end)
	b[0], b[1] = 3<<3|pbVarint, 1
	b[2], b[3] = 5<<3|pbVarint, order
	b[4], b[5] = 6<<3|pbVarint, 2
	return b[6:]
}

// askOthers sends the RangeRequest that finds the key created last before ours:
// as putOldest, but DESCEND, and max_create_revision: 13.
func (c *codec) askOthers(place uint32) {
	l := &c.stm.table[place].lock
	before := uint64(l.mutex.created - 1)
	b := c.callOfLock(c.rangeRPC, place, callLock, l.sizeOldest()+1+sizeVarint(before))
	b = l.putSorted(b, 2)
	b[0] = 13<<3 | pbVarint
	putVarint(b[1:], before)
}

// checkKey sends a RangeRequest{key: 1}.
func (c *codec) checkKey(place uint32) {
	l := &c.stm.table[place].lock
	putBytes(c.callOfLock(c.rangeRPC, place, callLock, sizeBytes(len(l.key))), 1<<3|pbBytes, l.key)
}

// acquired takes the TxnResponse{header: 1, succeeded: 2, responses: 3} to what
// acquire sent.
func (c *codec) acquired(l *lock, b []byte) bool {
	var head store.Event
	var created [2]int64 // of our key, if it was there, and of the oldest
	succeeded, revision, n := false, int64(0), 0
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case 1<<3 | pbBytes:
			f.must(c.parseHeader(f.v, &head))
			revision = c.extra.revision
		case 2<<3 | pbVarint:
			succeeded = f.n != 0
		case 3<<3 | pbBytes:
			if n < len(created) {
				var ok bool
				created[n], ok = createdIn(f.v)
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
	if l.state = wantsOthers; created[1] == 0 || created[1] == l.mutex.created {
		l.state = holding
	}
	return true
}

// createdIn is the create_revision of the last key of a ResponseOp{response_range:
// 1 {kvs: 2 {create_revision: 2}}}, which has one key at most; 0 if it has none.
func createdIn(b []byte) (created int64, ok bool) {
	op := fields{b: b}
	for op.next() {
		if op.tag != 1<<3|pbBytes {
			continue
		}
		found := fields{b: op.v}
		for found.next() {
			if found.tag != 2<<3|pbBytes {
				continue
			}
			pair := fields{b: found.v}
			for pair.next() {
				if pair.tag == 2<<3|pbVarint {
					created = int64(pair.n)
				}
			}
			found.must(pair.ok())
		}
		op.must(found.ok())
	}
	return created, op.ok()
}

// othersKnown takes the answer to what askOthers sent.
func (c *codec) othersKnown(l *lock, b []byte) bool {
	var found store.Event
	if !c.parseRange(b, &found) {
		return false
	}
	if found.Count == 0 {
		l.state = wantsCheck
		return true
	}
	l.mutex.before, l.mutex.revision = append(l.mutex.before[:0], found.Key...), c.extra.revision
	l.state = wantsWait
	return len(found.Key) > 0
}

// watchOther asks for a watcher of the key before ours.
func (c *codec) watchOther(place uint32) {
	w, m := &c.waits, &c.stm.table[place].lock.mutex
	if w.stream == 0 {
		w.stream = c.conn.OpenStream(c.watchRPC, ownTag, uint8(c.gen<<genShift)|callLockWatch)
	}
	m.wait++
	w.creating = append(w.creating, lockWait{place, m.wait})
	c.createWatcher(w.stream, m.before, &store.WatchOp{Start: m.revision})
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

package etcd

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

func (l *lock) begin(op *store.STMOp) {
	if l.state = unlocked; len(op.Lock) == 0 {
		return
	}
	l.state, l.session, l.isMutex = wantsLock, op.Lease, op.Locker == kv.LockClient
	l.mutex.watcher = noLockWatcher
	n := len(op.Lock)
	m := append(append(l.memory[:0], op.Lock...), '/'+1)
	m = append(append(m, op.Lock...), '/')
	m = strconv.AppendUint(m, uint64(op.Lease), 16)
	l.memory = m
	l.end, l.prefix, l.key = m[:n+1], m[n+1:2*n+2], m[n+1:]
}

// advanceLock sends the lock's next request, unless the lock is waiting for a reply.
func (c *codec) advanceLock(slot uint32) {
	l := &c.stm.table[slot].lock
	switch l.state {
	case locking, readingOlderKey, waiting, checking, unlocking:
		return
	case wantsLock:
		if c.stm.releasing > 0 && c.isReleasing(l.session) {
			c.stallSTM(slot)
			return
		}
	case wantsWatcher:
		if s := c.waits.stream; s != 0 && !c.conn.IsOpen(s) { // the stream has ended, but the reply that reports the end has not arrived yet
			c.stallSTM(slot)
			return
		}
	}
	if c.conn.Room() == 0 {
		c.stallSTM(slot)
		return
	}
	c.stm.table[slot].requests++
	switch l.state {
	case wantsLock:
		if l.isMutex {
			c.acquire(slot)
		} else {
			c.lock(slot)
		}
	case wantsOlderKey:
		c.readOlderKey(slot)
	case wantsWatcher:
		c.watchOlderKey(slot)
	case wantsCheck:
		c.checkKey(slot)
	case wantsUnlock:
		c.unlock(slot)
	}
	l.state++
}

// lock sends a LockRequest. It omits the slash after the name, because etcd's lock service adds the
// slash itself.
func (c *codec) lock(slot uint32) {
	l := &c.stm.table[slot].lock
	c.request = message.AppendLock(c.request[:0], l.prefix[:len(l.prefix)-1], uint64(l.session))
	c.sendRequest(c.lockRPC, stmTag(slot, 0), c.lockSub(callLock))
}

// unlock sends an UnlockRequest. For a client-side lock it sends a DeleteRangeRequest.
func (c *codec) unlock(slot uint32) {
	l := &c.stm.table[slot].lock
	if l.isMutex {
		c.sendForLock(c.deleteRPC, slot, callUnlock, &call.Part{Action: call.Remove, Key: l.key})
		return
	}
	c.request = message.AppendUnlock(c.request[:0], l.key)
	c.sendRequest(c.unlockRPC, stmTag(slot, 0), c.lockSub(callUnlock))
}

// handleLockReply handles the reply to one of the requests for a lock.
func (c *codec) handleLockReply(slot uint32, r *h2.Reply, events []store.Event) ([]store.Event, error) {
	l := &c.stm.table[slot].lock
	c.extra = replyExtras{}
	ok := true
	switch {
	case !l.isMutex:
		ok = c.handleGrant(l, r.Body)
	case l.state == locking:
		ok = c.handleAcquire(l, r.Body)
	case l.state == readingOlderKey:
		ok = c.handleOlderKey(l, r.Body)
	case l.state == checking:
		var found store.Event
		if ok = c.parseRange(r.Body, &found); ok && found.Count == 0 {
			e := store.Event{
				Tag: c.stm.table[slot].tag, Outcome: kv.BadRequest,
				Text: []byte("the lock was lost while the client waited for it: its lease expired, or another client deleted its key"),
			}
			return c.endSTM(slot, &e, events), nil
		}
		l.state = holding
	}
	if !ok {
		return events, errMalformed
	}
	if t := &c.stm.table[slot]; l.state == holding && t.observer != nil {
		events = append(events, store.Event{Tag: t.tag, Type: store.LockAcquired, Member: c.member, Revision: l.mutex.created, StoreRevision: c.extra.revision})
	}
	c.advanceSTM(slot)
	return events, nil
}

// handleGrant handles a LockResponse. The response does not contain the key's
// create revision, so the header's revision serves as the fencing token. This is the revision at
// which the lock was acquired. It increases from each lock holder to the next, because the deletion
// of the previous holder's key increases the store's revision.
func (c *codec) handleGrant(l *lock, b []byte) bool {
	var head store.Event
	key, ok := []byte(nil), true
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case message.HeaderTag:
			ok = c.parseHeader(f.v, &head)
		case message.LockKeyTag:
			key = f.v
		}
	}
	l.mutex.created = c.extra.revision
	if ok = ok && f.ok(); len(key) > 0 {
		at := len(l.memory)
		l.memory = append(l.memory, key...)
		l.key = l.memory[at:]
	}
	l.state = holding
	return ok
}

// abandonLock releases the lock of a transaction that ended early. It returns true if the
// transaction may hold the lock or may still acquire it. In that case the session's next
// transaction must wait for the reply to the release. If it did not wait, it could find the old
// key, which is about to be deleted, and mistake that key for its own. etcd's lock service may
// still grant an abandoned request after the release. That lock is then held until the session's
// next transaction, or until the lease expires.
func (c *codec) abandonLock(slot uint32) bool {
	l := &c.stm.table[slot].lock
	c.stopWaiting(l)
	switch l.state {
	case unlocked, wantsLock:
		l.state = unlocked
		return false
	}
	l.state = wantsAbandon
	c.stm.releasing++
	c.releaseLock(slot)
	return true
}

func (c *codec) releaseLock(slot uint32) {
	if c.conn.Room() == 0 {
		c.stallSTM(slot)
		return
	}
	c.stm.table[slot].lock.state = abandoning
	c.unlock(slot)
}

// finishRelease frees the table slot of a transaction that ended early, once the reply to the
// lock's release has arrived.
func (c *codec) finishRelease(slot uint32) {
	if l := &c.stm.table[slot].lock; l.state == abandoning {
		l.state = unlocked
		c.stm.releasing--
		c.stm.unused = append(c.stm.unused, slot)
	}
}

// isReleasing reports whether the session still waits for the release of a lock.
func (c *codec) isReleasing(session int64) bool {
	for place := range c.stm.table {
		if l := &c.stm.table[place].lock; (l.state == wantsAbandon || l.state == abandoning) && l.session == session {
			return true
		}
	}
	return false
}

package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

func stmTag(slot uint32, pair int) uint32 { return ownTag | slot<<stmPairBits | uint32(pair) }

// beginSTM starts a transaction and sends its first reads.
func (c *codec) beginSTM(op *store.Op) {
	if len(c.stm.unused) == 0 {
		c.stm.unused = append(c.stm.unused, uint32(len(c.stm.table)))
		c.stm.table = append(c.stm.table, stm{})
	}
	last := len(c.stm.unused) - 1
	place := c.stm.unused[last]
	c.stm.unused = c.stm.unused[:last]
	c.stm.open++
	t := &c.stm.table[place]
	t.tag, t.busy, t.iso, t.edit = op.Tag, true, op.STM.Isolation, op.STM.Edit
	t.observer = op.STM.Observer
	t.requests, t.retries = 0, 0
	t.copyPairs(op.STM.Pairs)
	t.startTry()
	t.lock.begin(op.STM)
	c.advanceSTM(place)
}

// copyPairs copies the operation's pairs, because a retry may happen after the caller
// reuses their memory.
func (t *stm) copyPairs(pairs []store.Pair) {
	size := 0
	for i := range pairs {
		size += len(pairs[i].Key) + len(pairs[i].Value)
	}
	if cap(t.memory) < size {
		t.memory = make([]byte, 0, size)
	}
	m := t.memory[:0]
	for len(t.pairs) < len(pairs) {
		t.pairs = append(t.pairs, stmPair{})
	}
	t.pairs = t.pairs[:len(pairs)]
	for i := range pairs {
		p := &t.pairs[i]
		k := len(m)
		m = append(m, pairs[i].Key...)
		v := len(m)
		m = append(m, pairs[i].Value...)
		p.key, p.value, p.writes = m[k:v:v], m[v:len(m):len(m)], pairs[i].Value != nil
	}
	t.memory = m
}

// startTry prepares the transaction for a new try, which sends all reads again.
func (t *stm) startTry() {
	t.next, t.pendingReads, t.firstRevision, t.committing = 0, len(t.pairs), 0, false
}

// advanceSTM sends the transaction's next requests: reads, or the commit.
func (c *codec) advanceSTM(slot uint32) {
	t := &c.stm.table[slot]
	if t.lock.state != unlocked && t.lock.state != holding {
		c.advanceLock(slot)
		return
	}
	for t.next < len(t.pairs) {
		if t.iso >= kv.Serializable && t.next > 0 && t.firstRevision == 0 {
			return // the other reads need the revision that the first read returns
		}
		if c.conn.Room() == 0 {
			c.stallSTM(slot)
			return
		}
		c.stmRead(slot, t.next)
		t.next++
		t.requests++
	}
	if t.pendingReads > 0 {
		return
	}
	if c.conn.Room() == 0 {
		c.stallSTM(slot)
		return
	}
	t.requests++
	t.committing = true
	c.stmCommit(slot)
}

func (c *codec) stallSTM(slot uint32) {
	if t := &c.stm.table[slot]; !t.stalled {
		t.stalled = true
		c.stm.stalled = append(c.stm.stalled, slot)
	}
}

// resumeSTM continues the transactions that waited until the connection could take another request.
func (c *codec) resumeSTM() {
	waiting := len(c.stm.stalled)
	for i := 0; i < waiting; i++ {
		place := c.stm.stalled[i]
		t := &c.stm.table[place]
		stalled := t.stalled // not set if the transaction that stalled has ended
		t.stalled = false
		switch {
		case !stalled:
		case t.busy:
			c.advanceSTM(place)
		case t.lock.state == wantsAbandon:
			c.releaseLock(place)
		}
	}
	c.stm.stalled = c.stm.stalled[:copy(c.stm.stalled, c.stm.stalled[waiting:])]
}

// stmReply handles the reply to a read or a commit. It skips replies for a transaction that has
// already ended.
func (c *codec) stmReply(r *h2.Reply, events []store.Event) ([]store.Event, error) {
	place := r.Tag &^ ownTag >> stmPairBits
	if place >= uint32(len(c.stm.table)) {
		return events, nil
	}
	t := &c.stm.table[place]
	if !t.busy {
		if r.Sub&callMask == callUnlock { // other late replies are skipped
			c.finishRelease(place)
		}
		return events, nil
	}
	e := store.Event{Tag: t.tag}
	if r.End != h2.Answered || r.Code != h2.StatusOK {
		c.setFailure(r, &e)
		if r.Sub&callMask == callUnlock {
			t.correctUnlockFailure(r, &e)
		}
		return c.endSTM(place, &e, events), nil
	}
	switch r.Sub & callMask {
	case callSTMCommit:
		return c.stmCommitted(place, r, events)
	case callLock:
		return c.handleLockReply(place, r, events)
	case callUnlock:
		t.lock.state = unlocked
		e = t.lock.result
		return c.endSTM(place, &e, events), nil
	}
	p := &t.pairs[r.Tag%maxSTMPairs]
	c.extra = replyExtras{}
	if !c.parseRange(r.Body, &e) {
		return events, errMalformed
	}
	if why := c.explainImpossible(callGet, &e); why != nil {
		return c.failSTM(place, why, events), nil
	}
	p.storeRead(&e, c.extra.revision, t.edit != nil)
	if t.firstRevision == 0 {
		t.firstRevision = max(p.revision, 1) // at least 1, because 0 means that the first read has no reply yet
	}
	t.pendingReads--
	c.advanceSTM(place)
	return events, nil
}

// correctUnlockFailure changes the event for a failed release of the lock, because the transaction
// was already committed. If the server did not respond, the commit's result is the transaction's
// result. Otherwise the outcome is the server's error, but never a definite one.
func (t *stm) correctUnlockFailure(r *h2.Reply, e *store.Event) {
	switch {
	case r.End != h2.Answered:
		*e = t.lock.result
	case e.Outcome.Definite():
		e.Outcome = kv.StoreError
	}
}

// storeRead stores the result of a read. If keepValue is true, it also stores the value.
func (p *stmPair) storeRead(e *store.Event, revision int64, keepValue bool) {
	p.revision, p.version, p.exists = revision, e.Revision, e.Count > 0
	if keepValue {
		p.readValue = append(p.readValue[:0], e.Value...)
	}
}

// stmCommitted handles the reply to a commit. It ends the transaction or starts the next try.
func (c *codec) stmCommitted(slot uint32, r *h2.Reply, events []store.Event) ([]store.Event, error) {
	t := &c.stm.table[slot]
	e := store.Event{Tag: t.tag}
	committed, ok := c.parseSTM(t, r.Body, &e)
	reason := t.explainImpossible(&c.extra, &e)
	switch {
	case !ok:
		return events, errMalformed
	case reason != nil:
		return c.failSTM(slot, reason, events), nil
	case committed:
		if t.reportCommit(&e); t.lock.state != holding {
			return c.endSTM(slot, &e, events), nil
		}
		t.lock.state, t.lock.result = wantsUnlock, e
		if t.observer != nil {
			events = append(events, store.Event{Tag: t.tag, Type: store.LockReleasing, Member: e.Member})
		}
		c.advanceSTM(slot)
		return events, nil
	}
	t.retries++
	if t.iso < kv.Serializable {
		t.startTry()
	} // at Serializable and above, the reply already contains the results of the next try's reads
	c.advanceSTM(slot)
	return events, nil
}

// reportCommit reports the compared versions and the commit to t.observer.
func (t *stm) reportCommit(e *store.Event) {
	if t.observer == nil {
		return
	}
	for i := range t.pairs {
		t.observer.Read(t.tag, t.pairs[i].version)
	}
	t.observer.Committed(t.tag, e.StoreRevision, e.Member)
}

// failSTM ends a transaction with the outcome WrongResponse and the given error text.
func (c *codec) failSTM(slot uint32, reason []byte, events []store.Event) []store.Event {
	e := store.Event{Tag: c.stm.table[slot].tag, Outcome: kv.WrongResponse, Text: reason}
	return c.endSTM(slot, &e, events)
}

// endSTM ends a transaction and frees its slot.
func (c *codec) endSTM(slot uint32, e *store.Event, events []store.Event) []store.Event {
	t := &c.stm.table[slot]
	e.ExtraRequests, e.Retries = max(t.requests, 1)-1, t.retries
	c.dropSTM(slot)
	return append(events, *e)
}

// dropSTM frees a transaction's slot and cancels its requests in flight.
func (c *codec) dropSTM(slot uint32) {
	t := &c.stm.table[slot]
	if t.pendingReads > 0 && t.next > 0 {
		for i := range t.next {
			c.conn.Cancel(stmTag(slot, i))
		}
	} else {
		c.conn.Cancel(stmTag(slot, 0))
	}
	t.busy, t.stalled = false, false
	c.stm.open--
	if !c.abandonLock(slot) {
		c.stm.unused = append(c.stm.unused, slot)
	}
}

// cancelSTM cancels the operation if it is a transaction. Otherwise it returns false.
func (c *codec) cancelSTM(tag uint32) bool {
	if c.stm.open == 0 {
		return false
	}
	for place := range c.stm.table {
		if t := &c.stm.table[place]; t.busy && t.tag == tag {
			c.dropSTM(uint32(place))
			return true
		}
	}
	return false
}

// lostSTM ends all transactions, because the connection was lost. A transaction that has not sent
// its commit has certainly changed nothing. A committed transaction keeps its result.
func (c *codec) lostSTM(events []store.Event) []store.Event {
	for place := range c.stm.table {
		if t := &c.stm.table[place]; t.busy {
			e := store.Event{Tag: t.tag, Outcome: kv.NotSent}
			switch {
			case t.lock.state == wantsUnlock:
				e = t.lock.result
			case t.committing:
				e.Outcome = kv.ConnectionLost
			}
			events = c.endSTM(uint32(place), &e, events)
		}
	}
	return events
}

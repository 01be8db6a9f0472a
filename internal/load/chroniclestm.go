package load

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// stmState holds what the codec has reported about an optimistic transaction.
type stmState struct {
	versions  []int64 // the versions that the transaction read, one for each pair
	committed bool
	at        int64 // revision of the commit
	member    uint64
}

// hold is a period in which a client holds the lock.
type hold struct {
	token        int64
	releaseStart int64 // when the client began to release the lock; -1: it has not begun
}

// transactionState returns the state of the transaction with the given tag.
func (c *chronicle) transactionState(tag uint32) *stmState {
	for int(tag) >= len(c.stms) {
		c.stms = append(c.stms, stmState{})
	}
	return &c.stms[tag]
}

// Read implements store.STMObserver.
func (c *chronicle) Read(tag uint32, version int64) {
	t := c.transactionState(tag)
	t.versions = append(t.versions, version)
}

// Committed implements store.STMObserver.
func (c *chronicle) Committed(tag uint32, at int64, member uint64) {
	t := c.transactionState(tag)
	t.committed, t.at, t.member = true, at, member
}

// LockChanged implements engine.History.
func (c *chronicle) LockChanged(ev *store.Event, client uint32, began, now int64) {
	if ev.Type == store.LockReleasing {
		if h, ok := c.holds[client]; ok {
			h.releaseStart = now
			c.holds[client] = h
		}
		return
	}
	if c.holds == nil {
		c.holds = map[uint32]hold{}
	}
	c.holds[client] = hold{token: max(ev.Revision, 0), releaseStart: -1}
	c.recorder.Add(&history.Op{
		Kind: kv.KeepAlive, LockChange: history.Granted, Session: client, Member: ev.Member, Invoked: min(began, now), Done: now,
		Written: uint64(c.src.leaseFor(0, client)), ModRevision: max(ev.Revision, 0), Revision: max(ev.StoreRevision, 0),
	})
}

// recordRelease records the end of a client's hold on the lock, whatever the outcomes of the
// release and of the transaction are. Without this record, the history would not show that the hold
// lasted any longer than its acquisition.
func (c *chronicle) recordRelease(o *history.Op) {
	h, ok := c.holds[o.Session]
	if !ok {
		return
	}
	delete(c.holds, o.Session)
	if c.lateReleaseClients[o.Session] {
		return
	}
	if h.releaseStart < 0 {
		h.releaseStart = o.Done
	}
	c.recorder.Add(&history.Op{
		Kind: kv.KeepAlive, LockChange: history.Released, Session: o.Session, Member: o.Member, Invoked: min(h.releaseStart, o.Done), Done: o.Done,
		Written: uint64(c.src.leaseFor(0, o.Session)), ModRevision: h.token,
	})
}

// recordSTM records one part for each key that an optimistic transaction writes, with the version
// that the transaction compared. It also records one part for each other key that the transaction
// compared. A transaction that was committed is a success even if the release of its lock failed.
func (c *chronicle) recordSTM(phase measure.Phase, n uint64, ev *store.Event, o *history.Op) {
	c.recordRelease(o)
	if c.src.stm.Locker != kv.LockNone && o.Outcome.Failed() {
		if c.lateReleaseClients == nil {
			c.lateReleaseClients = map[uint32]bool{}
		}
		c.lateReleaseClients[o.Session] = true
	}
	numbers, writes := c.src.drawSTM(phase, n)
	if phase == measure.Warmup {
		n |= warmupMark
	}
	t := c.transactionState(ev.Tag)
	compared := t.committed && len(t.versions) == len(numbers) && c.src.stm.Isolation > kv.ReadCommitted
	if t.committed {
		o.Outcome, o.Revision, o.Member = kv.OK, max(t.at, 0), t.member
	}
	for i := range numbers[:writes] {
		o.Key, o.Written, o.Expected, o.ContinuesPrevious = numbers[i], keys.Identity(n), history.UnknownRevision, i > 0
		if compared {
			o.Expected = max(t.versions[i], 0)
		}
		c.recorder.Add(o)
	}
	o.Written, o.Expected, o.Read = history.Absent, 0, history.UnknownValue
	// At isolation levels below serializable, the contacted member checks a transaction without
	// writes against its local data.
	if writes == 0 && c.src.stm.Isolation < kv.Serializable {
		o.Consistency = kv.Local
	}
	switch {
	case compared:
		for i := writes; i < len(numbers); i++ {
			o.Key, o.ModRevision, o.Read, o.ContinuesPrevious = numbers[i], max(t.versions[i], 0), history.UnknownValue, i > 0
			if o.ModRevision == 0 {
				o.Read = history.Absent
			}
			c.recorder.Add(o)
		}
	case writes == 0: // the transaction gives no information about any key
		c.recorder.Add(o)
	}
	t.versions, t.committed = t.versions[:0], false
}

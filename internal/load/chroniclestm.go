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
	token int64
	freed int64 // when the client began to release the lock; -1: it has not begun
}

// stmOf returns the state of the transaction with the given tag.
func (c *chronicle) stmOf(tag uint32) *stmState {
	for int(tag) >= len(c.stms) {
		c.stms = append(c.stms, stmState{})
	}
	return &c.stms[tag]
}

// Read implements store.STMObserver.
func (c *chronicle) Read(tag uint32, version int64) {
	t := c.stmOf(tag)
	t.versions = append(t.versions, version)
}

// Committed implements store.STMObserver.
func (c *chronicle) Committed(tag uint32, at int64, member uint64) {
	t := c.stmOf(tag)
	t.committed, t.at, t.member = true, at, member
}

// Locked implements engine.History.
func (c *chronicle) Locked(ev *store.Event, client uint32, began, now int64) {
	if ev.What == store.Freed {
		if h, ok := c.holds[client]; ok {
			h.freed = now
			c.holds[client] = h
		}
		return
	}
	if c.holds == nil {
		c.holds = map[uint32]hold{}
	}
	c.holds[client] = hold{token: max(ev.Revision, 0), freed: -1}
	c.to.Add(&history.Op{
		Kind: kv.KeepAlive, Lock: history.Granted, Session: client, Member: ev.Member, Invoked: min(began, now), Done: now,
		Written: uint64(c.src.leaseOf(0, client)), Mod: max(ev.Revision, 0), At: max(ev.At, 0),
	})
}

// recordRelease records the end of a client's hold on the lock, whatever the outcomes of the
// release and of the transaction are. A hold whose end is not recorded proves nothing.
func (c *chronicle) recordRelease(o *history.Op) {
	h, ok := c.holds[o.Session]
	if !ok {
		return
	}
	delete(c.holds, o.Session)
	if c.doubtful[o.Session] {
		return
	}
	if h.freed < 0 {
		h.freed = o.Done
	}
	c.to.Add(&history.Op{
		Kind: kv.KeepAlive, Lock: history.Released, Session: o.Session, Member: o.Member, Invoked: min(h.freed, o.Done), Done: o.Done,
		Written: uint64(c.src.leaseOf(0, o.Session)), Mod: h.token,
	})
}

// recordSTM records one part for each key that an optimistic transaction writes, with the version
// that the transaction compared. It also records one part for each other key that the transaction
// compared. A transaction that was committed is a success even if the release of its lock failed.
func (c *chronicle) recordSTM(phase measure.Phase, n uint64, ev *store.Event, o *history.Op) {
	c.recordRelease(o)
	if c.src.stm.Locker != kv.LockNone && o.Outcome.Failed() {
		if c.doubtful == nil {
			c.doubtful = map[uint32]bool{}
		}
		c.doubtful[o.Session] = true
	}
	numbers, writes := c.src.drawSTM(phase, n)
	if phase == measure.Warmup {
		n |= warmupMark
	}
	t := c.stmOf(ev.Tag)
	compared := t.committed && len(t.versions) == len(numbers) && c.src.stm.Isolation > kv.ReadCommitted
	if t.committed {
		o.Outcome, o.At, o.Member = kv.OK, max(t.at, 0), t.member
	}
	for i := range numbers[:writes] {
		o.Key, o.Written, o.Expected, o.Joined = numbers[i], keys.Identity(n), history.AnyMod, i > 0
		if compared {
			o.Expected = max(t.versions[i], 0)
		}
		c.to.Add(o)
	}
	o.Written, o.Expected, o.Read = history.Absent, 0, history.Unseen
	// At these levels, the contacted member checks a transaction without writes against its local
	// data.
	if writes == 0 && c.src.stm.Isolation < kv.Serializable {
		o.Consistency = kv.Local
	}
	switch {
	case compared:
		for i := writes; i < len(numbers); i++ {
			o.Key, o.Mod, o.Read, o.Joined = numbers[i], max(t.versions[i], 0), history.Unseen, i > 0
			if o.Mod == 0 {
				o.Read = history.Absent
			}
			c.to.Add(o)
		}
	case writes == 0: // the transaction gives no information about any key
		c.to.Add(o)
	}
	t.versions, t.committed = t.versions[:0], false
}

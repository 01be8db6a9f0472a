package load

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// toldSTM is what is known of an optimistic transaction that was committed.
type toldSTM struct {
	versions  []int64 // by its pairs
	committed bool
	at        int64
	member    uint64
}

// hold is a client's hold on the lock.
type hold struct {
	token int64
	freed int64 // when it was about to be given back; -1: it is not
}

func (c *chronicle) stmOf(tag uint32) *toldSTM {
	for int(tag) >= len(c.stms) {
		c.stms = append(c.stms, toldSTM{})
	}
	return &c.stms[tag]
}

// Read implements store.STMTold.
func (c *chronicle) Read(tag uint32, version int64) {
	t := c.stmOf(tag)
	t.versions = append(t.versions, version)
}

// Committed implements store.STMTold.
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

// released notes until when a client took the lock for its own: whatever comes of
// giving it back, and of the transaction. A hold without it proves nothing.
func (c *chronicle) released(o *history.Op) {
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

// stm has a part for each key that an optimistic transaction writes, on the version
// that it compared, and one for each other key that it compared. One that was
// committed is that, whatever came of giving its lock back.
func (c *chronicle) stm(phase measure.Phase, n uint64, ev *store.Event, o *history.Op) {
	c.released(o)
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
	if writes == 0 && c.src.stm.Isolation < kv.Serializable { // the member that was asked compares what it has
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
	case writes == 0: // it says nothing of any key
		c.to.Add(o)
	}
	t.versions, t.committed = t.versions[:0], false
}

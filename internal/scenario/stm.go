package scenario

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/readable"
)

// MaxSTMKeys bounds the keys that one optimistic transaction reads.
const MaxSTMKeys = 1024

func isSTM(k kv.Kind) bool { return k == kv.STM }

// setSTM reads what stm operations are.
func setSTM(d *draft, n *node) error {
	t := DefaultSTM()
	d.load.STM = &t
	return readEntries(d, "stm", n)
}

func (l *Load) checkSTM(c *checks) {
	if !l.has(isSTM) {
		return
	}
	t := l.stm()
	if t.KeysPerTxn > 0 && uint64(t.KeysPerTxn) > l.KeySpace {
		c.add("stm.keys", "<stm.keys> is %d, and the key space has only %s", t.KeysPerTxn, readable.Plural(l.KeySpace, "key"))
	}
	switch {
	case t.Isolation >= kv.NumIsolations:
		c.add("stm.isolation", "there is no such isolation; choose c, r, s or ss")
	case t.Locker >= kv.NumLockers:
		c.add("stm.locker", "there is no such locker; choose stm, lock-client or lock-rpc")
	case t.Locker != kv.LockNone && l.Arrival != Closed:
		c.add("stm.locker", "<stm.locker> %s makes clients wait for each other, so they cannot follow a <rate>; drop one of them", t.Locker)
	}
}

// stm is what the load's kv.STM operations are.
func (l *Load) stm() STM {
	if l.STM != nil {
		return *l.STM
	}
	return DefaultSTM()
}

// settleSTM keeps a scaled transaction within its key space, and says when none
// writes.
func (b *builder) settleSTM() {
	if !b.load.has(isSTM) {
		return
	}
	t := b.load.stm()
	if b.scaledFrom != nil && t.KeysPerTxn > 0 {
		b.load.KeySpace = max(b.load.KeySpace, min(uint64(t.KeysPerTxn), b.scaledFrom.KeySpace))
	}
	if t.KeysPerTxn > 0 && t.WritePercent >= 0 && t.KeysPerTxn*t.WritePercent/100 == 0 {
		b.said = append(b.said, b.words.sprintf("No transaction writes: %d percent (<stm.write-percent>) of %s (<stm.keys>) is no whole key.",
			t.WritePercent, readable.Plural(uint64(t.KeysPerTxn), "key")))
	}
}

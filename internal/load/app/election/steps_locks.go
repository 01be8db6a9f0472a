package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// tellLocks records elections by the lock of a key, which a session holds. Acquiring and releasing
// the lock writes the key, under a condition without a version. The end of a session keeps the value
// and changes the key's revision. So a revision is recorded only while a session holds the lock,
// because only the holder's writes change the key then.
type tellLocks struct{}

func (tellLocks) lives() bool { return true }

func (tellLocks) ended(c *chronicle, of int, call Call, ev *store.Event, o *history.Op) {
	r := &c.of[of]
	switch o.Key = r.key.Number; call {
	case Stand, Resign:
		if call == Resign {
			c.released(of, o)
			r.doubtful = r.doubtful || o.Indefinite() // it may be executed later, and end a later hold
		}
		if o.Kind, o.Written, o.Expected = kv.CAS, c.writes(of), history.AnyMod; o.Outcome == kv.Conflict {
			o.Read = history.Unseen
		}
	case Look:
		if o.Outcome != kv.OK {
			break
		}
		if c.shown(ev, ev.Revision, o); len(ev.Before) == 0 {
			o.Mod = 0
		}
	default:
		return
	}
	c.to.Add(o)
	if call != Look || o.Outcome != kv.OK {
		return
	}
	if high, low := halves(ev.Before); len(ev.Before) > 0 && high == r.lease.ID && low == c.script.leases[len(c.of)+of] {
		c.leads(of, ev.BeforeRevision, o)
		return
	}
	r.hold.Token = 0 // it has learned that it does not hold the lock
}

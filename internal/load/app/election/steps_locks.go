package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"

	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lockRecorder records elections by a lock on a key, which a session holds. Acquiring and releasing
// the lock write the key, under a condition without a version. The end of a session keeps the key's
// value but changes its revision. So the revision is recorded only while a session holds the lock,
// because only the holder's writes change the key during that time.
type lockRecorder struct{}

func (lockRecorder) usesLeases() bool { return true }

func (lockRecorder) record(c *chronicle, of int, call Call, ev *store.Event, o *history.Op) {
	r := &c.of[of]
	switch o.Key = r.key.Number; call {
	case Stand, Resign:
		if call == Resign {
			c.recordResignation(of, o)
			// It may be executed later, and may end a later hold.
			r.doubtful = r.doubtful || o.Indefinite()
		}
		if o.Kind, o.Written, o.Expected = kv.CAS, c.valueOf(of), history.AnyMod; o.Outcome == kv.Conflict {
			o.Read = history.Unseen
		}
	case Look:
		if o.Outcome != kv.OK {
			break
		}
		if c.setRead(ev, ev.Revision, o); len(ev.Before) == 0 {
			o.Mod = 0
		}
	default:
		return
	}
	c.to.Add(o)
	if call != Look || o.Outcome != kv.OK {
		return
	}
	if high, low := splitSession(ev.Before); len(ev.Before) > 0 && high == r.lease.ID && low == c.script.leases[len(c.of)+of] {
		c.recordHold(of, ev.BeforeRevision, o)
		return
	}
	r.hold.Token = 0 // the candidate has learned that it does not hold the lock
}

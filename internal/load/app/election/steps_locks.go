package election

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/app"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// lockRecorder records elections in which a session holds a lock on a key. The calls that acquire
// and release the lock write the key. The condition of these writes does not depend on the key's
// version. The end of a session does not change the key's value, but changes its revision. So the
// revision is recorded only while a session holds the lock, because during that time only the
// holder's writes change the key.
type lockRecorder struct{}

func (lockRecorder) usesLeases() bool { return true }

func (lockRecorder) record(c *chronicle, index int, call Call, ev *store.Event, o *history.Op) {
	r := &c.candidates[index]
	switch o.Key = r.key.Number; call {
	case Stand, Resign:
		if call == Resign {
			c.recordResignation(index, o)
			// A resignation without a response may be executed later, and may then end a later
			// hold.
			r.mayReleaseLate = r.mayReleaseLate || o.Indefinite()
		}
		if o.Kind, o.Written, o.Expected = kv.CAS, c.valueIdentity(index), history.UnknownRevision; o.Outcome == kv.Conflict {
			o.Read = history.UnknownValue
		}
	case Look:
		if o.Outcome != kv.OK {
			break
		}
		if c.setRead(ev, ev.Revision, o); len(ev.PreviousValue) == 0 {
			o.ModRevision = 0
		}
	default:
		return
	}
	c.recorder.Add(o)
	if call != Look || o.Outcome != kv.OK {
		return
	}
	if high, low := app.ParseUUID(ev.PreviousValue); len(ev.PreviousValue) > 0 && high == r.lease.ID && low == c.script.leases[len(c.candidates)+index] {
		c.recordHold(index, ev.PreviousRevision, o)
		return
	}
	r.hold.Token = 0 // the candidate has learned that it no longer holds the lock
}

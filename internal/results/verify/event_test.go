package verify

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// TestWatchesInTime checks watch events of a store that returns no revisions of writes. The check
// compares the events with the writes and with earlier events of the same watcher.
func TestWatchesInTime(t *testing.T) {
	notified := func(watcher uint32, rev int64, value uint64) history.Op {
		o := happened(watcher, rev, value)
		o.Revision = 0
		return o
	}
	for name, c := range map[string]example{
		"all is right": {ops: []history.Op{
			began(1, 3, 10), put(0, 1), notified(1, 11, 1), put(0, 2), put(0, 3), notified(1, 13, 3), of2(2, put(0, 4)), of2(2, notified(1, 14, 4)), get(0, 13, 3),
		}},
		"passed over, and seen by another": {ops: []history.Op{began(1, 1, 10), began(2, 1, 10), put(0, 1), notified(1, 11, 1), put(0, 2), notified(1, 12, 2), notified(2, 12, 2)}},
		"gone, and there again":            {ops: []history.Op{began(1, 1, 10), put(0, 1), notified(1, 11, 1), del(0), notified(1, 12, 0), put(0, 2), notified(1, 13, 2)}},
		"a write without an answer":        {ops: []history.Op{began(1, 1, 10), lost(put(0, 1)), notified(1, 11, 1)}},
		"old, as the mode allows":          {ops: []history.Op{began(1, 1, 10), put(0, 1), get(0, 11, 1), put(0, 2), get(0, 12, 2), notified(1, 11, 1), notified(1, 12, 2)}},
		"twice":                            {ops: []history.Op{began(1, 1, 10), put(0, 1), notified(1, 11, 1), notified(1, 11, 1)}, want: DuplicateEvent},
		"back":                             {ops: []history.Op{began(1, 1, 10), put(0, 1), put(0, 2), notified(1, 12, 2), notified(1, 11, 1)}, want: ReorderedEvent},
		"back, and there again":            {ops: []history.Op{began(1, 1, 10), put(0, 1), put(0, 2), notified(1, 12, 2), notified(1, 11, 1), notified(1, 12, 2)}, want: ReorderedEvent},
		"of a key that it does not watch":  {ops: []history.Op{began(1, 1, 10), of2(2, put(0, 1)), of2(2, notified(1, 11, 1))}, want: EventOfWrongKey},
		"unwritten value":                  {ops: []history.Op{began(1, 1, 10), put(0, 1), notified(1, 11, 44)}, want: UnwrittenValue},
		"before it was written":            {ops: []history.Op{began(1, 1, 10), notified(1, 11, 1), put(0, 1)}, want: UnwrittenValue},
		"another value than a read's":      {ops: []history.Op{began(1, 1, 10), lost(put(0, 1)), lost(put(0, 2)), get(0, 11, 1), notified(1, 11, 2)}, want: TwoValuesAtRevision},
		"at two revisions":                 {ops: []history.Op{began(1, 1, 10), put(0, 1), get(0, 11, 1), notified(1, 13, 1)}, want: WriteAppliedTwice},
		"there, in no version":             {ops: []history.Op{began(1, 1, 10), notified(1, 9, history.UnknownValue), put(0, 1), notified(1, 11, history.UnknownValue), lost(del(0)), notified(1, 12, 0), notified(1, 13, history.UnknownValue)}},
		"exists without a write":           {ops: []history.Op{began(1, 1, 10), notified(1, 11, history.UnknownValue), put(0, 1)}, want: UnwrittenValue},
		"gone in an older answer":          {ops: []history.Op{began(1, 1, 10), put(0, 1), notified(1, 12, 1), notified(1, 11, 0), del(0)}, want: ReorderedEvent},
		"gone, and without a delete":       {ops: []history.Op{began(1, 1, 10), put(0, 1), notified(1, 11, 1), notified(1, 12, 0), del(0)}, want: LostWrite, says: "at revision 12 the key had the version of revision 11"},
		"gone while another received it":   {ops: []history.Op{began(1, 1, 10), began(2, 1, 10), put(0, 1), notified(1, 11, history.UnknownValue), notified(2, 12, 0)}, want: LostWrite},
		"gone, of before":                  {ops: []history.Op{began(1, 1, 10), notified(1, 12, 0)}},
		"gone, and there from the start":   {ops: []history.Op{atFirst(put(0, 1)), began(1, 1, 10), notified(1, 12, 0)}, want: LostWrite, says: "since before the load, and no delete"},
		"gone from the start":              {ops: []history.Op{atFirst(put(0, 1)), began(1, 1, 10), notified(1, 10, 0)}},
	} {
		for _, partition := range []int{0, 2} {
			m := line(append(c.ops, of2(9, put(0, 1)))...)
			for i := range m.ops {
				if o := &m.ops[i]; o.Written == first {
					o.Written, o.Invoked, o.Done = 1, 0, 0
				}
			}
			r, _ := checked(t, withoutRevisionsKeepWatches(m), Options{Partition: partition})
			delete(r.WrongByKind, NoValidOrder) // the search for a valid order may find the same violation
			c.holds(t, name, r)
			if r.Watches == nil || r.Watches.Watchers == 0 || r.Watches.Events == 0 {
				t.Errorf("%s: %+v", name, r.Watches)
			}
		}
	}
}

// first is the value that marks a write from before the history.
const first = 99

func atFirst(o history.Op) history.Op { o.Written = first; return o }

// withoutRevisionsKeepWatches removes the revisions from all responses like stripRevisions, but
// keeps them in watch events.
func withoutRevisionsKeepWatches(m *memory) *memory {
	events := map[int]history.Op{}
	for i, o := range m.ops {
		if o.Kind == kv.Watch {
			events[i] = o
		}
	}
	stripRevisions(m)
	for i, o := range events {
		m.ops[i] = o
	}
	return m
}

// TestSessionsInTime checks that a renewed session must exist for at least its TTL, even in a store
// without revisions.
func TestSessionsInTime(t *testing.T) {
	renewed := history.Op{Kind: kv.KeepAlive, Written: 7, ModRevision: 3600}
	gone := history.Op{Kind: kv.KeepAlive, Written: 7, Outcome: kv.BadRequest}
	granted := history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Written: 7, Session: 1, ModRevision: 5}
	other := history.Op{Kind: kv.KeepAlive, LockChange: history.Granted, Written: 8, Session: 2, ModRevision: 6}
	released := history.Op{Kind: kv.KeepAlive, LockChange: history.Released, Written: 7, Session: 1, ModRevision: 5}
	for name, c := range map[string]example{
		"renewed":         {ops: []history.Op{renewed, renewed, put(0, 1)}},
		"gone at first":   {ops: []history.Op{gone, put(0, 1)}},
		"gone too early":  {ops: []history.Op{renewed, gone, put(0, 1)}, want: EarlyLeaseEnd},
		"one by one":      {ops: []history.Op{granted, released, other, put(0, 1)}},
		"held by two":     {ops: []history.Op{granted, other, released, put(0, 1)}, want: TwoLockHolders},
		"an older token":  {ops: []history.Op{other, granted, released, put(0, 1)}, want: TokenDecreased},
		"the same client": {ops: []history.Op{granted, released, granted, released, put(0, 1)}},
	} {
		r, _ := checked(t, stripRevisions(line(c.ops...)), Options{Samples: 1, SearchTimeLimit: time.Second})
		c.holds(t, name, r)
	}
}

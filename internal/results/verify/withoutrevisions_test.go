package verify

import (
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// stripRevisions removes the revisions from the responses in a history.
func stripRevisions(m *memory) *memory {
	for i := range m.ops {
		o := &m.ops[i]
		if o.Revision = 0; o.IsExecutedWrite() || o.Outcome == kv.Conflict {
			o.ModRevision = 0
		}
		if o.Outcome == kv.Conflict {
			o.Read = history.UnknownValue
		}
	}
	return m
}

// existenceRead and absenceRead return reads that show only whether a key exists.
func existenceRead() history.Op {
	return history.Op{Kind: kv.Exists, Consistency: kv.Linearizable, Read: history.UnknownValue}
}

func absenceRead() history.Op {
	return history.Op{Kind: kv.Exists, Consistency: kv.Linearizable, Outcome: kv.Miss}
}

func TestKindsInTime(t *testing.T) {
	refusedPut := history.Op{Kind: kv.Put, Outcome: kv.NoLeader, Written: 2}
	for name, c := range map[string]example{
		"all is right":             {ops: []history.Op{get(0, 7, 9), put(0, 1), get(0, 11, 1), cas(0, 11, 2), get(0, 12, 2), del(0), get(0, 0, 0), cas(0, 0, 3), get(0, 14, 3), final(get(0, 14, 3))}},
		"the same value, before":   {ops: []history.Op{get(0, 7, 1), put(0, 1), get(0, 11, 1)}},
		"stale":                    {ops: []history.Op{put(0, 1), get(0, 11, 1), put(0, 2), get(0, 12, 2), get(0, 11, 1)}, want: StaleRead, says: "had already acknowledged a write of value #2"},
		"stale, of before":         {ops: []history.Op{put(0, 1), get(0, 11, 1), get(0, 7, 9)}, want: StaleRead},
		"lost":                     {ops: []history.Op{put(0, 1), get(0, 11, 1), put(0, 2), get(0, 11, 1)}, want: LostWrite, says: "had already acknowledged a write of value #2"},
		"lost, and nothing there":  {ops: []history.Op{put(0, 1), get(0, 0, 0)}, want: LostWrite},
		"lost on one member":       {ops: []history.Op{put(0, 1), get(0, 11, 1), put(0, 2), get(0, 12, 2), final(get(0, 12, 2)), final(get(0, 11, 1))}, want: LostWrite},
		"back on one member":       {ops: []history.Op{put(0, 1), get(0, 11, 1), del(0), get(0, 0, 0), final(get(0, 11, 1))}, want: ResurrectedWrite},
		"gone by a late delete":    {ops: []history.Op{lost(del(0)), put(0, 1), get(0, 11, 1), get(0, 0, 0)}},
		"gone before its delete":   {ops: []history.Op{put(0, 1), get(0, 0, 0), del(0)}, want: LostWrite},
		"written late":             {ops: []history.Op{lost(put(0, 1)), put(0, 2), get(0, 11, 2), get(0, 12, 1)}},
		"applied twice":            {ops: []history.Op{put(0, 1), get(0, 11, 1), get(0, 13, 1)}, want: WriteAppliedTwice},
		"two values":               {ops: []history.Op{lost(put(0, 1)), lost(put(0, 2)), get(0, 11, 1), get(0, 11, 2)}, want: TwoValuesAtRevision},
		"unwritten value":          {ops: []history.Op{get(0, 12, 44)}, want: UnwrittenValue},
		"before it was written":    {ops: []history.Op{get(0, 12, 1), put(0, 1)}, want: UnwrittenValue},
		"refused":                  {ops: []history.Op{refusedPut, get(0, 12, 2)}, want: RefusedWriteExecuted},
		"reordered":                {ops: []history.Op{put(0, 1), lost(put(0, 2)), local(get(0, 13, 1)), local(get(0, 12, 2))}, want: ReorderedWrite, says: "the first at revision 13 and the second at revision 12"},
		"two on one version":       {ops: []history.Op{put(0, 1), get(0, 11, 1), cas(0, 11, 2), cas(0, 11, 3), get(0, 13, 3)}, want: CASOnWrongVersion, says: "another compare-and-set had succeeded on revision 11"},
		"on a version of before":   {ops: []history.Op{put(0, 1), get(0, 11, 1), put(0, 2), get(0, 12, 2), cas(0, 11, 3), get(0, 13, 3)}, want: CASOnWrongVersion, says: "the key had value #2 of revision 12"},
		"local, and may be stale":  {ops: []history.Op{put(0, 1), get(0, 11, 1), put(0, 2), get(0, 12, 2), local(get(0, 11, 1))}},
		"there":                    {ops: []history.Op{existenceRead(), put(0, 1), existenceRead(), del(0), absenceRead(), lost(put(0, 2)), existenceRead(), lost(del(0)), final(absenceRead())}},
		"there by a late write":    {ops: []history.Op{lost(put(0, 1)), put(0, 2), del(0), final(existenceRead())}},
		"there, and was deleted":   {ops: []history.Op{put(0, 1), del(0), existenceRead()}, want: StaleRead, says: "had already acknowledged a delete"},
		"there, of before":         {ops: []history.Op{del(0), existenceRead(), lost(put(0, 1))}, want: StaleRead},
		"there on one member":      {ops: []history.Op{put(0, 1), del(0), final(absenceRead()), final(existenceRead())}, want: ResurrectedWrite},
		"there, and may be stale":  {ops: []history.Op{put(0, 1), del(0), local(existenceRead())}},
		"not there on one member":  {ops: []history.Op{put(0, 1), final(existenceRead()), final(absenceRead())}, want: LostWrite},
		"a transaction":            {ops: []history.Op{txn(0, 1), joined(2, txn(0, 1)), get(0, 11, 1), of2(2, get(0, 11, 1))}},
		"a transaction, half lost": {ops: []history.Op{of2(2, get(0, 9, 8)), txn(0, 1), joined(2, txn(0, 1)), get(0, 11, 1), of2(2, get(0, 9, 8))}, want: LostWrite},
	} {
		for _, partition := range []int{0, 2} {
			m := line(append(c.ops, of2(9, put(0, 1)))...)
			r, _ := checked(t, m, Options{Partition: partition})
			delete(r.WrongByKind, NoValidOrder) // the search for a valid order may find the same violation
			c.holds(t, name, r)
		}
	}
}

// TestCorrectStoresWithoutRevisionsCauseNoFindings checks correct stores whose responses contain no
// revisions. Some keys existed before the history, sometimes with values that the load writes
// again. The first revision of the history is known in some cases and unknown in others.
func TestCorrectStoresWithoutRevisionsCauseNoFindings(t *testing.T) {
	settle.SkipUnderRace(t)
	first, last, operations := sizes(t)
	behind := uint64(0)
	for i := first; i <= last; i++ {
		m, _ := simulated(uint64(i), 1+operations>>(i%8*2), noLie, 0)
		if i%3 == 1 {
			m.header.BaseRevision = 0
		}
		r, _ := checked(t, stripRevisions(m), Options{Partition: 1 + operations/(1+i%4), Samples: 3, SearchTimeLimit: time.Second})
		if len(r.WrongByKind) > 0 {
			t.Fatalf("seed %d: %v\n%s", i, r.WrongByKind, story(&r.Violations[0]))
		}
		for _, s := range r.Staleness {
			behind += s.StaleReads
		}
	}
	if behind == 0 {
		t.Error("no history has stale reads")
	}
}

// TestLiesAreFoundInTime checks that some lies of each kind are found, and that no finding is about
// a key without a lie.
func TestLiesAreFoundInTime(t *testing.T) {
	settle.SkipUnderRace(t)
	_, _, operations := sizes(t)
	for at, kind := range []lieKind{lieStaleRead, lieLost, lieCAS, lieRefused} {
		proven, hit := 0, 0
		for seed := range uint64(3) {
			m, lies := simulated(seed*10+uint64(at), operations, kind, 20/float64(operations))
			_, found := checked(t, stripRevisions(m), Options{MaxViolations: 1 << 30, Samples: 1, SearchTimeLimit: time.Second})
			for _, l := range lies {
				if l.proven {
					proven++
					if slices.ContainsFunc(found, func(f finding) bool { return involves(&f, l) }) {
						hit++
					}
				}
			}
			for _, f := range found {
				if !slices.ContainsFunc(lies, func(l *lie) bool { return l.key == f.key }) {
					t.Errorf("%s, seed %d: key %d has a reported %s, but no response about this key was wrong", kind, seed, f.key, f.kind)
				}
			}
		}
		t.Logf("%s: %d of %d wrong responses were found", kind, hit, proven)
		if hit == 0 {
			t.Errorf("of %d wrong responses of the kind %s, none was found", proven, kind)
		}
	}
}

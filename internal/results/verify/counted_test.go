package verify

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// onCount makes a compare-and-set expect that its key was written `count` times.
func onCount(count int64, o history.Op) history.Op { o.Expected = count; return o }

func TestKindsOfCountedVersions(t *testing.T) {
	unknown := func(o history.Op) history.Op { return onCount(history.UnknownRevision, o) }
	refused := func(at, expected int64) history.Op {
		return history.Op{Kind: kv.CAS, Revision: at, Expected: expected, Written: 99, Outcome: kv.Conflict, Read: history.UnknownValue}
	}
	for name, c := range map[string]example{
		"all is right":               {ops: []history.Op{onCount(0, put(11, 1)), get(11, 11, 1), cas(12, 1, 2), onCount(2, put(13, 3)), refused(14, 2), del(15), cas(16, 0, 4), cas(17, 1, 5)}},
		"the count comes again":      {ops: []history.Op{onCount(0, put(11, 1)), del(12), onCount(0, put(13, 2)), cas(14, 1, 3)}},
		"of before":                  {ops: []history.Op{get(10, 7, 500), cas(11, 7, 1), cas(12, 8, 2)}},
		"two on one version":         {ops: []history.Op{onCount(0, put(11, 1)), cas(12, 1, 2), cas(13, 1, 3)}, want: CASOnWrongVersion, says: "expected version 1 and succeeded at revision 13; before that, the key had value #2 of revision 12"},
		"of a deleted key":           {ops: []history.Op{onCount(0, put(11, 1)), del(12), cas(13, 1, 3)}, want: CASOnWrongVersion},
		"created what was there":     {ops: []history.Op{onCount(0, put(11, 1)), cas(12, 0, 2)}, want: CASOnWrongVersion},
		"with what may have been":    {ops: []history.Op{onCount(0, put(11, 1)), unknown(lost(put(0, 9))), cas(13, 2, 3)}},
		"after a transaction":        {ops: []history.Op{onCount(0, put(11, 1)), unknown(txn(12, 9)), cas(13, 2, 3)}},
		"conflict, and it was right": {ops: []history.Op{onCount(0, put(11, 1)), refused(12, 1)}, want: UnjustifiedConflict, says: "expected version 1. The key met this condition"},
		"conflict, created again":    {ops: []history.Op{onCount(0, put(11, 1)), onCount(1, put(12, 2)), del(13), onCount(0, put(14, 3)), refused(15, 2)}},
		"not found":                  {ops: []history.Op{onCount(0, put(11, 1)), refused(12, 0)}},
		"not found, and not there":   {ops: []history.Op{onCount(0, put(11, 1)), del(12), refused(13, 0)}, want: UnjustifiedConflict},
	} {
		m := line(c.ops...)
		m.header.VersionsCountWrites = true
		r, _ := checked(t, m, Options{})
		c.holds(t, name, r)
	}
}

// TestCorrectCountsCauseNoFindings checks correct stores that reset a key's count of writes when
// the key is deleted and created again.
func TestCorrectCountsCauseNoFindings(t *testing.T) {
	first, last, operations := sizes(t)
	for i := first; i <= last; i++ {
		m, _ := simulatedAs(uint64(i), 1+operations>>(i%8*2), noLie, 0, true)
		if i%3 == 1 {
			m.header.BaseRevision = 0
		}
		if r, _ := checked(t, m, Options{Partition: 1 + operations/(1+i%4)}); len(r.WrongByKind) > 0 {
			t.Fatalf("seed %d: %v\n%s", i, r.WrongByKind, story(&r.Violations[0]))
		}
	}
}

func TestWrongCountsAreFound(t *testing.T) {
	_, _, operations := sizes(t)
	proven, hit := 0, 0
	for seed := range uint64(3) {
		m, lies := simulatedAs(seed, operations, lieCAS, 20/float64(operations), true)
		_, found := checked(t, m, Options{MaxViolations: 1 << 30})
		for _, l := range lies {
			proven++
			if slices.ContainsFunc(found, func(f finding) bool { return f.kind == CASOnWrongVersion && involves(&f, l) }) {
				hit++
			}
		}
		for _, f := range found {
			if !slices.ContainsFunc(lies, func(l *lie) bool { return l.key == f.key }) {
				t.Errorf("seed %d: key %d has a reported %s, but no response about this key was wrong", seed, f.key, f.kind)
			}
		}
	}
	if hit < proven/2 || proven == 0 {
		t.Errorf("of %d wrong responses, %d were found", proven, hit)
	}
}

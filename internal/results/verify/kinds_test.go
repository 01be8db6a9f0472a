package verify

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// line returns a history in which the operations run one after the other. Each operation takes half
// a second.
func line(ops ...history.Op) *memory {
	m := &memory{header: history.Header{BaseRevision: 10, Guarantees: allGuarantees()}}
	now := int64(0)
	for _, o := range ops {
		if !o.ContinuesPrevious {
			now += 1e9
		}
		if o.Invoked, o.Done = now, now+5e8; o.Kind == kv.Get && o.Consistency == kv.NoConsistency {
			o.Consistency = kv.Linearizable
		}
		m.ops = append(m.ops, o)
	}
	return m
}

func put(at int64, value uint64) history.Op {
	return history.Op{Kind: kv.Put, Revision: at, Written: value}
}

func get(at, mod int64, value uint64) history.Op {
	o := history.Op{Kind: kv.Get, Revision: at, ModRevision: mod, Read: value}
	if value == history.Absent {
		o.Outcome = kv.Miss
	}
	return o
}

func del(at int64) history.Op { return history.Op{Kind: kv.Delete, Revision: at} }

// delIf returns a delete that succeeds only if the key has the expected version.
func delIf(at, expected int64) history.Op {
	return history.Op{Kind: kv.Delete, Revision: at, Expected: expected}
}

func delConflict(at, expected, mod int64) history.Op {
	o := conflict(at, expected, mod)
	o.Kind, o.Written = kv.Delete, history.Absent
	if mod == 0 {
		o.Read = history.Absent
	}
	return o
}

func cas(at, expected int64, value uint64) history.Op {
	return history.Op{Kind: kv.CAS, Revision: at, Expected: expected, Written: value}
}

func conflict(at, expected, mod int64) history.Op {
	return history.Op{Kind: kv.CAS, Revision: at, Expected: expected, Written: 99, Outcome: kv.Conflict, ModRevision: mod, Read: history.UnknownValue}
}

func local(o history.Op) history.Op { o.Consistency = kv.Local; return o }

func lost(o history.Op) history.Op { o.Outcome, o.Revision = kv.TimedOut, 0; return o }

func final(o history.Op) history.Op { o.Final = true; return local(o) }

func of2(key uint64, o history.Op) history.Op { o.Key = key; return o }

func joined(key uint64, o history.Op) history.Op { o.Key, o.ContinuesPrevious = key, true; return o }

func interval(at, mod int64, value uint64) history.Op {
	o := get(at, mod, value)
	o.Kind, o.Consistency, o.Outcome = kv.Range, kv.Linearizable, kv.OK
	return o
}

func txn(at int64, value uint64) history.Op {
	return history.Op{Kind: kv.Txn, Revision: at, Written: value}
}

// stm returns the part of an optimistic transaction that wrote a key on condition that the key had
// the expected version. compared returns the part for a key whose version the transaction compared,
// but did not write.
func stm(at, expected int64, value uint64) history.Op {
	return history.Op{Kind: kv.STM, Revision: at, Expected: expected, Written: value}
}

func compared(at, mod int64) history.Op {
	o := history.Op{Kind: kv.STM, Revision: at, ModRevision: mod, Read: history.UnknownValue}
	if mod == 0 {
		o.Read = history.Absent
	}
	return o
}

func unsure(o history.Op) history.Op { o.Expected = history.UnknownRevision; return lost(o) }

// ended returns the end of the session to which the given version was bound.
func ended(at, version int64, value uint64) history.Op {
	return history.Op{Kind: kv.Ephemeral, Revision: at, ModRevision: version, Written: value}
}

// maybeGone returns the delete that the end of a session causes. The history records it with an
// unknown outcome.
func maybeGone() history.Op { return lost(del(0)) }

func TestKinds(t *testing.T) {
	for name, c := range map[string]example{
		"all is right":                 {ops: []history.Op{put(11, 1), get(11, 11, 1), cas(12, 11, 2), get(12, 12, 2), del(13), get(13, 0, 0), cas(14, 0, 3), conflict(14, 13, 14)}},
		"there before":                 {ops: []history.Op{get(10, 7, 500), put(11, 1), conflict(11, 7, 11)}},
		"there before, then gone":      {ops: []history.Op{get(10, 7, 500), of2(2, put(11, 1)), get(12, 0, 0)}, want: StaleRead},
		"there before, and may end":    {ops: []history.Op{lost(del(0)), get(10, 7, 500), of2(2, put(11, 1)), get(12, 0, 0)}},
		"deleted late":                 {ops: []history.Op{put(11, 1), lost(del(0)), get(11, 11, 1), get(12, 0, 0), put(13, 2)}},
		"deleted twice":                {ops: []history.Op{put(11, 1), lost(del(0)), get(12, 0, 0), put(13, 2), get(14, 0, 0)}, want: LostWrite, says: "the key had value #2 of revision 13"},
		"gone before the delete":       {ops: []history.Op{put(11, 1), get(12, 0, 0), of2(2, put(13, 5)), lost(del(0))}, want: LostWrite},
		"back after a late delete":     {ops: []history.Op{put(11, 1), lost(del(0)), get(12, 0, 0), get(13, 11, 1)}, want: ResurrectedWrite},
		"deleted after a read":         {ops: []history.Op{put(11, 1), lost(del(0)), get(13, 11, 1), get(14, 0, 0)}},
		"absent at the same revision":  {ops: []history.Op{put(11, 1), lost(del(0)), get(13, 11, 1), get(13, 0, 0)}, want: StaleRead},
		"absent in an earlier state":   {ops: []history.Op{put(11, 1), lost(del(0)), get(13, 11, 1), local(get(12, 0, 0))}, want: ResurrectedWrite},
		"written late":                 {ops: []history.Op{lost(put(0, 1)), put(11, 2), get(11, 11, 2), get(12, 12, 1)}},
		"written late, and again":      {ops: []history.Op{lost(put(0, 1)), put(11, 2), get(12, 12, 1), put(13, 3), local(get(14, 14, 1))}, want: WriteAppliedTwice},
		"written before it began":      {ops: []history.Op{put(11, 2), of2(2, put(13, 3)), lost(put(0, 1)), get(13, 12, 1)}, want: ReorderedWrite, says: "took effect at revision 12, but the store had acknowledged revision 13"},
		"stale by its revision":        {ops: []history.Op{put(11, 1), put(12, 2), get(11, 11, 1)}, want: StaleRead, says: "revision 12 had been acknowledged before the operation began"},
		"stale by its value":           {ops: []history.Op{put(11, 1), put(12, 2), get(12, 12, 2), get(12, 11, 1)}, want: StaleRead, says: "value #2 of revision 12"},
		"local, and may be stale":      {ops: []history.Op{put(11, 1), put(12, 2), local(get(11, 11, 1))}},
		"local, of no state":           {ops: []history.Op{put(11, 1), put(12, 2), get(12, 12, 2), local(get(12, 11, 1))}, want: StaleRead},
		"lost on one member":           {ops: []history.Op{put(11, 1), put(12, 2), get(12, 12, 2), final(get(12, 12, 2)), final(get(12, 11, 1))}, want: LostWrite},
		"of a later revision":          {ops: []history.Op{put(11, 1), put(12, 2), local(get(11, 12, 2))}, want: ReadOfFutureVersion, says: "returned a version of revision 12"},
		"two values":                   {ops: []history.Op{put(11, 1), get(11, 11, 7)}, want: TwoValuesAtRevision},
		"unwritten value":              {ops: []history.Op{put(11, 1), get(12, 12, 44)}, want: UnwrittenValue},
		"refused":                      {ops: []history.Op{put(11, 1), {Kind: kv.Put, Outcome: kv.NoLeader, Written: 2}, get(12, 12, 2)}, want: RefusedWriteExecuted},
		"two on one version":           {ops: []history.Op{put(11, 1), cas(12, 11, 2), cas(13, 11, 3)}, want: CASOnWrongVersion, says: "expected revision 11 and succeeded at revision 13; before that, the key had value #2 of revision 12"},
		"deleted on its version":       {ops: []history.Op{put(11, 1), delIf(12, 11), get(12, 0, 0), cas(13, 0, 2), delConflict(13, 11, 13)}},
		"deleted on another version":   {ops: []history.Op{put(11, 1), put(12, 2), delIf(13, 11), get(13, 0, 0)}, want: CASOnWrongVersion, says: "delete expected revision 11 and succeeded at revision 13; before that, the key had value #2 of revision 12"},
		"deleted what was gone":        {ops: []history.Op{put(11, 1), del(12), delIf(13, 11)}, want: CASOnWrongVersion},
		"deleted on one from before":   {ops: []history.Op{delIf(11, 7), get(11, 0, 0)}},
		"delete refused for nothing":   {ops: []history.Op{put(11, 1), delConflict(11, 11, 11)}, want: UnjustifiedConflict},
		"delete refused as if gone":    {ops: []history.Op{put(11, 1), delConflict(11, 7, 0)}, want: LostWrite},
		"done late on its version":     {ops: []history.Op{put(11, 1), lost(delIf(0, 11)), get(12, 0, 0)}},
		"late, on one from before":     {ops: []history.Op{lost(cas(0, 7, 1)), get(11, 11, 1)}},
		"late, on another version":     {ops: []history.Op{put(11, 1), put(12, 2), lost(cas(0, 11, 3)), get(13, 13, 3)}, want: CASOnWrongVersion},
		"created what was there":       {ops: []history.Op{put(11, 1), cas(12, 0, 2)}, want: CASOnWrongVersion},
		"of no version at all":         {ops: []history.Op{put(11, 1), put(13, 2), cas(14, 12, 2)}, want: CASOnWrongVersion},
		"conflict, with itself":        {ops: []history.Op{put(11, 1), conflict(11, 11, 11)}, want: UnjustifiedConflict},
		"conflict, and it was right":   {ops: []history.Op{put(11, 1), conflict(11, 11, 0)}, want: UnjustifiedConflict},
		"conflict with what may be":    {ops: []history.Op{put(11, 1), lost(put(0, 2)), conflict(12, 11, 12), get(12, 12, 2)}},
		"conflict with nothing":        {ops: []history.Op{put(11, 1), conflict(12, 11, 12)}, want: UnwrittenValue},
		"a client that goes back":      {ops: []history.Op{put(11, 1), put(12, 2), local(get(10, 0, 0))}, want: RevisionDecreased},
		"a transaction, whole":         {ops: []history.Op{txn(11, 1), joined(2, txn(11, 1)), get(11, 11, 1), of2(2, get(11, 11, 1))}},
		"a late transaction, whole":    {ops: []history.Op{lost(txn(0, 1)), joined(2, lost(txn(0, 1))), get(11, 11, 1), of2(2, get(11, 11, 1))}},
		"a late transaction, in part":  {ops: []history.Op{lost(txn(0, 1)), joined(2, lost(txn(0, 1))), get(11, 11, 1), of2(2, get(11, 0, 0))}, want: PartialTransaction},
		"in part, and far apart":       {ops: []history.Op{lost(txn(0, 1)), joined(3, lost(txn(0, 1))), joined(7, lost(txn(0, 1))), of2(7, get(11, 11, 1)), of2(3, get(12, 5, 50))}, want: PartialTransaction},
		"no revision, and right":       {ops: []history.Op{put(11, 1), put(12, 2), get(0, 12, 2)}},
		"no revision, and stale":       {ops: []history.Op{put(11, 1), put(12, 2), get(12, 12, 2), get(0, 11, 1)}, want: StaleRead},
		"a range of one state":         {ops: []history.Op{put(11, 1), of2(2, put(12, 5)), interval(12, 11, 1), joined(1, interval(12, 0, 0)), joined(2, interval(12, 12, 5))}},
		"a range of keys alone":        {ops: []history.Op{put(11, 1), interval(11, 11, history.UnknownValue), joined(1, interval(11, 0, 0))}},
		"a range of two states":        {ops: []history.Op{put(11, 1), of2(2, put(12, 5)), put(13, 3), of2(2, put(14, 6)), of2(2, get(14, 14, 6)), interval(14, 13, 3), joined(2, interval(14, 12, 5))}, want: StaleRead, says: "linearizable range of several keys, including key 2: value #5 of revision 12 at revision 14"},
		"a range that lacks a key":     {ops: []history.Op{put(11, 1), of2(2, put(12, 5)), of2(2, get(12, 12, 5)), interval(12, 11, 1), joined(2, interval(12, 0, 0))}, want: StaleRead},
		"a range that is old":          {ops: []history.Op{put(11, 1), of2(2, put(12, 5)), interval(11, 11, 1), joined(2, interval(11, 0, 0))}, want: StaleRead, says: "revision 12 had been acknowledged before the operation began"},
		"a range that may be old":      {ops: []history.Op{put(11, 1), of2(2, put(12, 5)), local(interval(11, 11, 1)), joined(2, local(interval(11, 0, 0)))}},
		"a range that counts":          {ops: []history.Op{put(11, 1), interval(11, 0, history.UnknownValue)}},
		"a member without the end":     {ops: []history.Op{put(11, 1), put(12, 2), final(get(11, 11, 1))}, want: LostWrite},
		"an stm":                       {ops: []history.Op{stm(11, 0, 1), joined(2, stm(11, 0, 1)), joined(3, compared(11, 0)), of2(3, put(12, 7)), stm(13, 11, 2), joined(3, compared(13, 12)), get(13, 13, 2)}},
		"an stm on another version":    {ops: []history.Op{put(11, 1), put(12, 2), stm(13, 11, 3)}, want: CASOnWrongVersion, says: "Client 0's stm expected revision 11 and succeeded at revision 13"},
		"an stm that missed a write":   {ops: []history.Op{of2(2, put(11, 1)), of2(2, put(12, 2)), of2(2, get(12, 12, 2)), stm(13, 0, 3), joined(2, compared(13, 11))}, want: StaleRead, says: "stm of several keys, including key 2: exists of revision 11 at revision 13"},
		"an stm that only reads":       {ops: []history.Op{put(11, 1), put(12, 2), compared(11, 11)}, want: StaleRead, says: "revision 12 had been acknowledged before the operation began"},
		"an stm that reads locally":    {ops: []history.Op{put(11, 1), put(12, 2), local(compared(11, 11))}},
		"an stm on what was deleted":   {ops: []history.Op{put(11, 1), del(12), get(12, 0, 0), stm(13, 11, 2)}, want: CASOnWrongVersion},
		"a late stm, whole":            {ops: []history.Op{unsure(stm(0, 0, 1)), joined(2, unsure(stm(0, 0, 1))), get(11, 11, 1), of2(2, get(11, 11, 1))}},
		"a late stm, in part":          {ops: []history.Op{unsure(stm(0, 0, 1)), joined(2, unsure(stm(0, 0, 1))), get(11, 11, 1), of2(2, get(11, 0, 0))}, want: PartialTransaction},
		"an stm that was lost":         {ops: []history.Op{stm(11, 0, 1), joined(2, stm(11, 0, 1)), get(11, 11, 1), of2(2, get(11, 0, 0))}, want: LostWrite},
		"a refused stm that was done":  {ops: []history.Op{{Kind: kv.STM, Outcome: kv.NoLeader, Written: 2, Expected: history.UnknownRevision}, get(12, 12, 2)}, want: RefusedWriteExecuted},
		"expired with its session":     {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(12, 11, 1), get(12, 0, 0)}},
		"read before the end":          {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(12, 11, 1), local(get(11, 11, 1))}},
		"outlived its session":         {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(12, 11, 1), final(get(12, 11, 1))}, want: KeyOutlivedSession, says: "closed the session of key 0 of revision 11: done at revision 12"},
		"outlived it on one member":    {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(12, 11, 1), final(get(12, 0, 0)), of2(2, put(13, 5)), local(get(13, 11, 1))}, want: KeyOutlivedSession, also: ResurrectedWrite},
		"outlived it in a list":        {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(12, 11, 1), final(get(12, 0, 1))}, want: KeyOutlivedSession, says: "the session to which the returned version belonged had ended at revision 12"},
		"set, and outlived":            {ops: []history.Op{cas(11, 0, 1), put(12, 2), maybeGone(), ended(13, 12, 2), final(get(13, 12, 2))}, want: KeyOutlivedSession, says: "closed the session of key 0 of revision 12: done at revision 13"},
		"set, and read before":         {ops: []history.Op{cas(11, 0, 1), put(12, 2), maybeGone(), ended(13, 12, 2), local(get(12, 12, 2))}},
		"set by another's session":     {ops: []history.Op{cas(11, 0, 1), put(12, 2), maybeGone(), ended(13, 12, 2), cas(14, 0, 3), put(15, 4), final(get(15, 15, 4))}},
		"of another session":           {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(12, 11, 1), cas(13, 0, 2), get(13, 13, 2), final(get(13, 0, 2))}},
		"of another, of that value":    {ops: []history.Op{cas(11, 0, 1), del(12), ended(13, 11, 1), cas(14, 0, 1), final(get(14, 14, 1))}},
		"an end without a revision":    {ops: []history.Op{cas(11, 0, 1), maybeGone(), ended(0, 11, 1), get(12, 11, 1)}},
		"an end of an unknown version": {ops: []history.Op{put(13, 1), ended(12, 11, 7), final(get(13, 13, 1))}},
		"no revision, and gone":        {ops: []history.Op{put(11, 1), put(12, 2), get(0, 0, 0)}, want: LostWrite},
	} {
		for _, partition := range []int{0, 2} {
			m := line(c.ops...)
			if c.want != RevisionDecreased {
				delete(m.header.Guarantees, history.SessionOrder)
			}
			r, _ := checked(t, m, Options{Partition: partition})
			c.holds(t, name, r)
		}
	}
}

func TestDuplicateRevision(t *testing.T) {
	m := line(of2(3, put(11, 1)), put(11, 2))
	m.ops[1].Invoked = m.ops[0].Invoked // the operations overlap, so their order is unknown
	r, _ := checked(t, m, Options{Partition: 1})
	if len(r.WrongByKind) != 1 || r.WrongByKind[DuplicateRevision] != 1 || len(r.Violations[0].Operations) != 2 {
		t.Error(r.WrongByKind)
	}
}

func TestTextOfAViolation(t *testing.T) {
	m := line(put(11, 1), put(12, 2), get(12, 12, 2), get(12, 11, 1))
	m.ops[3].Member, m.ops[3].Session = 0xabc, 7
	r, _ := checked(t, m, Options{})
	want := "Client 0, 2.000000 s to 2.500000 s: put of key 0, writing value #2: done at revision 12.\n" +
		"Client 7, 4.000000 s to 4.500000 s: linearizable get of key 0: value #1 of revision 11 at revision 12, by member abc.\n" +
		"When client 7's get was served at revision 12, the key had value #2 of revision 12."
	if v := r.Violations[0]; story(&v) != want || v.Guarantee != string(history.Linearizable) {
		t.Errorf("%s: %s", v.Guarantee, story(&v))
	}
}

func TestMissingGuaranteesAreCounted(t *testing.T) {
	m := line(put(11, 1), put(12, 2), get(11, 11, 1))
	m.header.Guarantees = map[history.Guarantee]string{history.Durable: "there"}
	r, _ := checked(t, m, Options{})
	if len(r.WrongByKind) > 0 || r.NotGuaranteed[string(history.Linearizable)] != 1 || r.NotGuaranteed[string(history.SessionOrder)] != 1 {
		t.Errorf("%v, %v", r.WrongByKind, r.NotGuaranteed)
	}
}

func TestStaleness(t *testing.T) {
	ops := []history.Op{put(11, 1), put(12, 2), put(13, 3), local(get(11, 11, 1))}
	for range 3 {
		ops = append(ops, local(get(13, 13, 3)))
	}
	m := line(ops...)
	delete(m.header.Guarantees, history.SessionOrder)
	r, _ := checked(t, m, Options{})
	if len(r.Staleness) != 1 {
		t.Fatalf("%+v", r.Staleness)
	}
	s := r.Staleness[0]
	// Revision 12 was acknowledged at 2.5 s, and the read began at 4 s.
	if s.Reads != 4 || s.StaleReads != 1 || s.Versions.Max != 2 || s.Versions.P50 != 0 || s.Times.Max < 149e7 || s.Times.Max > 152e7 {
		t.Errorf("%+v", s)
	}
}

func TestResultNamesUncheckedOperations(t *testing.T) {
	m := line(history.Op{Kind: kv.STM, Read: history.UnknownValue}, put(11, 1), get(11, 11, 1))
	r, _ := checked(t, m, Options{})
	if len(r.WrongByKind) > 0 || len(r.Undecided) != 1 || !strings.HasPrefix(r.Undecided[0], "not verified: 1 operation for which the history contains no keys") {
		t.Errorf("%v, %v", r.WrongByKind, r.Undecided)
	}
}

// FuzzCheck checks that Check terminates without a panic for a file with arbitrary contents.
func FuzzCheck(f *testing.F) {
	b := history.NewBlock()
	for _, o := range line(lost(txn(0, 1)), joined(2, lost(txn(0, 1))), get(11, 11, 1), of2(2, get(11, 0, 0)), cas(12, 11, 4), conflict(12, 11, 12), del(13), put(13, 5)).ops {
		b.Append(&o)
	}
	f.Add(b.Bytes(), int64(0))
	f.Add(b.Bytes(), int64(12))
	b.Reset()
	for _, o := range line(
		began(1, 3, 10), txn(11, 1), joined(2, txn(11, 1)), lost(del(0)), happened(1, 11, 1), joined(2, happened(1, 11, 1)), reached(1, 11), put(13, 2), prior(11, 1, happened(1, 13, 2)),
		happened(1, 12, 0), resumed(1, 3, 13), happened(1, 11, 1), watching(1, history.WatchEnded, history.Op{}), interval(13, 13, 2), joined(1, interval(13, 0, 0)),
	).ops {
		b.Append(&o)
	}
	f.Add(b.Bytes(), int64(0))
	f.Add(b.Bytes(), int64(11))
	b.Reset()
	for _, o := range line(cas(11, 0, 1), maybeGone(), ended(12, 11, 1), final(get(12, 11, 1)), ended(0, 11, 1), final(get(13, 0, 1))).ops {
		b.Append(&o)
	}
	f.Add(b.Bytes(), int64(0))
	f.Fuzz(func(t *testing.T, in []byte, base int64) {
		ops, _ := history.Decode(in, nil)
		m := &memory{header: history.Header{BaseRevision: max(base, 0), Guarantees: allGuarantees()}, ops: ops}
		for i := range ops {
			if i > 0 && ops[i].Done < ops[i-1].Done {
				return
			}
		}
		_, _ = checked(t, m, Options{Partition: 3, SearchTimeLimit: 1000})
	})
}

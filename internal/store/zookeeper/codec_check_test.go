package zookeeper

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// reply is a scripted response.
type reply struct {
	code   jute.Code
	record []byte
	own    bool // the record is a Stat whose mzxid must be the response's zxid
}

func plain(record []byte) reply    { return reply{record: record} }
func ownReply(record []byte) reply { return reply{record: record, own: true} }

// TestImpossibleAnswers checks that the codec reports an impossible response as a wrong response
// with an explanation, and accepts a possible response.
func TestImpossibleAnswers(t *testing.T) {
	const k, value = "/k", "value"
	noNode := reply{code: jute.NoNode}
	path := func(p string) reply { return plain(jute.AppendBuffer(nil, p)) }
	put := store.Op{Kind: kv.Put, Value: []byte(value)}
	cas := store.Op{Kind: kv.CAS, Value: []byte(value), Revision: 6} // requires version 5
	get := store.Op{Kind: kv.Get, Consistency: kv.Local}
	linearizable := store.Op{Kind: kv.Get}
	list := store.Op{Kind: kv.Range, Consistency: kv.Local, Range: &store.RangeOp{End: []byte{0}}}
	txn := store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: []byte("/k"), Value: []byte(value)}, {Key: []byte("/l"), Value: []byte("v")}}}
	stats := func(versions ...int32) []byte { // Stats of the nodes in a multi
		var parts [][]byte
		for i, version := range versions {
			parts = append(parts, resultOf(jute.OpSetData, nodeStat(version, []int{len(value), 1}[i%2], 9)))
		}
		return results(parts...)
	}
	for _, tc := range []struct {
		name    string
		op      store.Op
		zxid    int64 // zxid of the first response; it increases by one per response
		answers []reply
		want    []byte // the explanation, or nil if the response is possible
	}{
		{"a put", put, 9, []reply{ownReply(nodeStat(1, 5, 0))}, nil},
		{"a put without a transaction", put, 0, []reply{plain(nodeStat(1, 5, 9))}, noZxid},
		{"a put of what was never made", put, 9, []reply{plain(nodeStat(1, 5, 0))}, noMzxid},
		{"a put of another transaction", put, 9, []reply{plain(nodeStat(1, 5, 8))}, wrongTxn},
		{"a put of a later transaction", put, 9, []reply{plain(nodeStat(1, 5, 10))}, wrongTxn},
		{"a put that makes version 0", put, 9, []reply{ownReply(nodeStat(0, 5, 0))}, neverWritten},
		{"a put that makes version -1", put, 9, []reply{ownReply(nodeStat(-1, 5, 0))}, neverWritten},
		{"a put of a node that was written 2^31 times", put, 9, []reply{ownReply(nodeStat(-1<<31, 5, 0))}, nil},
		{"a put of another length", put, 9, []reply{ownReply(nodeStat(1, 4, 0))}, wrongLength},
		{"a put of -1 bytes", put, 9, []reply{ownReply(nodeStat(1, -1, 0))}, wrongLength},
		{"a put of nothing", store.Op{Kind: kv.Put}, 9, []reply{ownReply(nodeStat(1, 0, 0))}, nil},
		{"a put of nothing that has -1 bytes", store.Op{Kind: kv.Put}, 9, []reply{ownReply(nodeStat(1, -1, 0))}, wrongLength},

		{"a create", put, 9, []reply{noNode, path(k)}, nil},
		{"a create without a transaction", put, -1, []reply{noNode, path(k)}, noZxid},
		{"a create of another node", put, 9, []reply{noNode, path("/l")}, wrongNode},
		{"a create of nothing", put, 9, []reply{noNode, {}}, wrongNode},
		{"a create of a path that is cut off", put, 9, []reply{noNode, plain([]byte("\x00\x00\x00\x03/k"))}, wrongNode},

		{"a delete", store.Op{Kind: kv.Delete}, 9, []reply{{}}, nil},
		{"a delete without a transaction", store.Op{Kind: kv.Delete}, 0, []reply{{}}, noZxid},
		{"a delete of nothing", store.Op{Kind: kv.Delete}, 0, []reply{noNode}, nil},

		{"a swap", cas, 9, []reply{ownReply(nodeStat(6, 5, 0))}, nil},
		{"a swap without a transaction", cas, -1, []reply{plain(nodeStat(6, 5, 9))}, noZxid},
		{"a swap that makes another version", cas, 9, []reply{ownReply(nodeStat(7, 5, 0))}, wrongVersion},
		{"a swap that changes no version", cas, 9, []reply{ownReply(nodeStat(5, 5, 0))}, wrongVersion},
		{"a swap of another length", cas, 9, []reply{ownReply(nodeStat(6, 6, 0))}, wrongLength},

		{"a get", get, 9, []reply{plain(stat(1, []byte(value)))}, nil},
		{"a get of what was never written", get, 9, []reply{plain(stat(0, nil))}, nil},
		{"a get of a node that the server made for itself", get, 9, []reply{plain(append(jute.AppendBuffer(nil, ""), nodeStat(1, 0, 0)...))}, nil},
		{"a get of what was never made", get, 9, []reply{plain(append(jute.AppendBuffer(nil, ""), nodeStat(1, 0, -1)...))}, badMzxid},
		{"a get of what was changed later", get, 4, []reply{plain(stat(1, []byte(value)))}, laterMzxid},
		{"a get of another length", get, 9, []reply{plain(append(jute.AppendBuffer(nil, value), nodeStat(1, 4, 5)...))}, wrongLength},
		{"a get behind a sync", linearizable, 9, []reply{path(k), plain(stat(1, []byte(value)))}, nil},
		{"a get behind a sync of another node", linearizable, 9, []reply{path("/l"), plain(stat(1, []byte(value)))}, wrongSyncNode},
		{"a get behind an empty sync", linearizable, 9, []reply{{}, plain(stat(1, []byte(value)))}, wrongSyncNode},
		{"a get behind a sync of no node", linearizable, 9, []reply{noNode, plain(stat(1, []byte(value)))}, nil},

		{"a list", list, 9, []reply{plain(children(2, "k", "l"))}, nil},
		{"a list with a path", list, 9, []reply{plain(children(1, "k/l"))}, invalidName},
		{"a list of no name", list, 9, []reply{plain(children(1, ""))}, invalidName},
		{"a list with a name twice", list, 9, []reply{plain(children(3, "l", "k", "l"))}, duplicateName},
		{"a list with fewer names than children", list, 9, []reply{plain(children(3, "k", "l"))}, wrongCount},
		{"a list with more names than children", list, 9, []reply{plain(children(1, "k", "l"))}, wrongCount},
		{"a list behind an empty sync", store.Op{Kind: kv.Range, Range: &store.RangeOp{End: []byte{0}}}, 9, []reply{{}, plain(children(2, "k", "l"))}, wrongSyncNode},

		{"a transaction", txn, 9, []reply{plain(stats(1, 2))}, nil},
		{"a transaction without a number", txn, 0, []reply{plain(stats(1, 2))}, noZxid},
		{"a transaction with one result", txn, 9, []reply{plain(stats(1))}, mismatchedResults},
		{"a transaction with three results", txn, 9, []reply{plain(stats(1, 2, 3))}, mismatchedResults},
		{"a transaction without results", txn, 9, []reply{plain(results())}, mismatchedResults},
		{"a transaction that makes version 0", txn, 9, []reply{plain(stats(1, 0))}, neverWritten},
		{"a transaction of another transaction's nodes", txn, 10, []reply{plain(stats(1, 2))}, wrongTxn},
		{"a transaction of other lengths", txn, 9, []reply{plain(results(resultOf(jute.OpSetData, nodeStat(1, 5, 9)), resultOf(jute.OpSetData, nodeStat(1, 5, 9))))}, wrongLength},
		{"a transaction of deletes", txn, 9, []reply{plain(results(resultOf(jute.OpDelete, nil), resultOf(jute.OpDelete, nil)))}, mismatchedResults},
		{"a transaction of creates", txn, 9, []reply{plain(results(resultOf(jute.OpCreate, jute.AppendBuffer(nil, "/k")), resultOf(jute.OpCreate, jute.AppendBuffer(nil, "/l"))))}, mismatchedResults},
		{"a transaction half of which failed", txn, 9, []reply{plain(results(resultOf(jute.OpSetData, nodeStat(1, 5, 9)), failure(jute.NoAuth)))}, mismatchedResults},
		{"a transaction that failed for no reason", txn, 9, []reply{plain(results(failure(jute.OK), failure(jute.RuntimeInconsistency)))}, mismatchedResults},
		{"a transaction that failed once of two", txn, 9, []reply{plain(results(failure(jute.NoNode)))}, mismatchedResults},
		{"a transaction with a create", txn, 9, []reply{
			plain(results(failure(jute.NoNode), failure(jute.RuntimeInconsistency))),
			plain(results(resultOf(jute.OpCreate, jute.AppendBuffer(nil, "/k")), resultOf(jute.OpSetData, nodeStat(1, 1, 10)))),
		}, nil},
		{"a transaction with a create of another node", txn, 9, []reply{
			plain(results(failure(jute.NoNode), failure(jute.RuntimeInconsistency))),
			plain(results(resultOf(jute.OpCreate, jute.AppendBuffer(nil, "/l")), resultOf(jute.OpSetData, nodeStat(1, 1, 10)))),
		}, wrongNode},
	} {
		s := granted(t)
		if s.zxid = tc.zxid; tc.op.Kind != kv.Range {
			tc.op.Key = []byte(k) // so that submit can overwrite it
		} else {
			tc.op.Key = []byte("/p/k")
		}
		tc.op.Value = bytes.Clone(tc.op.Value)
		s.submit(tc.op)
		var events []store.Event
		for _, r := range tc.answers {
			s.written()
			if r.own {
				binary.BigEndian.PutUint64(r.record[8:], uint64(s.zxid))
			}
			s.answer(r.code, r.record...)
			more, err := s.tryFeed()
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			events = append(events, more...)
		}
		if len(events) != 1 || string(events[0].Text) != string(tc.want) || (events[0].Outcome == kv.WrongResponse) != (tc.want != nil) {
			t.Errorf("%s: %v %q, want %q", tc.name, events[0].Outcome, events[0].Text, tc.want)
		}
	}
}

// TestZxidsOfASessionMustIncrease checks that the codec requires a session's zxids to increase: a
// write must have a higher zxid than all responses so far, and a read must not have a lower zxid
// than an earlier response. With MayReadOlderState in the dialect, a read may have a lower zxid.
func TestZxidsOfASessionMustIncrease(t *testing.T) {
	put := func(s *scripted) string {
		s.submit(store.Op{Kind: kv.Put, Key: key("k")})
		s.set(1, 0)
		return outcomes(s)
	}
	get := func(s *scripted) string {
		s.submit(store.Op{Kind: kv.Get, Consistency: kv.Local, Key: key("k")})
		s.answer(jute.OK, stat(1, nil)...)
		return outcomes(s)
	}
	miss := func(s *scripted) string {
		s.submit(store.Op{Kind: kv.Get, Consistency: kv.Local, Key: key("k")})
		s.answer(jute.NoNode)
		return outcomes(s)
	}
	for _, tc := range []struct {
		name          string
		first, second func(*scripted) string
		by            int64 // how much lower the second response's zxid is than the first's
		want, proxy   string
	}{
		{"a write behind a write", put, put, -1, "ok", "ok"},
		{"a write in another's transaction", put, put, 0, string(olderZxid), string(olderZxid)},
		{"a write in a read's transaction", get, put, 0, string(olderZxid), string(olderZxid)},
		{"a write before a read", get, put, 1, string(olderZxid), string(olderZxid)},
		{"a read of the same state", put, get, 0, "ok", "ok"},
		{"a read of an older state", put, get, 1, string(olderZxid), "ok"},
		{"a read of a key that was not there then", get, miss, 1, string(olderZxid), "miss"},
	} {
		for dialect, want := range map[Dialect]string{{}: tc.want, {MayReadOlderState: true}: tc.proxy} {
			s := granted(t)
			s.c.dialect = dialect
			if got := tc.first(s); got != "ok" {
				t.Fatalf("%s: the first operation ended with %s", tc.name, got)
			}
			if s.zxid -= 1 + tc.by; tc.second(s) != want {
				t.Errorf("%s, %+v: the second operation did not end with %s", tc.name, dialect, want)
			}
		}
	}
	// The next connection of the session still requires a zxid above the highest zxid so far.
	s := granted(t)
	put(s)
	s.c.Lost(nil)
	next := newScripted(t, store.Access{}, store.ConnectionInfo{Previous: s.c})
	next.grant(9000, 5)
	next.feed()
	next.zxid = s.zxid - 1
	if got := put(next); got != string(olderZxid) {
		t.Errorf("the first put on the next connection returned %s", got)
	}
}

// outcomes returns the outcome of the completed operation, or the explanation if the response was
// wrong.
func outcomes(s *scripted) string {
	s.written()
	events, err := s.tryFeed()
	if err != nil || len(events) != 1 {
		s.t.Fatalf("%+v, %v", events, err)
	}
	if events[0].Outcome == kv.WrongResponse {
		return string(events[0].Text)
	}
	return events[0].Outcome.String()
}

// TestDialects checks that the codec does not require a guarantee that the dialect lacks.
func TestDialects(t *testing.T) {
	late := results(resultOf(jute.OpSetData, nodeStat(1, 3, 9)), resultOf(jute.OpSetData, nodeStat(1, 3, 9)))
	for _, tc := range []struct {
		name    string
		dialect Dialect
		op      store.Op
		record  []byte
		want    string
	}{
		{"the root of ZooKeeper", Dialect{}, store.Op{Key: key("/k"), Kind: kv.Range, Range: &store.RangeOp{End: []byte{0}}}, children(3, "k", "l"), string(wrongCount)},
		{"the root that hides a child", Dialect{MayHideChild: true}, store.Op{Key: key("/k"), Kind: kv.Range, Range: &store.RangeOp{End: []byte{0}}}, children(3, "k", "l"), "ok"},
		{"another node", Dialect{MayHideChild: true}, store.Op{Key: key("/p/k"), Kind: kv.Range, Range: &store.RangeOp{End: []byte{0}}}, children(3, "k", "l"), string(wrongCount)},
		{"a multi of one key", Dialect{}, store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: key("k"), Value: []byte("1")}, {Key: key("k"), Value: []byte("333")}}}, late, string(wrongLength)},
		{"a multi with late Stats", Dialect{StatsAfterMulti: true}, store.Op{Kind: kv.Txn, Pairs: []store.Pair{{Key: key("k"), Value: []byte("1")}, {Key: key("k"), Value: []byte("333")}}}, late, "ok"},
	} {
		s := granted(t)
		s.c.dialect, s.zxid = tc.dialect, 9
		tc.op.Consistency = kv.Local
		s.submit(tc.op)
		s.answer(jute.OK, tc.record...)
		if got := outcomes(s); got != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got, tc.want)
		}
	}
}

// TestNamesTwice checks that the codec finds a duplicate name anywhere in a list, and that after a
// long list it skips the correct number of lists.
func TestNamesTwice(t *testing.T) {
	list := func(names ...string) (answer []byte, at []int) {
		for _, name := range names {
			at = append(at, len(answer))
			answer = jute.AppendBuffer(answer, name)
		}
		return answer, at
	}
	found := func(d *duplicateDetector, of ...string) (n int) {
		answer, at := list(of...)
		d.begin(len(of))
		for i, name := range of {
			if d.insert(answer, at[i], []byte(name)) {
				n++
			}
		}
		return n
	}
	d := newDuplicateDetector()
	if n := found(d); n != 0 || d.listsToSkip != 0 {
		t.Errorf("an empty list has %d duplicate names, and %d lists will be skipped", n, d.listsToSkip)
	}
	var many []string
	for i := range 1000 {
		many = append(many, fmt.Sprint(i))
	}
	if n := found(d, many...); n != 0 || d.listsToSkip != 999 {
		t.Errorf("the list has %d duplicate names, and %d lists will be skipped", n, d.listsToSkip)
	}
	for d.listsToSkip > 0 {
		if found(d, "a", "a") != 0 {
			t.Fatal("a list that should be skipped is examined")
		}
	}
	if n := found(d, slices.Concat(many, []string{"7", "999", "0"})...); n != 3 {
		t.Errorf("%d of 3 duplicate names were found", n)
	}
	d.listsToSkip = 0
	long := slices.Repeat(many, maxCheckedNames/len(many)+2)
	if n := found(d, long...); n != maxCheckedNames-len(many) || len(d.slots) > 4*maxCheckedNames || d.listsToSkip != maxCheckedNames-1 {
		t.Errorf("a list of %d names has %d duplicates; %d slots are used, and %d lists will be skipped", len(long), n, len(d.slots), d.listsToSkip)
	}
}

// TestPingsHaveAFloor checks that a session timeout of one millisecond does not cause a thousand
// pings per second.
func TestPingsHaveAFloor(t *testing.T) {
	s := newScripted(t, store.Access{}, store.ConnectionInfo{})
	s.grant(1, 5)
	s.feed()
	s.written()
	pings := 0
	for now := int64(1); now <= 10_000_000_000; now = s.c.Tick(now) {
		if strings.Contains(s.requests(), "11") {
			pings++
		}
	}
	if pings > 100 || pings < 90 {
		t.Errorf("the codec sent %d pings in 10 s, want 90 to 100", pings)
	}
}

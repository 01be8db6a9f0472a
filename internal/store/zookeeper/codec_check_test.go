package zookeeper

import (
	"bytes"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// What no ZooKeeper answers is a wrong answer with a sentence.
func TestImpossibleAnswers(t *testing.T) {
	k := []byte("/k")
	never := bytes.Repeat([]byte{0}, jute.StatLen)
	names := func(name string) []byte {
		return append(append([]byte{0, 0, 0, 1, 0, 0, 0, byte(len(name))}, name...), never...)
	}
	for _, tc := range []struct {
		name    string
		op      store.Op
		zxid    int64
		answers [][]byte // nil: NoNode
		want    kv.Outcome
	}{
		{"a put", store.Op{Kind: kv.Put, Key: k}, 9, [][]byte{stat(1)}, kv.OK},
		{"a put without a transaction", store.Op{Kind: kv.Put, Key: k}, 0, [][]byte{stat(1)}, kv.WrongAnswer},
		{"a put of what was never made", store.Op{Kind: kv.Put, Key: k}, 9, [][]byte{never}, kv.WrongAnswer},
		{"a create", store.Op{Kind: kv.Put, Key: k}, 9, [][]byte{nil, []byte("\x00\x00\x00\x02/k")}, kv.OK},
		{"a create of another node", store.Op{Kind: kv.Put, Key: k}, 9, [][]byte{nil, []byte("\x00\x00\x00\x02/l")}, kv.WrongAnswer},
		{"a create of nothing", store.Op{Kind: kv.Put, Key: k}, 9, [][]byte{nil, {}}, kv.WrongAnswer},
		{"a delete", store.Op{Kind: kv.Delete, Key: k}, 9, [][]byte{{}}, kv.OK},
		{"a delete without a transaction", store.Op{Kind: kv.Delete, Key: k}, 0, [][]byte{{}}, kv.WrongAnswer},
		{"a get of what was never made", store.Op{Kind: kv.Get, Key: k, Consistency: kv.Local}, 9, [][]byte{append([]byte{0, 0, 0, 0}, never...)}, kv.WrongAnswer},
		{"a list", store.Op{Kind: kv.Range, Key: k, End: []byte{0}, Consistency: kv.Local}, 9, [][]byte{names("k")}, kv.OK},
		{"a list with a path", store.Op{Kind: kv.Range, Key: k, End: []byte{0}, Consistency: kv.Local}, 9, [][]byte{names("k/l")}, kv.WrongAnswer},
		{"a list of no name", store.Op{Kind: kv.Range, Key: k, End: []byte{0}, Consistency: kv.Local}, 9, [][]byte{names("")}, kv.WrongAnswer},
		{"a swap without a transaction", store.Op{Kind: kv.CAS, Key: k, Revision: 5}, -1, [][]byte{stat(5)}, kv.WrongAnswer},
	} {
		s := granted(t)
		s.zxid = tc.zxid
		tc.op.Key = bytes.Clone(k) // submit spoils it
		s.submit(tc.op)
		var events []store.Event
		for _, record := range tc.answers {
			s.written()
			code := jute.OK
			if record == nil {
				code = jute.NoNode
			}
			s.answer(code, record...)
			more, err := s.tryFeed()
			if err != nil {
				t.Fatalf("%s: %v", tc.name, err)
			}
			events = append(events, more...)
		}
		if len(events) != 1 || events[0].Outcome != tc.want || (tc.want == kv.WrongAnswer) != (len(events[0].Text) > 0) {
			t.Errorf("%s: %+v, want %v", tc.name, events, tc.want)
		}
	}
}

// A session of a millisecond is not kept alive by a thousand pings a second.
func TestPingsHaveAFloor(t *testing.T) {
	s := newScripted(t, store.Access{}, store.Dialed{})
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
		t.Errorf("%d pings in 10 s", pings)
	}
}

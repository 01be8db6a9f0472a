package load

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func readerOf(t *testing.T, size int, limit int64) *source {
	t.Helper()
	s, err := newSource(&scenario.Load{
		Mix:     []scenario.Operation{{Kind: kv.Range, Consistency: kv.Local, Weight: 1}},
		KeySize: 4, ValueSize: size, KeySpace: 100, Prefix: "p/", Ranges: scenario.Ranges{RangeLimit: limit}, Distribution: scenario.Distribution{Name: "sequential"},
	})
	if err != nil {
		t.Fatal(err)
	}
	s.answers.listings.ascending = true
	return s
}

// Check judges the value that a read returns, depending on the consistency level.
func TestReadsAreJudged(t *testing.T) {
	const number = 7
	key := []byte("p/0007")
	value := func(size int, seed uint64) []byte { return keys.NewValues(size, seed).Append(nil, key, 3, 99) }
	damaged := value(64, 1)
	damaged[40] ^= 1
	for name, c := range map[string]struct {
		value               []byte
		replaced            []byte
		linearizable, local kv.Outcome
	}{
		"this run's":                   {value(64, 1), nil, kv.OK, kv.OK},
		"another run's, same size":     {value(64, 2), value(32, 2), kv.OK, kv.OK},
		"another run's, another size":  {value(32, 2), nil, kv.Stale, kv.Stale},
		"replaced":                     {value(32, 2), value(32, 2), kv.WrongResponse, kv.Stale},
		"older than the replaced":      {value(33, 2), value(32, 2), kv.Stale, kv.Stale},
		"short":                        {value(8, 2), nil, kv.WrongResponse, kv.Unverifiable},
		"short and replaced":           {value(8, 2), value(8, 2), kv.WrongResponse, kv.Stale},
		"empty":                        {nil, nil, kv.WrongResponse, kv.Unverifiable},
		"damaged":                      {damaged, nil, kv.WrongResponse, kv.WrongResponse},
		"damaged before, and replaced": {damaged, damaged, kv.WrongResponse, kv.Stale},
		"another key's":                {keys.NewValues(64, 1).Append(nil, []byte("p/0008"), 3, 99), nil, kv.WrongResponse, kv.WrongResponse},
	} {
		s := readerOf(t, 64, 0)
		s.answers.preloaded = &Preloaded{}
		if c.replaced != nil {
			s.answers.preloaded.replace(number, c.replaced)
		}
		for level, want := range map[kv.Consistency]kv.Outcome{kv.Linearizable: c.linearizable, kv.Local: c.local, kv.LeaderLease: c.local} {
			ev := store.Event{Key: key, Value: c.value, Count: 1}
			if got := s.Check(kv.Get, encodeRef(number, level), &ev); got != want {
				t.Errorf("%s: %v at level %v, want %v", name, got, level, want)
			} else if (got == kv.WrongResponse) != (len(ev.Text) > 0) {
				t.Errorf("%s: the text is %q", name, ev.Text)
			}
		}
	}
	ev := store.Event{Key: []byte("p/0008"), Value: value(64, 1), Count: 1}
	if got := readerOf(t, 64, 0).Check(kv.Get, encodeRef(number, kv.Local), &ev); got != kv.WrongResponse {
		t.Errorf("a get whose reply has another key is judged %v", got)
	}
}

// A value that is too short for a checksum is wrong if a linearizable read must return a value with
// a checksum. This is the case after the preload of a load whose own values have checksums.
func TestShortValuesAreUnverifiable(t *testing.T) {
	const first = 98
	for _, c := range []struct {
		name      string
		size      int
		preloaded bool
		level     kv.Consistency
		want      kv.Outcome
	}{
		{"a linearizable read", 16, true, kv.Linearizable, kv.WrongResponse},
		{"a read of one member", 16, true, kv.Local, kv.Unverifiable},
		{"a read of the leader", 16, true, kv.LeaderLease, kv.Unverifiable},
		{"without a preload", 16, false, kv.Linearizable, kv.Unverifiable},
		{"where the load's are short", 15, true, kv.Linearizable, kv.Unverifiable},
	} {
		for _, size := range []int{0, 8, 15} {
			s := readerOf(t, c.size, 0)
			if c.preloaded {
				s.answers.preloaded = &Preloaded{}
			}
			pairs := pairsOf(first, 2, size)
			for i := range pairs {
				pairs[i].Value = append([]byte{}, pairs[i].Value...) // an empty value, not nil
			}
			get := store.Event{Key: pairs[0].Key, Value: pairs[0].Value, Count: 1}
			list := found(s, 3, pairs, 2)
			for kind, ev := range map[kv.Kind]*store.Event{kv.Get: &get, kv.Range: &list} {
				if got := s.Check(kind, encodeRef(first, c.level), ev); got != c.want || (got == kv.WrongResponse) != (len(ev.Text) > 0) {
					t.Errorf("%s (%v) of %d bytes: %v %q, want %v", c.name, kind, size, got, ev.Text, c.want)
				}
			}
		}
	}
}

// found delivers the keys of a range's reply to the source, as a codec does, and returns the event
// for the reply.
func found(s *source, tag uint32, pairs []store.Pair, count int64) store.Event {
	ev := store.Event{Tag: tag, Count: count}
	values := s.answers.listings.Begin(tag)
	for i, p := range pairs {
		if i == 0 {
			ev.Key, ev.Value = p.Key, p.Value
		}
		if !values {
			p.Value = nil
		}
		s.answers.listings.Add(tag, p.Key, p.Value, 0)
	}
	return ev
}

// pairsOf returns n keys with values of the given size. The number of the first key is `first`.
func pairsOf(first, n, size int) (pairs []store.Pair) {
	v := keys.NewValues(size, 5)
	for i := range n {
		key := fmt.Appendf(nil, "p/%04d", first+i)
		pairs = append(pairs, store.Pair{Key: key, Value: v.Append(nil, key, 0, uint64(i))})
	}
	return pairs
}

func TestRangesAreJudged(t *testing.T) {
	const first = 90 // this key and the following ones are the last ten keys of the key space
	for name, c := range map[string]struct {
		limit, count int64
		change       func(p []store.Pair) []store.Pair
		whole        bool
		want         kv.Outcome
	}{
		"all":                    {count: 10, want: kv.OK},
		"all, as they must be":   {count: 10, whole: true, want: kv.OK},
		"none":                   {change: func([]store.Pair) []store.Pair { return nil }, want: kv.Miss},
		"some of them":           {count: 9, change: func(p []store.Pair) []store.Pair { return p[1:] }, want: kv.OK},
		"one is missing":         {count: 9, change: func(p []store.Pair) []store.Pair { return p[1:] }, whole: true, want: kv.Miss},
		"up to the limit":        {limit: 4, count: 4, change: func(p []store.Pair) []store.Pair { return p[:4] }, whole: true, want: kv.OK},
		"fewer than the limit":   {limit: 4, count: 3, change: func(p []store.Pair) []store.Pair { return p[:3] }, whole: true, want: kv.Miss},
		"more than the limit":    {limit: 4, count: 10, want: kv.WrongResponse},
		"a wrong count":          {count: 11, want: kv.WrongResponse},
		"before it":              {count: 11, change: func(p []store.Pair) []store.Pair { return append(pairsOf(89, 1, 64), p...) }, want: kv.WrongResponse},
		"after it":               {count: 11, change: func(p []store.Pair) []store.Pair { return append(p, pairsOf(100, 1, 64)...) }, want: kv.WrongResponse},
		"twice":                  {count: 11, change: func(p []store.Pair) []store.Pair { return append(p, p[9]) }, want: kv.WrongResponse},
		"out of order":           {count: 10, change: func(p []store.Pair) []store.Pair { p[3], p[4] = p[4], p[3]; return p }, want: kv.WrongResponse},
		"a value of another key": {count: 10, change: func(p []store.Pair) []store.Pair { p[3].Value = p[4].Value; return p }, want: kv.WrongResponse},
		"an older value":         {count: 10, change: func(p []store.Pair) []store.Pair { copy(p[3:4], pairsOf(93, 1, 32)); return p }, want: kv.Stale},
		"a short value":          {count: 10, change: func(p []store.Pair) []store.Pair { copy(p[3:4], pairsOf(93, 1, 8)); return p }, want: kv.Unverifiable},
		"only keys": {count: 10, change: func(p []store.Pair) []store.Pair {
			for i := range p {
				p[i].Value = nil
			}
			return p
		}, want: kv.OK},
	} {
		s := readerOf(t, 64, c.limit)
		s.allKeysExist = c.whole
		s.load.Scan.KeysOnly = name == "only keys"
		pairs := pairsOf(first, 10, 64)
		if c.change != nil {
			pairs = c.change(pairs)
		}
		ev := found(s, 3, pairs, c.count)
		if got := s.Check(kv.Range, encodeRef(first, kv.Local), &ev); got != c.want {
			t.Errorf("%s: %v (%s), want %v", name, got, ev.Text, c.want)
		}
	}
}

// Of many long replies, only some are checked completely. In the others, only the keys, the number
// of keys, and the first value are checked.
func TestLongRangesAreSampled(t *testing.T) {
	settle.SkipUnderRace(t)
	s := readerOf(t, 64, 0)
	looked := 0
	for i := range uint32(699) {
		before := s.answers.listings.skipCount
		ev := found(s, i%5, pairsOf(0, 96, 64), 96)
		if before == 0 {
			looked++
		}
		if got := s.Check(kv.Range, encodeRef(0, kv.Linearizable), &ev); got != kv.OK {
			t.Fatalf("reply %d: %v (%s)", i, got, ev.Text)
		}
	}
	if looked != 8 { // one reply is checked, then 95 are skipped
		t.Errorf("%d of 699 replies were checked completely, want 8", looked)
	}
	if s.answers.listings.skipCount == 0 {
		t.Fatal("skipCount is 0, so the next reply would be checked completely")
	}
	for name, change := range map[string]func(p []store.Pair) []store.Pair{
		"a key after it":  func(p []store.Pair) []store.Pair { p[95].Key = []byte("q"); return p },
		"a key before it": func(p []store.Pair) []store.Pair { p[0].Key = []byte("o"); return p },
		"out of order":    func(p []store.Pair) []store.Pair { p[7], p[8] = p[8], p[7]; return p },
		"one of them":     func(p []store.Pair) []store.Pair { p[9] = p[8]; return p },
	} {
		if s.answers.listings.skipCount == 0 {
			t.Fatal("skipCount is 0, so the next reply would be checked completely")
		}
		ev := found(s, 2, change(pairsOf(0, 96, 64)), 96)
		if got := s.Check(kv.Range, encodeRef(0, kv.Linearizable), &ev); got != kv.WrongResponse {
			t.Errorf("%s, in a reply whose values are not checked: %v", name, got)
		}
	}
	pairs := pairsOf(0, 96, 64)
	pairs[0].Value = bytes.Repeat([]byte("x"), 64)
	ev := found(s, 1, pairs, 96)
	if got := s.Check(kv.Range, encodeRef(0, kv.Linearizable), &ev); got != kv.WrongResponse {
		t.Errorf("a list with a foreign first value is judged %v", got)
	}
}

func TestCheckDoesNotAllocate(t *testing.T) {
	s := readerOf(t, 64, 0)
	s.answers.preloaded = &Preloaded{}
	pairs := pairsOf(90, 10, 64)
	check := func() {
		ev := found(s, 3, pairs, 10)
		if s.Check(kv.Range, encodeRef(90, kv.Local), &ev) != kv.OK {
			t.Fatal("wrong")
		}
		ev = store.Event{Key: pairs[0].Key, Value: pairs[0].Value}
		if s.Check(kv.Get, encodeRef(90, kv.Local), &ev) != kv.OK {
			t.Fatal("wrong")
		}
	}
	check()
	if n := testing.AllocsPerRun(100, check); n > 0 {
		t.Errorf("%.0f allocations", n)
	}
}

// The reply to a write must be for the write's key. A delete that found no key is a miss. A
// transaction must report as many writes as requested.
func TestWritesAreJudged(t *testing.T) {
	const number = 7
	own, other := []byte("p/0007"), []byte("p/0008")
	for _, c := range []struct {
		name string
		kind kv.Kind
		ev   store.Event
		want kv.Outcome
	}{
		{"a put", kv.Put, store.Event{Revision: 5}, kv.OK},
		{"a put that names its key", kv.Put, store.Event{Key: own}, kv.OK},
		{"a put of another key", kv.Put, store.Event{Key: other}, kv.WrongResponse},
		{"a swap of another key", kv.CAS, store.Event{Key: other}, kv.WrongResponse},
		{"a delete", kv.Delete, store.Event{Count: 1}, kv.OK},
		{"a delete of nothing", kv.Delete, store.Event{}, kv.Miss},
		{"a delete without a count", kv.Delete, store.Event{Count: -1}, kv.OK},
		{"a delete of another key", kv.Delete, store.Event{Key: other, Count: 1}, kv.WrongResponse},
		{"a transaction", kv.Txn, store.Event{Count: 3}, kv.OK},
		{"a transaction of nothing", kv.Txn, store.Event{}, kv.WrongResponse},
		{"a transaction of more", kv.Txn, store.Event{Count: 4}, kv.WrongResponse},
	} {
		s := readerOf(t, 64, 0)
		s.pairs = make([]store.Pair, 3)
		if got := s.Check(c.kind, encodeRef(number, kv.NoConsistency), &c.ev); got != c.want || (got == kv.WrongResponse) != (len(c.ev.Text) > 0) {
			t.Errorf("%s: %v %q, want %v", c.name, got, c.ev.Text, c.want)
		}
	}
}

// After each reply, the source knows the version that the reply contains, or no version. Otherwise
// later compare-and-sets would conflict with the load's own writes.
func TestVersionsFollowTheLoadsWrites(t *testing.T) {
	const known, unknown = 5, keys.Unknown
	for _, c := range []struct {
		name string
		kind kv.Kind
		ev   store.Event
		want [3]int64 // versions of keys 98, 99 and 0
	}{
		{"a put", kv.Put, store.Event{Revision: 9}, [3]int64{9, known, known}},
		{"a put whose reply has no version", kv.Put, store.Event{Revision: -1}, [3]int64{unknown, known, known}},
		{"a get", kv.Get, store.Event{Revision: 9}, [3]int64{9, known, known}},
		{"a get of a missing key", kv.Get, store.Event{}, [3]int64{known, known, known}},
		{"a swap", kv.CAS, store.Event{Revision: 9}, [3]int64{9, known, known}},
		{"a conflict", kv.CAS, store.Event{Outcome: kv.Conflict}, [3]int64{unknown, known, known}},
		{"a conflict with the newer version", kv.CAS, store.Event{Outcome: kv.Conflict, Revision: 9}, [3]int64{9, known, known}},
		{"a delete", kv.Delete, store.Event{Revision: 9, Count: 1}, [3]int64{unknown, known, known}},
		{"a transaction", kv.Txn, store.Event{Revision: 9, Count: 3}, [3]int64{9, 9, 9}},
		{"a transaction whose reply has no version", kv.Txn, store.Event{Count: 3}, [3]int64{unknown, unknown, unknown}},
		{"a range", kv.Range, store.Event{Revision: 9}, [3]int64{known, known, known}},
		{"a transaction of reads", kv.TxnGet, store.Event{Revision: 9}, [3]int64{known, known, known}},
		{"a keep-alive", kv.KeepAlive, store.Event{Revision: 9}, [3]int64{known, known, known}},
	} {
		s := readerOf(t, 64, 0)
		s.pairs, s.versions = make([]store.Pair, 3), keys.NewVersions(s.space.N())
		for number := range s.space.N() {
			s.versions.Set(number, known)
		}
		s.Check(c.kind, encodeRef(98, kv.NoConsistency), &c.ev)
		if got := [3]int64{s.versions.Get(98), s.versions.Get(99), s.versions.Get(0)}; got != c.want {
			t.Errorf("after %s, the versions of keys 98, 99 and 0 are %v, want %v", c.name, got, c.want)
		}
	}
}

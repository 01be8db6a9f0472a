package load

import (
	"bytes"
	"sort"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Sentences about wrong answers to ranges; nobody writes to them.
var (
	outside   = []byte("a range returned a key that lies outside of it")
	disorder  = []byte("a range returned its keys in another order than that of their bytes, or one of them twice")
	overLimit = []byte("a range returned more keys than its limit")
	unlikeSum = []byte("a range returned fewer keys or more than it says")
)

// listings takes the keys of ranges' answers, for one loop, and checks them as
// they come: several answers can be under way at once, each in some parts. Every
// key is looked at, whether it lies in the interval and in its order. To look at
// every value would cost more than to read it, so after an answer of n keys the
// values of n-1 answers are passed over but for the first: on the average one
// value an answer is looked at. Where all operations are recorded, which value a
// key has is kept of all, and is checked with the history.
type listings struct {
	src       *source
	ascending bool      // the store promises the order
	keep      bool      // what is found is kept for the history
	of        []listing // by the operations' tags
	skip      int64     // answers whose values are to be passed over
}

// listing is what is known of one answer.
type listing struct {
	open, values bool // values: they are looked at
	keys         int64
	least, last  []byte
	wrong        []byte // a sentence; nil: nothing is
	replaced     bool   // a value is one that the preload replaced
	short        bool   // a value carries no checksum
	worst        kv.Outcome
	found        []foundKey // of the key space, in the order of the answer
}

// foundKey is a key of an answer, as a history has it.
type foundKey struct {
	number, value uint64 // value: its identity, history.Unseen if it has none
	revision      int64
}

// Begin implements store.Keys.
func (l *listings) Begin(tag uint32) bool {
	for int(tag) >= len(l.of) {
		l.of = append(l.of, listing{})
	}
	at := &l.of[tag]
	*at = listing{open: true, values: l.skip == 0, least: at.least[:0], last: at.last[:0], found: at.found[:0]}
	if l.skip > 0 {
		l.skip--
	}
	return at.values || l.keep
}

// Add implements store.Keys.
func (l *listings) Add(tag uint32, key, value []byte, revision int64) {
	at := &l.of[tag]
	at.keys++
	if l.keep {
		at.found = l.src.found(at.found, key, value, revision)
	}
	if at.wrong != nil {
		return
	}
	if at.keys == 1 || !l.ascending && bytes.Compare(key, at.least) < 0 {
		at.least = append(at.least[:0], key...)
	}
	// In ascending order all lie before the end where the last does.
	if at.keys > 1 && l.ascending && bytes.Compare(key, at.last) <= 0 {
		at.wrong = disorder
	}
	if at.keys == 1 || l.ascending || bytes.Compare(key, at.last) > 0 {
		at.last = append(at.last[:0], key...)
	}
	if at.values && value != nil && at.wrong == nil {
		l.judge(at, key, value)
	}
}

// judge judges one value. Only at the end is it known whether the range was
// linearizable, so that it must not have returned a replaced one.
func (l *listings) judge(at *listing, key, value []byte) {
	a := &l.src.answers
	number, ok := a.space.Number(key)
	if !ok || !l.src.rangesOurs() {
		return
	}
	outcome, why := a.value(number, kv.None, key, value)
	at.wrong, at.worst = why, max(at.worst, outcome)
	at.replaced = at.replaced || outcome == kv.Stale && a.before.replaced(number, value)
	at.short = at.short || outcome == kv.Unverifiable
}

// end returns what is known of an answer that is whole, nil if its keys did not
// come, and decides how many are to be passed over.
func (l *listings) end(tag uint32) *listing {
	if int(tag) >= len(l.of) || !l.of[tag].open {
		return nil
	}
	at := &l.of[tag]
	at.open = false
	if at.values {
		l.skip = max(at.keys-1, 0)
	}
	return at
}

// found appends a key that an answer has, if it is one of the key space.
func (s *source) found(to []foundKey, key, value []byte, revision int64) []foundKey {
	number, ok := s.space.Number(key)
	if !ok {
		return to
	}
	return append(to, foundKey{number, identityOf(s.values, value), max(revision, 0)})
}

// identityOf is which value it says it is: whether that can be is for who compares
// all that was seen.
func identityOf(v *keys.Values, value []byte) uint64 {
	if v.Unique() && len(value) == v.Size() {
		return keys.Read(value)
	}
	return history.Unseen
}

// covered is the numbers of the key space's keys that the ranges are over, from
// first on and before behind, where that is the same for all.
func covered(space keys.Space, first, end []byte) (from, behind uint64) {
	var key []byte
	lowest := func(of []byte) uint64 {
		return uint64(sort.Search(int(space.N()), func(i int) bool {
			key = space.Append(key[:0], uint64(i))
			return bytes.Compare(key, of) >= 0
		}))
	}
	from, behind = lowest(first), space.N()
	switch n, ok := space.Number(first); {
	case len(end) == 0 && ok:
		behind = n + 1
	case len(end) == 0:
		behind = from
	case len(end) > 1 || end[0] != 0:
		behind = lowest(end)
	}
	return from, behind
}

// before reports whether a key lies before the end of an interval; a zero byte
// is no end.
func before(key, end []byte) bool {
	return len(end) == 1 && end[0] == 0 || bytes.Compare(key, end) < 0
}

// interval is the first key of the ranges and the first behind them; the former
// is nil for the operation's own, the latter for that key alone.
func (s *source) interval() (first, end []byte) {
	if len(s.load.RangeKey) > 0 {
		return s.load.RangeKey, s.load.RangeEnd
	}
	return nil, s.end
}

// rangesOurs reports whether ranges are over the key space: an interval that was
// given may hold what others wrote.
func (s *source) rangesOurs() bool { return len(s.load.RangeKey) == 0 }

// checkRange judges the answer to a range: its keys lie in the interval, in
// their order and within the limit, their values were written to them, and where
// all keys of the key space exist, none of them is missing.
func (s *source) checkRange(number uint64, level kv.Consistency, ev *store.Event) kv.Outcome {
	first, end := s.interval()
	if first == nil {
		s.answers.want = s.space.Append(s.answers.want[:0], number)
		first = s.answers.want
	}
	var at *listing
	if len(end) > 0 {
		at = s.answers.listings.end(ev.Tag)
	}
	why := s.wrongRange(first, end, at, ev)
	if why != nil {
		ev.Text = why
		return kv.WrongAnswer
	}
	if ev.Count < s.atLeast(number) {
		return kv.Miss
	}
	if s.load.Scan.CountOnly {
		return kv.OK
	}
	outcome := kv.OK
	switch {
	case at != nil && at.values:
		outcome = at.worst
		if at.replaced {
			outcome, why = old(level)
		}
		if o, text := s.answers.short(level); at.short && text != nil {
			outcome, why = o, text
		}
	case !s.load.Scan.KeysOnly && len(ev.Key) > 0 && s.rangesOurs():
		if n, ok := s.space.Number(ev.Key); ok {
			outcome, why = s.answers.value(n, level, ev.Key, ev.Value)
		}
	}
	if why != nil {
		ev.Text = why
	}
	return outcome
}

// wrongRange says what is wrong with the keys of an answer; nil for nothing.
func (s *source) wrongRange(first, end []byte, at *listing, ev *store.Event) []byte {
	if s.load.Scan.CountOnly {
		return nil
	}
	least, last := ev.Key, ev.Key
	if at != nil {
		if at.wrong != nil {
			return at.wrong
		}
		if at.keys != ev.Count {
			return unlikeSum
		}
		least, last = at.least, at.last
	}
	switch {
	case s.load.RangeLimit > 0 && ev.Count > s.load.RangeLimit:
		return overLimit
	case ev.Count == 0 || len(least) == 0:
		return nil
	case len(end) == 0 && !bytes.Equal(least, first):
		return anotherKey
	case len(end) > 0 && (bytes.Compare(least, first) < 0 || !before(last, end)):
		return outside
	}
	return nil
}

// atLeast is how many keys a range finds that finds them all: one, and those of
// the key space where they were written before and none is deleted.
func (s *source) atLeast(number uint64) int64 {
	if !s.whole || !s.rangesOurs() {
		return 1
	}
	all := int64(s.space.N() - number)
	if limit := s.load.RangeLimit; limit > 0 && !s.load.Scan.CountOnly {
		return min(all, limit)
	}
	return all
}

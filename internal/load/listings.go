package load

import (
	"bytes"
	"sort"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Texts for wrong responses to ranges. They must not be modified.
var (
	outsideText    = []byte("a range returned a key outside its interval")
	wrongOrderText = []byte("a range returned its keys out of order, or a key twice")
	overLimitText  = []byte("a range returned more keys than its limit")
	wrongCountText = []byte("a range returned a different number of keys than it reported")
)

// listings receives the keys in the replies to one loop's ranges, and checks them as they arrive.
// Several replies can arrive at the same time, each in several parts.
//
// listings checks that every key is inside the interval and in order. Checking every value would
// cost more than reading the replies. So after listings has checked all values in a reply with n
// keys, it checks only the keys in the next n-1 replies. On average, it checks one value per reply.
//
// If operations are recorded (keepsKeys), listings stores every key with the identity of its value,
// and verification checks all these values.
type listings struct {
	src       *source
	ascending bool      // the store guarantees ascending order
	keepsKeys bool      // store the keys for the history
	byTag     []listing // indexed by the tag of the operation
	skipCount int64     // number of following replies whose values are not checked
}

// listing is the state of one reply.
type listing struct {
	isOpen, values        bool // values: the values of this reply are checked
	keys                  int64
	lowestKey, highestKey []byte
	violation             []byte // text for the first violation, or nil
	replaced              bool   // the reply contains a value that the preload had replaced
	short                 bool   // a value in the reply has no checksum
	worst                 kv.Outcome
	found                 []foundKey // the keys that belong to the key space, in the order of the reply
}

// foundKey is a key from a reply, in the form in which the history records it.
type foundKey struct {
	number, value uint64 // value: the identity of the value, or history.UnknownValue
	revision      int64
}

// Begin implements store.Keys.
func (l *listings) Begin(tag uint32) bool {
	for int(tag) >= len(l.byTag) {
		l.byTag = append(l.byTag, listing{})
	}
	at := &l.byTag[tag]
	*at = listing{isOpen: true, values: l.skipCount == 0, lowestKey: at.lowestKey[:0], highestKey: at.highestKey[:0], found: at.found[:0]}
	if l.skipCount > 0 {
		l.skipCount--
	}
	return at.values || l.keepsKeys
}

// Add implements store.Keys.
func (l *listings) Add(tag uint32, key, value []byte, revision int64) {
	at := &l.byTag[tag]
	at.keys++
	if l.keepsKeys {
		at.found = l.src.appendFound(at.found, key, value, revision)
	}
	if at.violation != nil {
		return
	}
	if at.keys == 1 || !l.ascending && bytes.Compare(key, at.lowestKey) < 0 {
		at.lowestKey = append(at.lowestKey[:0], key...)
	}
	// If the keys are in ascending order and the last key is before the end of the interval, all
	// keys are before the end.
	if at.keys > 1 && l.ascending && bytes.Compare(key, at.highestKey) <= 0 {
		at.violation = wrongOrderText
	}
	if at.keys == 1 || l.ascending || bytes.Compare(key, at.highestKey) > 0 {
		at.highestKey = append(at.highestKey[:0], key...)
	}
	if at.values && value != nil && at.violation == nil {
		l.judge(at, key, value)
	}
}

// judge checks one value. If the preload had replaced the value, it is wrong only for a
// linearizable range. checkRange decides this at the end of the reply.
func (l *listings) judge(at *listing, key, value []byte) {
	a := &l.src.answers
	number, ok := a.space.Number(key)
	if !ok || !l.src.rangesOverKeySpace() {
		return
	}
	outcome, why := a.judgeValue(number, kv.NoConsistency, key, value)
	at.violation, at.worst = why, max(at.worst, outcome)
	at.replaced = at.replaced || outcome == kv.Stale && a.preloaded.replaced(number, value)
	at.short = at.short || outcome == kv.Unverifiable
}

// end ends a reply and sets the number of following replies whose values are not checked. It
// returns nil if Begin was not called for the reply.
func (l *listings) end(tag uint32) *listing {
	if int(tag) >= len(l.byTag) || !l.byTag[tag].isOpen {
		return nil
	}
	at := &l.byTag[tag]
	at.isOpen = false
	if at.values {
		l.skipCount = max(at.keys-1, 0)
	}
	return at
}

// appendFound appends a key from a reply to `list`, if the key belongs to the key space.
func (s *source) appendFound(list []foundKey, key, value []byte, revision int64) []foundKey {
	number, ok := s.space.Number(key)
	if !ok {
		return list
	}
	return append(list, foundKey{number, storedIdentity(s.values, value), max(revision, 0)})
}

// storedIdentity returns the identity that is stored in a value. Verification checks whether that
// identity is possible.
func storedIdentity(v *keys.Values, value []byte) uint64 {
	if v.Unique() && len(value) == v.Size() {
		return keys.ReadIdentity(value)
	}
	return history.UnknownValue
}

// coveredKeys returns the numbers of the keys of the key space that are inside an interval, as a
// range that includes `firstNumber` and excludes `endNumber`. It is used if all ranges read the
// same interval.
func coveredKeys(space keys.Space, first, end []byte) (firstNumber, endNumber uint64) {
	var key []byte
	lowest := func(bound []byte) uint64 {
		return uint64(sort.Search(int(space.N()), func(i int) bool {
			key = space.Append(key[:0], uint64(i))
			return bytes.Compare(key, bound) >= 0
		}))
	}
	firstNumber, endNumber = lowest(first), space.N()
	switch n, ok := space.Number(first); {
	case len(end) == 0 && ok:
		endNumber = n + 1
	case len(end) == 0:
		endNumber = firstNumber
	case len(end) > 1 || end[0] != 0:
		endNumber = lowest(end)
	}
	return firstNumber, endNumber
}

// isBeforeEnd reports whether a key is before the end of an interval. An end that consists of a
// single zero byte means that the interval has no end.
func isBeforeEnd(key, end []byte) bool {
	return len(end) == 1 && end[0] == 0 || bytes.Compare(key, end) < 0
}

// interval returns the bounds of the ranges. If first is nil, a range begins at the operation's
// key. If end is empty, the range covers only the first key.
func (s *source) interval() (first, end []byte) {
	if len(s.load.RangeKey) > 0 {
		return s.load.RangeKey, s.load.RangeEnd
	}
	return nil, s.end
}

// rangesOverKeySpace reports whether ranges cover only the key space. A fixed interval may also
// contain keys from other programs.
func (s *source) rangesOverKeySpace() bool { return len(s.load.RangeKey) == 0 }

// checkRange checks the reply to a range. The keys must be inside the interval and in order, and
// their number must not exceed the limit. Their values must have been written to these keys. If all
// keys of the key space exist, the reply must contain every key of the interval.
func (s *source) checkRange(number uint64, level kv.Consistency, ev *store.Event) kv.Outcome {
	first, end := s.interval()
	if first == nil {
		s.answers.expectedKey = s.space.Append(s.answers.expectedKey[:0], number)
		first = s.answers.expectedKey
	}
	var at *listing
	if len(end) > 0 {
		at = s.answers.listings.end(ev.Tag)
	}
	why := s.findViolation(first, end, at, ev)
	if why != nil {
		ev.Text = why
		return kv.WrongResponse
	}
	if ev.Count < s.minKeyCount(number) {
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
			outcome, why = judgeReplaced(level)
		}
		if o, text := s.answers.judgeShort(level); at.short && text != nil {
			outcome, why = o, text
		}
	case !s.load.Scan.KeysOnly && len(ev.Key) > 0 && s.rangesOverKeySpace():
		if n, ok := s.space.Number(ev.Key); ok {
			outcome, why = s.answers.judgeValue(n, level, ev.Key, ev.Value)
		}
	}
	if why != nil {
		ev.Text = why
	}
	return outcome
}

// findViolation returns the text for the first violation in a reply's keys, or nil if there is
// none.
func (s *source) findViolation(first, end []byte, at *listing, ev *store.Event) []byte {
	if s.load.Scan.CountOnly {
		return nil
	}
	lowest, highest := ev.Key, ev.Key
	if at != nil {
		if at.violation != nil {
			return at.violation
		}
		if at.keys != ev.Count {
			return wrongCountText
		}
		lowest, highest = at.lowestKey, at.highestKey
	}
	switch {
	case s.load.RangeLimit > 0 && ev.Count > s.load.RangeLimit:
		return overLimitText
	case ev.Count == 0 || len(lowest) == 0:
		return nil
	case len(end) == 0 && !bytes.Equal(lowest, first):
		return wrongKeyText
	case len(end) > 0 && (bytes.Compare(lowest, first) < 0 || !isBeforeEnd(highest, end)):
		return outsideText
	}
	return nil
}

// minKeyCount returns the minimum number of keys that a range must find. It is 1, unless the
// preload wrote all keys and the load deletes none. In that case, it is the number of keys from the
// given key to the end of the key space, or the limit of the range if that is smaller.
func (s *source) minKeyCount(number uint64) int64 {
	if !s.allKeysExist || !s.rangesOverKeySpace() {
		return 1
	}
	all := int64(s.space.N() - number)
	if limit := s.load.RangeLimit; limit > 0 && !s.load.Scan.CountOnly {
		return min(all, limit)
	}
	return all
}

package load

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Replies to reads are checked when they arrive. There are three kinds of unexpected values:
//   - A value is wrong if no run can have written it, or if it is older than a value that was
//     acknowledged before a linearizable read began.
//   - A value is stale if an earlier write by quorumbench replaced it. A local read may return it.
//   - A value is unverifiable if it is too short to contain a checksum.

// answers checks the replies to the operations of one loop.
type answers struct {
	space       keys.Space
	values      *keys.Values
	preloaded   *Preloaded // nil if the values before the load are unknown
	listings    listings
	expectedKey []byte
}

func newAnswers(s *source) answers {
	return answers{space: s.space, values: s.values, listings: listings{src: s}}
}

var (
	_ store.Keys = (*listings)(nil)

	// Texts for wrong responses. They must not be modified.
	wrongKeyText      = []byte("the response is for a different key than the request")
	unknownValueText  = []byte("a value that was never written to this key")
	replacedValueText = []byte("a linearizable read returned a value that the preload had replaced")
	shortValueText    = []byte("a linearizable read returned a value shorter than 16 bytes, although the preload had written longer values")
	writeCountText    = []byte("a successful transaction executed a different number of writes than requested")
)

// Check implements engine.Source.
func (s *source) Check(kind kv.Kind, ref uint64, ev *store.Event) kv.Outcome {
	number, level := keyAndLevel(ref)
	if s.versions != nil {
		s.storeVersions(kind, number, ev)
	}
	if ev.Outcome != kv.OK {
		return ev.Outcome
	}
	switch kind {
	case kv.Get:
		return s.answers.checkGet(number, level, ev)
	case kv.Range, kv.TxnGet:
		return s.checkRange(number, level, ev)
	case kv.Txn:
		if ev.Count != int64(len(s.pairs)) {
			ev.Text = writeCountText
			return kv.WrongResponse
		}
	}
	if kind.HasOneKey() {
		return s.answers.checkOneKey(kind, number, ev)
	}
	return kv.OK
}

// checkOneKey checks the reply to an operation on one key. The operation is not a get. If the reply
// contains a key, it must be the operation's key. A delete that found no key is a miss.
func (a *answers) checkOneKey(kind kv.Kind, number uint64, ev *store.Event) kv.Outcome {
	if len(ev.Key) > 0 {
		if a.expectedKey = a.space.Append(a.expectedKey[:0], number); !bytes.Equal(ev.Key, a.expectedKey) {
			ev.Text = wrongKeyText
			return kv.WrongResponse
		}
	}
	if kind == kv.Delete && ev.Count == 0 {
		return kv.Miss
	}
	return kv.OK
}

// checkGet checks the reply to a read of one key.
func (a *answers) checkGet(number uint64, level kv.Consistency, ev *store.Event) kv.Outcome {
	a.expectedKey = a.space.Append(a.expectedKey[:0], number)
	if len(ev.Key) > 0 && !bytes.Equal(ev.Key, a.expectedKey) {
		ev.Text = wrongKeyText
		return kv.WrongResponse
	}
	outcome, why := a.judgeValue(number, level, a.expectedKey, ev.Value)
	if why != nil {
		ev.Text = why
	}
	return outcome
}

// judgeValue checks the value that a read of a key returned. If the value is wrong, judgeValue also
// returns a text that explains why.
func (a *answers) judgeValue(number uint64, level kv.Consistency, key, value []byte) (kv.Outcome, []byte) {
	origin := a.values.Judge(key, value)
	if origin == keys.OriginOwn {
		return kv.OK, nil
	}
	if a.preloaded.replaced(number, value) {
		return judgeReplaced(level) // the value's origin does not matter
	}
	switch origin {
	case keys.OriginForeign:
		return kv.WrongResponse, unknownValueText
	case keys.OriginUnknown:
		return a.judgeShort(level)
	}
	return kv.Stale, nil
}

// judgeShort checks a value that has no checksum. If the load's values have checksums, all keys had
// values with checksums at the end of the preload, so a linearizable read must not return a value
// without a checksum.
func (a *answers) judgeShort(level kv.Consistency) (kv.Outcome, []byte) {
	if level == kv.Linearizable && a.preloaded != nil && a.values.Unique() {
		return kv.WrongResponse, shortValueText
	}
	return kv.Unverifiable, nil
}

// judgeReplaced checks a value that the preload had replaced before the read began.
func judgeReplaced(level kv.Consistency) (kv.Outcome, []byte) {
	if level == kv.Linearizable {
		return kv.WrongResponse, replacedValueText
	}
	return kv.Stale, nil
}

package load

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/keys"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Reads are checked as they come. An answer is wrong when no run can have
// written it, or when it is older than what was acknowledged before a
// linearizable read began; it is stale when quorumbench wrote it earlier, which
// a read of one member may return; and it is unverifiable when it is too short
// to carry a checksum.

// answers judges what reads return, for one loop.
type answers struct {
	space    keys.Space
	values   *keys.Values
	before   *Preloaded // nil: nothing is known of what was there
	listings listings
	want     []byte
}

func newAnswers(s *source) answers {
	return answers{space: s.space, values: s.values, listings: listings{src: s}}
}

var (
	_ store.Keys = (*listings)(nil)

	// Sentences about wrong answers; nobody writes to them.
	anotherKey   = []byte("another key than the one that was asked for")
	neverWritten = []byte("a value that was never written to this key")
	outdated     = []byte("a linearizable read returned the value that the preload had replaced before")
	tooShort     = []byte("a linearizable read returned a value of less than 16 bytes, and the preload had given every key a longer one")
	otherWrites  = []byte("a transaction that was done has another number of writes than it was given")
)

// Check judges an answer.
func (s *source) Check(kind kv.Kind, ref uint64, ev *store.Event) kv.Outcome {
	number, level := keyAndLevel(ref)
	if s.versions != nil && kind != kv.STM && kind != kv.KeepAlive {
		s.learn(number, ev)
	}
	if ev.Outcome != kv.OK {
		return ev.Outcome
	}
	switch kind {
	case kv.Get:
		return s.answers.get(number, level, ev)
	case kv.Range, kv.TxnGet:
		return s.checkRange(number, level, ev)
	case kv.Txn:
		if ev.Count != int64(len(s.pairs)) {
			ev.Text = otherWrites
			return kv.WrongAnswer
		}
	}
	if kind.OneKey() {
		return s.answers.ofOneKey(kind, number, ev)
	}
	return kv.OK
}

// ofOneKey judges the answer to an operation of one key that is no get: it is of
// that key, where it names one. A delete that found nothing is a miss.
func (a *answers) ofOneKey(kind kv.Kind, number uint64, ev *store.Event) kv.Outcome {
	if len(ev.Key) > 0 {
		if a.want = a.space.Append(a.want[:0], number); !bytes.Equal(ev.Key, a.want) {
			ev.Text = anotherKey
			return kv.WrongAnswer
		}
	}
	if kind == kv.Delete && ev.Count == 0 {
		return kv.Miss
	}
	return kv.OK
}

// get judges the answer to a read of one key.
func (a *answers) get(number uint64, level kv.Consistency, ev *store.Event) kv.Outcome {
	a.want = a.space.Append(a.want[:0], number)
	if len(ev.Key) > 0 && !bytes.Equal(ev.Key, a.want) {
		ev.Text = anotherKey
		return kv.WrongAnswer
	}
	outcome, why := a.value(number, level, a.want, ev.Value)
	if why != nil {
		ev.Text = why
	}
	return outcome
}

// value judges a value that a read of a key returned. A wrong one comes with a
// sentence.
func (a *answers) value(number uint64, level kv.Consistency, key, value []byte) (kv.Outcome, []byte) {
	origin := a.values.Judge(key, value)
	if origin == keys.Own {
		return kv.OK, nil
	}
	if a.before.replaced(number, value) {
		return old(level) // no matter who wrote it
	}
	switch origin {
	case keys.Foreign:
		return kv.WrongAnswer, neverWritten
	case keys.Short:
		return a.short(level)
	}
	return kv.Stale, nil
}

// short judges a value that carries no checksum. Where the load's own do, all
// keys had such a one when its preload ended.
func (a *answers) short(level kv.Consistency) (kv.Outcome, []byte) {
	if level == kv.Linearizable && a.before != nil && a.values.Unique() {
		return kv.WrongAnswer, tooShort
	}
	return kv.Unverifiable, nil
}

// old judges a value that was replaced before the read began.
func old(level kv.Consistency) (kv.Outcome, []byte) {
	if level == kv.Linearizable {
		return kv.WrongAnswer, outdated
	}
	return kv.Stale, nil
}

package verify

import (
	"maps"
	"math"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// guess is a possible state of the store after some operations of a short history: the version of
// each key, and the highest revision in the responses so far.
type guess struct {
	keys map[uint64]guessed
	at   int64
}

type guessed struct {
	value uint64
	mod   int64 // -1: unknown, because the write has no response
	after int64 // lower limit for an unknown mod (exclusive)
}

func (g *guess) add(key uint64, v guessed, at int64) *guess {
	next := &guess{keys: maps.Clone(g.keys), at: at}
	next.keys[key] = v
	return next
}

// explained reports whether a short history has a valid order of operations. It tries all orders.
// The revisions in the responses must increase, and each revision must belong to one write.
// explained ignores how often a key was written, and accepts revisions that belong to no write in
// the history.
func explained(t *testing.T, ops []history.Op) bool {
	t.Helper()
	taken := map[int64]bool{} // revisions of acknowledged writes
	for i := range ops {
		if o := &ops[i]; roleOf(o) == wrote {
			if taken[o.Revision] {
				return false
			}
			taken[o.Revision] = true
		}
	}
	// shows adds the version in a response to the state. It returns nil if the response contradicts
	// the state.
	shows := func(g *guess, key uint64, mod int64, value uint64) *guess {
		cur := g.keys[key]
		switch {
		case value != history.UnknownValue && value != cur.value, mod == 0 && cur.value != 0, mod != 0 && cur.value == 0:
			return nil
		case mod == 0 || cur.mod == mod:
			return g
		case cur.mod >= 0 || taken[mod] || mod <= cur.after:
			return nil
		}
		return g.add(key, guessed{value: cur.value, mod: mod}, g.at)
	}
	step := func(state, input, _ any) (out []any) {
		g, o := state.(*guess), input.(*history.Op)
		cur := g.keys[o.Key]
		role := roleOf(o)
		switch {
		case role == indefinite:
			out = append(out, g) // the write was not executed
			if o.Kind == kv.Delete && cur.value == 0 || o.Kind == kv.CAS && cur.mod >= 0 && cur.mod != o.Expected {
				return out
			}
			next := guessed{value: o.Written, mod: -1, after: g.at}
			if next.value == 0 {
				next = guessed{}
			}
			return append(out, g.add(o.Key, next, g.at))
		case o.Revision < g.at:
			return nil
		case role == wrote:
			known := g
			if o.Kind == kv.CAS {
				known = shows(g, o.Key, o.Expected, history.UnknownValue)
			}
			if known == nil || o.Revision == g.at || o.Kind == kv.Delete && cur.value == 0 {
				return nil
			}
			next := guessed{value: o.Written, mod: o.Revision}
			if o.Written == 0 {
				next.mod = 0
			}
			return append(out, known.add(o.Key, next, o.Revision))
		case o.Kind == kv.CAS: // it was refused
			if next := shows(g, o.Key, o.ModRevision, history.UnknownValue); next != nil && next.keys[o.Key].mod != o.Expected {
				out = append(out, next.add(o.Key, next.keys[o.Key], o.Revision))
			}
			return out
		default:
			value := o.Read
			if o.Kind == kv.Delete {
				value = 0
			}
			if next := shows(g, o.Key, o.ModRevision, value); next != nil {
				out = append(out, next.add(o.Key, next.keys[o.Key], o.Revision))
			}
			return out
		}
	}
	model := porcupine.NondeterministicModel{
		Init: func() []any { return []any{&guess{keys: map[uint64]guessed{}}} },
		Step: step,
		Equal: func(a, b any) bool {
			x, y := a.(*guess), b.(*guess)
			return x.at == y.at && maps.Equal(x.keys, y.keys)
		},
	}
	known := map[uint64]bool{} // keys with an operation that has a response
	for i := range ops {
		known[ops[i].Key] = known[ops[i].Key] || roleOf(&ops[i]) != indefinite
	}
	var all []porcupine.Operation
	for i := range ops {
		o := &ops[i]
		ended := o.Done
		if roleOf(o) == indefinite {
			ended = math.MaxInt64
		}
		if !known[o.Key] {
			continue
		}
		all = append(all, porcupine.Operation{ClientId: i, Input: o, Call: o.Invoked, Return: ended})
	}
	found := porcupine.CheckOperationsTimeout(model.ToModel(), all, 20*time.Second)
	if found == porcupine.Unknown {
		t.Fatal("the check did not decide a short history")
	}
	return found == porcupine.Ok
}

package app

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Tally has the calls of each kind, by its number.
type Tally []measure.Calls

// NewTally counts kinds of calls, of which so many are due.
func NewTally(shapes []Shape, due []uint64) Tally {
	t := make(Tally, len(shapes))
	for i, s := range shapes {
		t[i] = measure.NewCalls(s.Name, s.Kind, s.Level)
		t[i].Due = due[i]
	}
	return t
}

// Calls returns those of which any was due, as Script.CallCounts has them.
func (t Tally) Calls() (all []measure.Calls) {
	for i := range t {
		if t[i].Due > 0 {
			all = append(all, t[i])
		}
	}
	return all
}

// SharesOf returns the shares of so many calls of each kind, as engine.Source has them.
func SharesOf(shapes []Shape, due []uint64) (all []engine.Share) {
	sum := uint64(0)
	for _, n := range due {
		sum += n
	}
	for i, s := range shapes {
		if due[i] > 0 {
			all = append(all, engine.Share{Kind: s.Kind, Consistency: s.Level, Of: float64(due[i]) / float64(sum)})
		}
	}
	return all
}

// BeforeMark is in the numbers of the values that are written before a load.
const BeforeMark = 1 << 41

// PreloadBase implements most of a source whose operations are done before the load: they are
// writes that depend on nothing, and that nobody counts.
type PreloadBase struct{}

// Kind implements engine.Source.
func (PreloadBase) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) { return kv.Put, kv.None }

// Shares implements engine.Source.
func (PreloadBase) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Put, Of: 1}}
}

// Check implements engine.Source.
func (PreloadBase) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome { return ev.Outcome }

package app

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load/engine"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Tally holds the outcomes and times of each kind of call. Its index is the number of the kind.
type Tally []measure.Calls

// NewTally returns a Tally for the given shapes. due[i] is the number of calls of shapes[i] that
// become due.
func NewTally(shapes []Shape, due []uint64) Tally {
	t := make(Tally, len(shapes))
	for i, s := range shapes {
		t[i] = measure.NewCalls(s.Name, s.Kind, s.Level)
		t[i].Due = due[i]
	}
	return t
}

// Calls returns the results for Script.CallCounts. It omits the kinds that have no due calls.
func (t Tally) Calls() (all []measure.Calls) {
	for i := range t {
		if t[i].Due > 0 {
			all = append(all, t[i])
		}
	}
	return all
}

// ComputeShares returns each kind's share of all due calls, for engine.Source.
func ComputeShares(shapes []Shape, due []uint64) (all []engine.Share) {
	sum := uint64(0)
	for _, n := range due {
		sum += n
	}
	for i, s := range shapes {
		if due[i] > 0 {
			all = append(all, engine.Share{Kind: s.Kind, Consistency: s.Level, Fraction: float64(due[i]) / float64(sum)})
		}
	}
	return all
}

// PreloadMark is a bit in the number that identifies a written value. The bit is set if the value
// was written before the load.
const PreloadMark = 1 << 41

// PreloadBase implements most methods of a source whose operations run before a load. These
// operations are writes that do not depend on each other, and they are not counted.
type PreloadBase struct{}

// Kind implements engine.Source.
func (PreloadBase) Kind(measure.Phase, uint64) (kv.Kind, kv.Consistency) {
	return kv.Put, kv.NoConsistency
}

// Shares implements engine.Source.
func (PreloadBase) Shares(measure.Phase) []engine.Share {
	return []engine.Share{{Kind: kv.Put, Fraction: 1}}
}

// Check implements engine.Source.
func (PreloadBase) Check(_ kv.Kind, _ uint64, ev *store.Event) kv.Outcome { return ev.Outcome }

package keys

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

func TestSharesFollowTheWeights(t *testing.T) {
	ops := []scenario.Operation{{Kind: kv.Put, Weight: 1}, {Kind: kv.Get, Weight: 6}, {Kind: kv.Delete, Weight: 3}}
	m, again := NewMix(ops, 4), NewMix(ops, 4)
	got := map[kv.Kind]float64{}
	const draws = 300_000
	for n := range uint64(draws) {
		got[m.Operation(n).Kind]++
		if n%1000 == 0 && again.Operation(n).Kind != m.Operation(n).Kind {
			t.Fatalf("operation %d has different kinds in two equal mixes", n)
		}
	}
	for _, o := range ops {
		if want := o.Weight / 10; math.Abs(got[o.Kind]/draws-want) > 0.005 {
			t.Errorf("%v has a share of %v, want %v", o.Kind, got[o.Kind]/draws, want)
		}
	}
}

func TestMixOfOneOperation(t *testing.T) {
	m := NewMix([]scenario.Operation{{Kind: kv.Get, Weight: 0.1}}, 1)
	if m.Operation(17).Kind != kv.Get {
		t.Error("the only operation is not chosen")
	}
}

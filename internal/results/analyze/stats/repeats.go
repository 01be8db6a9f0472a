package stats

import (
	"math"
	"slices"
)

// Repeats holds a figure over independent repeats, and how much disturbances may have moved the
// figure in each of them.
type Repeats struct {
	Values []float64
	// Effects holds the claimed effect of what disturbed each repeat, as a share: the figure
	// without the disturbance is between Value and Value/(1+Effect). The effect is above 0 for a
	// value that can be too high, below 0 for one that can be too low. Nil means that nothing
	// disturbed any repeat.
	Effects []float64
}

// UndisturbedRepeats returns repeats that nothing disturbed.
func UndisturbedRepeats(values []float64) Repeats { return Repeats{Values: values} }

// mostClaimed limits a claim: a factor of 20.
const mostClaimed = 3

// claims returns how much the logarithm of each value may be off.
func (r Repeats) claims() []float64 {
	claims := make([]float64, len(r.Values))
	for i, effect := range r.Effects {
		claims[i] = min(max(math.Log(max(1+effect, 0)), -mostClaimed), mostClaimed)
	}
	return claims
}

// allKnown reports whether there are at least fewest values, all of them finite, and an effect for
// each if there are effects.
func (r Repeats) allKnown(fewest int) bool {
	return len(r.Values) >= fewest && finite(r.Values) && (r.Effects == nil || len(r.Effects) == len(r.Values) && finite(r.Effects))
}

// halfWeight is the claim at which a repeat has half the weight if most repeats have none.
const halfWeight = 0.07

// weigh returns the weights of repeats with these claims. The more a claim exceeds halfWeight and
// the median claim, the less its repeat counts. The weights do not depend on the measured values,
// so that no value is left out because it differs from the others.
func weigh(claims []float64) []float64 {
	sizes := make([]float64, len(claims))
	for i, c := range claims {
		sizes[i] = math.Abs(c)
	}
	slices.Sort(sizes)
	usual := sizes[len(sizes)/2]
	weights := make([]float64, len(claims))
	for i, c := range claims {
		weights[i] = 1 / (1 + c*c/(halfWeight*halfWeight+usual*usual))
	}
	return weights
}

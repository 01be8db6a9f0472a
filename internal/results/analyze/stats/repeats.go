package stats

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Repeats holds the values of a figure from independent repeats. For each value, it also holds the
// amount by which disturbances may have changed the value.
type Repeats struct {
	Values []float64
	// Effects holds the claimed effect of the disturbances on each repeat, as a share. Without the
	// disturbances, the value would be between Value and Value/(1+Effect). The effect is positive
	// if the value may be too high, and negative if it may be too low. Effects is nil if no repeat
	// was disturbed.
	Effects []float64
}

// UndisturbedRepeats returns repeats that were not disturbed.
func UndisturbedRepeats(values []float64) Repeats { return Repeats{Values: values} }

// maxClaim is the largest claim. It is the logarithm of a factor, so 3 is a factor of 20.
const maxClaim = 3

// claims returns, for each value, the amount by which disturbances may have changed its logarithm.
func (r Repeats) claims() []float64 {
	claims := make([]float64, len(r.Values))
	for i, effect := range r.Effects {
		claims[i] = min(max(math.Log(max(1+effect, 0)), -maxClaim), maxClaim)
	}
	return claims
}

// allKnown reports whether there are at least `minimum` values and all values are finite. If there
// are effects, there must also be one finite effect for each value.
func (r Repeats) allKnown(minimum int) bool {
	return len(r.Values) >= minimum && finite(r.Values) && (r.Effects == nil || len(r.Effects) == len(r.Values) && finite(r.Effects))
}

// halfWeight is the claim at which a repeat has half the weight of a repeat without a claim. This
// is true if most repeats have no claim.
const halfWeight = 0.07

// claimWeights returns the weights of repeats with the given claims. A repeat loses weight if its
// claim is large compared with halfWeight and the median claim. The weights do not depend on the
// measured values, so a value does not lose weight only because it differs from the others.
func claimWeights(claims []float64) []float64 {
	sizes := make([]float64, len(claims))
	for i, c := range claims {
		sizes[i] = math.Abs(c)
	}
	usual := stat.UpperMedian(sizes)
	weights := make([]float64, len(claims))
	for i, c := range claims {
		weights[i] = 1 / (1 + c*c/(halfWeight*halfWeight+usual*usual))
	}
	return weights
}

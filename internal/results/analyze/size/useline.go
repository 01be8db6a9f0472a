package size

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// useLine describes a resource use as a function of the rate. Between two trials, it interpolates
// linearly. Outside the range of the trials, it extrapolates the straight line through all trials,
// if the trials support one.
type useLine struct {
	rates, uses []float64
	base, slope float64 // parameters of the straight line through all trials
	straight    bool    // set if the trials are close to a straight line and far enough apart
}

// Conditions for a straight line. minRates is the minimum number of different rates. minRateRatio
// is the minimum ratio of the highest to the lowest rate. maxLineDeviation is the largest distance
// of a trial from the line, as a share of the highest use.
const (
	minRates         = 3
	minRateRatio     = 2
	maxLineDeviation = 0.1
	// maxExtrapolation limits the extrapolation to this multiple of the highest rate.
	maxExtrapolation = 2
	// sameRateRatio is the largest ratio between a rate and the nearest trial's rate at which both
	// rates are assumed to have the same use.
	sameRateRatio = 1.1
)

// lineOf returns the line through the points whose use is known. It returns nil if there are none.
func lineOf(points []usedPoint, value func(*usedPoint) float64) *useLine {
	l := &useLine{}
	for i := 0; i < len(points); {
		sum, n, rate := 0.0, 0.0, points[i].rate
		for ; i < len(points) && points[i].rate == rate; i++ {
			if use := value(&points[i]); !math.IsNaN(use) && !math.IsInf(use, 0) {
				sum, n = sum+use, n+1
			}
		}
		if n > 0 {
			l.rates, l.uses = append(l.rates, rate), append(l.uses, sum/n)
		}
	}
	n := len(l.rates)
	if n == 0 {
		return nil
	}
	if n < minRates || l.rates[n-1] < minRateRatio*l.rates[0] {
		return l
	}
	l.base, l.slope = stat.LinearRegression(l.rates, l.uses)
	l.straight = l.base >= -maxLineDeviation*slices.Max(l.uses) && l.slope >= 0
	l.base = math.Max(l.base, 0) // a use cannot be negative
	for i, rate := range l.rates {
		l.straight = l.straight && math.Abs(l.base+l.slope*rate-l.uses[i]) <= maxLineDeviation*slices.Max(l.uses)
	}
	return l
}

// use returns the use at a rate. It returns false if the trials are not sufficient to estimate it.
func (l *useLine) use(rate float64) (use float64, known bool) {
	last := len(l.rates) - 1
	switch {
	case rate > l.rates[last] && rate <= sameRateRatio*l.rates[last]:
		return l.uses[last], true
	case rate < l.rates[0] && sameRateRatio*rate >= l.rates[0]:
		return l.uses[0], true
	case rate > l.rates[last] || rate < l.rates[0]:
		return l.base + l.slope*rate, l.straight && rate <= maxExtrapolation*l.rates[last]
	case rate == l.rates[0]:
		return l.uses[0], true
	}
	i, _ := slices.BinarySearch(l.rates, rate)
	share := (rate - l.rates[i-1]) / (l.rates[i] - l.rates[i-1])
	return l.uses[i-1] + share*(l.uses[i]-l.uses[i-1]), true
}

// reaches returns the rate at which the use reaches a limit. It returns 0 if the limit is unknown
// or is not reached within the range that the trials support.
func (l *useLine) reaches(limit float64) float64 {
	if limit <= 0 {
		return 0
	}
	for i, use := range l.uses {
		if use >= limit {
			return l.rates[i]
		}
	}
	if rate := (limit - l.base) / l.slope; l.straight && l.slope > 0 && rate <= maxExtrapolation*l.rates[len(l.rates)-1] {
		return math.Max(rate, l.rates[len(l.rates)-1])
	}
	return 0
}

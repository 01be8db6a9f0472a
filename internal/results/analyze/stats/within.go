package stats

import (
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// RunInterval is a confidence interval that is computed from the seconds of a single run. It shows
// how much the result of a longer run may differ, but not how much the result of another run may
// differ. A report marks it "within this run only".
type RunInterval struct {
	Interval
	// Blocks is the number of blocks of equal length into which the seconds were divided.
	Blocks int
	// RunTooShort is set if the blocks are shorter than twice the correlation time. The run is then
	// too short for the slow variation of its values, and the interval may be too narrow.
	RunTooShort bool
}

// A run is divided into maxBlocks blocks. If these blocks would be shorter than twice the
// correlation time, the run is divided into fewer blocks, but into at least minBlocks. An
// interval from only minBlocks blocks may be too narrow. However, omitting such intervals would
// be worse: most of the remaining intervals would come from runs whose correlation was
// underestimated by chance.
const (
	maxBlocks       = 8
	minBlocks       = 3
	minBlockSeconds = 10 // in seconds; in a shorter run, a correlation cannot be detected
)

// WithinRun returns the interval of a statistic over the seconds of one run. It uses the
// delete-a-block jackknife (Künsch, "The Jackknife and the Bootstrap for General Stationary
// Observations", Ann. Stat. 17, 1989): it computes the statistic several times, each time without
// one block of consecutive seconds. For a mean and blocks of equal size, this is the method of
// batch means.
//
// The function `statistic` computes the statistic without the seconds in [from, to). If `from`
// equals `to`, it uses all seconds. The parameter `correlation` is the CorrelationTime of the
// series in seconds. WithinRun returns false if the run is shorter than 10 seconds, or if the
// statistic is not finite.
func WithinRun(seconds int, correlation, level float64, statistic func(from, to int) float64) (RunInterval, bool) {
	if seconds < minBlockSeconds {
		return RunInterval{}, false
	}
	length := math.Max(float64(seconds)/maxBlocks, 2*correlation)
	blocks := max(minBlocks, int(float64(seconds)/length+1e-9))
	left := make([]float64, blocks)
	for i := range left {
		left[i] = statistic(i*seconds/blocks, (i+1)*seconds/blocks)
	}
	whole := statistic(0, 0)
	if !finite(append(left, whole)) {
		return RunInterval{}, false
	}
	k := float64(blocks)
	// The variance of the jackknife is (k-1)/k times the sum of the squared deviations.
	half := student(level, k-1) * math.Sqrt((k-1)*stat.PopVariance(left))
	return RunInterval{
		Interval:    Interval{Value: whole, Low: whole - half, High: whole + half, Level: level},
		Blocks:      blocks,
		RunTooShort: float64(seconds)/k < 2*correlation-1e-9,
	}, true
}

// MeanWithinRun returns the mean over the seconds of one run with its interval, as WithinRun does.
func MeanWithinRun(seconds []float64, level float64) (RunInterval, bool) {
	return WithinRun(len(seconds), CorrelationTime(seconds), level, meanWithout(seconds))
}

// meanWithout returns a function that returns the mean of a series without the values in [from,
// to).
func meanWithout(series []float64) func(from, to int) float64 {
	total := floats.Sum(series)
	return func(from, to int) float64 {
		return (total - floats.Sum(series[from:to])) / float64(len(series)-(to-from))
	}
}

// EffectiveSize returns the number of independent seconds that would give an equally precise mean.
// It is the number of seconds divided by their CorrelationTime.
func EffectiveSize(seconds []float64) float64 {
	return float64(len(seconds)) / CorrelationTime(seconds)
}

// CorrelationTime returns the integrated autocorrelation time of a series, as a number of values.
// It is 1 if the values are independent or all equal, and never less than 1. In an autoregression
// of order 1, in which each value contains the previous value times ρ, it is (1+ρ)/(1-ρ).
//
// The result is the larger of two estimates. Each estimate is too low for some series, and a low
// estimate makes an interval too narrow. The first estimate is Geyer's initial monotone sequence
// ("Practical Markov Chain Monte Carlo", Stat. Sci. 7, 1992). The second assumes an autoregression
// of order 1 with a bias-corrected coefficient (Kendall, "Note on Bias in the Estimation of
// Autocorrelation", Biometrika 41, 1954).
func CorrelationTime(series []float64) float64 {
	n := float64(len(series))
	covariance := autocovariance(series)
	if n < 3 || covariance(0) <= 0 {
		return 1
	}
	rho := covariance(1) / covariance(0)
	rho = min(max(rho+(1+4*rho)/n, 0), 0.97)
	return max(initialMonotone(len(series), covariance), (1+rho)/(1-rho))
}

// initialMonotone returns Geyer's estimate. Each sample autocovariance is too low by the variance
// of the sample's mean. This variance depends on the estimate itself, so the computation is
// repeated until it converges.
func initialMonotone(n int, covariance func(lag int) float64) float64 {
	time, missing := 1.0, 0.0
	for range 20 {
		variance := covariance(0) + missing
		sum, before := -variance, math.Inf(1)
		for lag := 0; lag+1 < n-1; lag += 2 {
			pair := covariance(lag) + covariance(lag+1) + 2*missing
			if pair <= 0 {
				break
			}
			before = min(pair, before)
			sum += 2 * before
		}
		now := min(max(sum/variance, 1), float64(n)/3)
		missing = variance * now / float64(n)
		if math.Abs(now-time) < 1e-3 {
			return now
		}
		time = now
	}
	return time
}

// autocovariance returns a function that returns the autocovariance of a series for a lag. The
// function computes a value when it is first needed. Only small lags are needed, and computing all
// of them would take quadratic time.
func autocovariance(series []float64) func(lag int) float64 {
	mean := stat.Mean(series)
	var known []float64
	return func(lag int) float64 {
		for k := len(known); k <= lag; k++ {
			sum := 0.0
			for i := range len(series) - k {
				sum += (series[i] - mean) * (series[i+k] - mean)
			}
			known = append(known, sum/float64(len(series)))
		}
		return known[lag]
	}
}

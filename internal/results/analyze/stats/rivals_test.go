package stats

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// The tables in docs/reference/statistics.md compare the methods of this package with the following
// alternatives.

// naive returns Student's interval over the seconds, as if each second were a repeat.
func naive(seconds []float64) Interval {
	mean, sd := stat.MeanStdDev(seconds, nil)
	n := float64(len(seconds))
	half := student(Level, n-1) * sd / math.Sqrt(n)
	return Interval{Value: mean, Low: mean - half, High: mean + half, Level: Level}
}

// naivelyDiffer applies Welch's t-test at the level of 5 % to the seconds of two groups of runs.
func naivelyDiffer(a, b []float64) bool {
	r, ok := quietRatio(a, b)
	return ok && r.P() < 1-Level
}

// chowRobbins reports whether a run would stop by the rule of Chow and Robbins: it has at least
// `fewest` repeats, and its plain 95 % interval is narrow enough.
func chowRobbins(repeats []float64, fewest int, target float64) bool {
	i, _ := OverRepeats(UndisturbedRepeats(repeats), Level)
	return len(repeats) >= fewest && i.HalfWidth() <= target
}

// percentile returns the interval between two percentiles of resampled means: the percentiles that
// correspond to the confidence level Level.
func percentile(means []float64) Interval {
	slices.Sort(means)
	at := func(p float64) float64 { return stat.Quantile(p, stat.Empirical, means, nil) }
	return Interval{Value: at(0.5), Low: at((1 - Level) / 2), High: at((1 + Level) / 2), Level: Level}
}

const resamples = 199

// bootstrap returns the percentile bootstrap interval of independent values.
func bootstrap(r *rand.Rand, values []float64) Interval {
	means := make([]float64, resamples)
	for i := range means {
		for range values {
			means[i] += values[r.IntN(len(values))] / float64(len(values))
		}
	}
	return percentile(means)
}

// stationaryBootstrap returns the bootstrap interval of a correlated series. It resamples blocks of
// random length, with blockLength as the mean length (Politis and Romano, "The Stationary
// Bootstrap", J. Am. Stat. Assoc. 89, 1994).
func stationaryBootstrap(r *rand.Rand, series []float64) Interval {
	jump := 1 / max(blockLength(series), 1)
	n := len(series)
	means := make([]float64, resamples)
	for i := range means {
		at := r.IntN(n)
		for range n {
			means[i] += series[at] / float64(n)
			if at = (at + 1) % n; r.Float64() < jump {
				at = r.IntN(n)
			}
		}
	}
	return percentile(means)
}

// blockLength returns the automatic block length for the stationary bootstrap (Politis and White,
// "Automatic Block-Length Selection for the Dependent Bootstrap", Econom. Rev. 23, 2004, as
// corrected by Patton, Politis and White, Econom. Rev. 28, 2009).
func blockLength(series []float64) float64 {
	n := float64(len(series))
	covariance := autocovariance(series)
	inARow := max(5, int(math.Sqrt(math.Log10(n))))
	most := int(math.Ceil(math.Sqrt(n))) + inARow
	limit := 2 * math.Sqrt(math.Log10(n)/n)
	last, quiet := most, 0
	for lag := 1; lag <= most && quiet < inARow; lag++ {
		if quiet++; math.Abs(covariance(lag)) > limit*covariance(0) {
			quiet = 0
		}
		if quiet == inARow {
			last = max(lag-inARow, 1)
		}
	}
	window := min(2*last, most)
	spectrum, slope := covariance(0), 0.0
	for lag := 1; lag <= window; lag++ {
		flatTop := min(1, 2*(1-float64(lag)/float64(window)))
		spectrum += 2 * flatTop * covariance(lag)
		slope += 2 * flatTop * float64(lag) * covariance(lag)
	}
	length := math.Cbrt(2*slope*slope/(2*spectrum*spectrum)) * math.Cbrt(n)
	return min(length, math.Ceil(min(3*math.Sqrt(n), n/3)))
}

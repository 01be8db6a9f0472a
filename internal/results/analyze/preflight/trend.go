package preflight

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
)

// Trend describes how the time of a typical write changed during a measurement.
type Trend struct {
	// StepAt is the second at which the typical time rose to a new level and stayed there, or 0. A
	// cloud disk whose burst credits have ended shows such a step. StepFrom and StepTo are the
	// typical times before and after the step.
	StepAt           int
	StepFrom, StepTo time.Duration
	// Growth is the factor by which the typical time grows per hour, or 0 if it does not grow
	// significantly.
	Growth float64
}

// Limits for a step and for a growth.
const (
	minSide   = 10  // seconds on each side of a step
	minRise   = 1.5 // factor of a step
	minSigmas = 4   // of the difference, in standard errors
	// minSeconds is the shortest measurement in which a change is sought.
	minSeconds = 30
)

// findTrend finds a step or a growth in the typical times of all seconds. If both are significant,
// it chooses the one that describes the times better.
func findTrend(typical []time.Duration) (c Trend) {
	if len(typical) < minSeconds {
		return c
	}
	logs := make([]float64, len(typical))
	for i, d := range typical {
		logs[i] = math.Log(max(d.Seconds(), 1e-9))
	}
	at := bestSplit(logs)
	before, after := stat.Mean(logs[:at]), stat.Mean(logs[at:])
	rest := slices.Clone(logs)
	for i := range rest {
		if i < at {
			rest[i] -= before
		} else {
			rest[i] -= after
		}
	}
	deviation := standardError(rest, 1/float64(at)+1/float64(len(logs)-at))
	rise := after - before
	step := rise >= math.Log(minRise) && rise >= minSigmas*deviation
	growth, left := growthOf(logs)
	switch {
	case step && stat.PopVariance(rest) <= left:
		c.StepAt, c.StepFrom, c.StepTo = at, seconds(math.Exp(before)), seconds(math.Exp(after))
	default:
		c.Growth = growth
	}
	return c
}

// bestSplit returns the position that divides a series into the two parts with the smallest sum of
// squared deviations from their means.
func bestSplit(series []float64) (at int) {
	total := 0.0
	for _, x := range series {
		total += x
	}
	left, best := 0.0, math.Inf(-1)
	for i, x := range series {
		if k, rest := float64(i), float64(len(series)-i); i >= minSide && len(series)-i >= minSide {
			if gain := left*left/k + (total-left)*(total-left)/rest; gain > best {
				at, best = i, gain
			}
		}
		left += x
	}
	return at
}

// growthOf fits a line to logarithms, one per second. It returns the factor per hour, or 0 if the
// line does not rise significantly, and the variance of the residuals.
func growthOf(logs []float64) (factor, variance float64) {
	n := float64(len(logs))
	mean, middle := stat.Mean(logs), (n-1)/2
	var products, squares float64
	for i, y := range logs {
		x := float64(i) - middle
		products += x * (y - mean)
		squares += x * x
	}
	slope := products / squares
	rest := make([]float64, len(logs))
	for i, y := range logs {
		rest[i] = y - mean - slope*(float64(i)-middle)
	}
	variance = stat.PopVariance(rest)
	if slope <= 0 || slope < minSigmas*standardError(rest, 1/squares) {
		return 0, variance
	}
	return math.Exp(min(slope*3600, 50)), variance
}

// standardError returns the standard error of a statistic. If the residuals were independent, the
// variance of the statistic would be the variance of the residuals times the factor. The result
// also allows for the correlation of the residuals.
func standardError(residuals []float64, factor float64) float64 {
	return math.Sqrt(stat.PopVariance(residuals) * factor * stats.CorrelationTime(residuals))
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// reaches returns how long a disk whose p99 is now `high` takes to reach the limit if its times
// continue to grow; ok is false if this takes more than an hour.
func (c *Trend) reaches(high, limit time.Duration) (in time.Duration, ok bool) {
	if c.Growth <= 1 || high <= 0 {
		return 0, false
	}
	hours := math.Log(limit.Seconds()/high.Seconds()) / math.Log(c.Growth)
	if hours > 1 {
		return 0, false
	}
	return max(seconds(3600*hours), time.Second), true
}

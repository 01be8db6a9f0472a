package stats

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Steady describes when the throughput of a load became steady.
type Steady struct {
	// FirstSecond is the first second of the steady part, counted from the start of the window.
	FirstSecond int
	// Shift is the relative error that the seconds before FirstSecond cause in the mean over all
	// seconds. For example, -0.04 means that the mean is 4 % too low.
	Shift float64
	// WindowTooEarly is set if the seconds before FirstSecond differ from the other seconds. This
	// means that the warm-up before the window was too short.
	WindowTooEarly bool
	// TooFewRepeats is set if there are too few repeats to distinguish a warm-up from a disturbance
	// at the start. In this case, a disturbance at the start also sets WindowTooEarly.
	TooFewRepeats bool
}

const (
	batch      = 5    // length of a batch in seconds (the 5 in MSER-5)
	minShift   = 0.01 // as a share of the mean; a smaller shift is not worth a longer warm-up
	lateAlpha  = 0.01 // significance level of the test over the repeats
	aloneAlpha = 0.001
	minRepeats = 3 // minimum number of repeats for the test over the repeats
)

// SteadyFrom determines when a load became steady. The values in `repeats` are the throughput in
// each second since the start of the window. SteadyFrom first computes, for each second, the mean
// over the repeats, as in Welch ("The Statistical Analysis of Simulation Results", 1983): a warm-up
// occurs at the same time in each repeat, and other disturbances do not. It then truncates the
// series at its start, by at most half of its length. The truncation minimizes the standard error
// of the mean over batches of five seconds (MSER-5: White, "An Effective Truncation Heuristic for
// Bias Reduction in Simulation Output", Simulation 69, 1997; White, Cobb and Spratt, "A Comparison
// of Five Steady-State Truncation Heuristics", WSC 2000).
//
// MSER-5 truncates about half of all series without a warm-up, so its result alone does not justify
// a warning. Therefore, WindowTooEarly also requires a shift of at least 1 % and a significant
// difference between the truncated part and the rest. With three or more repeats, the difference is
// tested by a t-test over the repeats at the level of 1 %. With fewer repeats, the test is over
// blocks of seconds at the level of 0.1 %. If the repeats differ in length, only the length of the
// shortest one is used. SteadyFrom returns false if a repeat is shorter than 20 seconds.
func SteadyFrom(repeats [][]float64) (Steady, bool) {
	if len(repeats) == 0 {
		return Steady{}, false
	}
	shortest := len(repeats[0])
	for _, r := range repeats {
		if !finite(r) {
			return Steady{}, false
		}
		shortest = min(shortest, len(r))
	}
	if shortest < 4*batch {
		return Steady{}, false
	}
	average := make([]float64, shortest)
	for _, r := range repeats {
		for i := range average {
			average[i] += r[i] / float64(len(repeats))
		}
	}
	s := Steady{FirstSecond: truncation(average), TooFewRepeats: len(repeats) < minRepeats}
	if s.FirstSecond == 0 {
		return s, true
	}
	rest := stat.Mean(average[s.FirstSecond:])
	if rest != 0 {
		s.Shift = stat.Mean(average)/rest - 1
	}
	if math.Abs(s.Shift) < minShift {
		return s, true
	}
	if s.TooFewRepeats {
		s.WindowTooEarly = differsWithin(average, s.FirstSecond) < aloneAlpha
	} else {
		s.WindowTooEarly = differsOver(repeats, s.FirstSecond, shortest) < lateAlpha
	}
	s.FirstSecond = moveEarlier(average, s.FirstSecond)
	s.Shift = stat.Mean(average)/stat.Mean(average[s.FirstSecond:]) - 1
	return s, true
}

// moveEarlier moves the start of the steady part to an earlier second, because MSER-5 may have
// truncated some batches by chance. As long as the preceding batch is similar to the steady part,
// moveEarlier adds it. A batch is similar if its mean is inside Student's prediction interval
// (99 %) for one more batch of the steady part.
func moveEarlier(series []float64, from int) int {
	for from >= 2*batch {
		rest := batchMeans(series[from:])
		n := float64(len(rest))
		mean, sd := stat.MeanStdDev(rest)
		if math.Abs(stat.Mean(series[from-batch:from])-mean) > student(0.99, n-1)*sd*math.Sqrt(1+1/n) {
			break
		}
		from -= batch
	}
	return from
}

// batchMeans returns the means of the complete batches.
func batchMeans(series []float64) []float64 {
	batches := make([]float64, len(series)/batch)
	for i := range batches {
		batches[i] = stat.Mean(series[i*batch : (i+1)*batch])
	}
	return batches
}

// truncation returns the number of seconds at the start of the series that MSER-5 truncates.
func truncation(series []float64) int {
	batches := batchMeans(series)
	least, at := math.Inf(1), 0
	for cut := range len(batches)/2 + 1 {
		rest := batches[cut:]
		if error2 := stat.PopVariance(rest) / float64(len(rest)); error2 < least {
			least, at = error2, cut
		}
	}
	return at * batch
}

// differsOver returns the p-value of the hypothesis that the seconds in [0, from) and in [from, to)
// have the same mean. It tests the difference between the two means of each repeat.
func differsOver(repeats [][]float64, from, to int) float64 {
	differences := make([]float64, len(repeats))
	for i, r := range repeats {
		differences[i] = stat.Mean(r[:from]) - stat.Mean(r[from:to])
	}
	mean, sd := stat.MeanStdDev(differences)
	return twoSided(mean, sd/math.Sqrt(float64(len(repeats))), float64(len(repeats)-1))
}

// differsWithin returns the p-value of the hypothesis that the seconds in [0, from) and the later
// seconds of a single series have the same mean. It uses the variance between blocks of the later
// seconds.
func differsWithin(series []float64, from int) float64 {
	rest := series[from:]
	w, ok := MeanWithinRun(rest, Level)
	if !ok {
		return 1
	}
	freedom := float64(w.Blocks - 1)
	se := (w.High - w.Value) / student(Level, freedom) * math.Sqrt(1+float64(len(rest))/float64(from))
	return twoSided(stat.Mean(series[:from])-w.Value, se, freedom)
}

// twoSided returns the two-sided p-value of a difference from 0. The parameter `se` is the standard
// error of the difference.
func twoSided(difference, se, freedom float64) float64 {
	switch {
	case difference == 0:
		return 1
	case se == 0:
		return 0
	}
	return 2 * stat.Student(freedom).Survival(math.Abs(difference)/se)
}

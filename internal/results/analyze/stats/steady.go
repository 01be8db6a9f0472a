package stats

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Steady describes when a load became steady.
type Steady struct {
	// From is the first second that belongs to the steady part.
	From int
	// Shift is the relative error of the mean of all seconds that the seconds before From cause:
	// -0.04 is 4 % too low.
	Shift float64
	// Late reports whether the seconds before From differ from the rest: the warm-up before the
	// series was too short.
	Late bool
	// Alone reports that there were too few repeats to distinguish a warm-up from a disturbance
	// at the start, which also sets Late.
	Alone bool
}

const (
	batch       = 5    // seconds of MSER-5
	leastShift  = 0.01 // of the mean; less is not worth a longer warm-up
	lateAlpha   = 0.01 // of repeats
	aloneAlpha  = 0.001
	enoughToSay = 3 // repeats
)

// SteadyFrom finds the time at which a load became steady, in the seconds of its repeats since
// the start of the window. The repeats are averaged second by second, as in Welch ("The
// Statistical Analysis of Simulation Results", 1983), because a warm-up occurs in each of them
// at the same time and other disturbances do not. The chosen truncation minimizes the standard
// error of the mean over batches of five seconds (MSER-5: White, "An Effective Truncation
// Heuristic for Bias Reduction in Simulation Output", Simulation 69, 1997; White, Cobb and
// Spratt, "A Comparison of Five Steady-State Truncation Heuristics", WSC 2000), in the first
// half.
//
// MSER-5 truncates every second series in which nothing warms up, so its result is not a
// sufficient warning. Late requires a shift of 1 %, and that the truncated part differs from the
// rest: in a t-test over the repeats at 1 %, or with fewer than three of them over the blocks of
// seconds of the first at 0.1 %. Repeats may differ in length; the shortest counts. The result
// is unknown below 20 seconds.
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
	s := Steady{From: truncation(average), Alone: len(repeats) < enoughToSay}
	if s.From == 0 {
		return s, true
	}
	rest := stat.Mean(average[s.From:])
	if rest != 0 {
		s.Shift = stat.Mean(average)/rest - 1
	}
	if math.Abs(s.Shift) < leastShift {
		return s, true
	}
	if s.Alone {
		s.Late = differsWithin(average, s.From) < aloneAlpha
	} else {
		s.Late = differsOver(repeats, s.From, shortest) < lateAlpha
	}
	s.From = earlier(average, s.From)
	s.Shift = stat.Mean(average)/stat.Mean(average[s.From:]) - 1
	return s, true
}

// earlier moves From back over what MSER-5 cut off by chance: the batches just before it that are
// within the range expected for another batch of the rest with a probability of 99 % (Student's
// prediction interval).
func earlier(series []float64, from int) int {
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

// batchMeans returns the means of whole batches.
func batchMeans(series []float64) []float64 {
	batches := make([]float64, len(series)/batch)
	for i := range batches {
		batches[i] = stat.Mean(series[i*batch : (i+1)*batch])
	}
	return batches
}

// truncation returns MSER-5's truncation, in seconds.
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

// differsOver returns the p-value of the part before from being like the part after it, by the
// difference of their means in each repeat.
func differsOver(repeats [][]float64, from, to int) float64 {
	differences := make([]float64, len(repeats))
	for i, r := range repeats {
		differences[i] = stat.Mean(r[:from]) - stat.Mean(r[from:to])
	}
	mean, sd := stat.MeanStdDev(differences)
	return twoSided(mean, sd/math.Sqrt(float64(len(repeats))), float64(len(repeats)-1))
}

// differsWithin returns the p-value for one series, by the variance of the blocks of the rest.
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

// twoSided returns the p-value of a difference from 0 with its standard error.
func twoSided(difference, se, freedom float64) float64 {
	switch {
	case difference == 0:
		return 1
	case se == 0:
		return 0
	}
	return 2 * stat.Student(freedom).Survival(math.Abs(difference)/se)
}

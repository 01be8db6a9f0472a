package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Repeated holds the values of a figure for several repeats of a trial.
type Repeated struct {
	Values []figures.Value
	// Effects holds, for each repeat, the amount by which disturbances may have changed the figure,
	// as in stats.Repeats. It is nil if no repeat was disturbed.
	Effects []float64
}

// RepeatedOf returns the values of a figure for several trials.
func RepeatedOf(f *figures.Figure, trials []*record.Trial) Repeated {
	r := Repeated{Values: ValuesOf(f, trials), Effects: make([]float64, len(trials))}
	for i, t := range trials {
		effect := t.Verdict.Effect.ForFigure(f.Name)
		if f.Direction == figures.HigherIsBetter { // a disturbance lowers the throughput
			effect = -effect
		}
		r.Effects[i] = effect
	}
	return r
}

// Numbers returns the values as numbers. It returns false if there are no values, or if a value is
// unknown or not above 0.
func (r Repeated) Numbers() (stats.Repeats, bool) {
	numbers := stats.Repeats{Values: make([]float64, 0, len(r.Values)), Effects: r.Effects}
	for _, v := range r.Values {
		if !v.Known || v.Number <= 0 {
			return stats.Repeats{}, false
		}
		numbers.Values = append(numbers.Values, v.Number)
	}
	return numbers, len(numbers.Values) > 0
}

// FileNumber returns a figure's number as it is written to files. Times are rounded to whole
// nanoseconds.
func FileNumber(v figures.Value) float64 {
	if v.Unit == measure.Nanoseconds {
		return math.Round(v.Number)
	}
	return v.Number
}

// MedianOf returns the Median of a figure over repeats. Reports and comparisons use it whenever
// they show one value for several repeats. The exception is a figure whose counts are added up
// (figures.Figure.Summed).
func MedianOf(f *figures.Figure, repeats []*record.Trial) figures.Value {
	return Median(ValuesOf(f, repeats), f.Direction)
}

// Median returns the median of the repeats' values. If the number of values is even, it returns the
// worse of the two middle values: the longer time or the lower throughput. The result is always the
// value of one repeat, because the mean of two percentiles is not a percentile. A failed value
// counts as slower than any other. If a value is unknown because its sample is too small, the
// median is unknown.
func Median(all []figures.Value, better figures.Direction) figures.Value {
	unsupported := func(v figures.Value) bool { return !v.Known && !v.Failed }
	if len(all) == 0 || slices.ContainsFunc(all, unsupported) {
		return figures.Value{}
	}
	return slices.SortedFunc(slices.Values(all), func(a, b figures.Value) int { return cmp.Compare(rank(a), rank(b)) })[MedianIndex(len(all), better)]
}

// MedianIndex returns the index of the median of n sorted values. If n is even, it is the worse of
// the two middle values.
func MedianIndex(n int, better figures.Direction) int {
	if better == figures.HigherIsBetter {
		return (n - 1) / 2
	}
	return n / 2
}

// rank returns the sort key of a value. A failed value is above any other value.
func rank(f figures.Value) float64 {
	if f.Failed {
		return math.Inf(1)
	}
	return f.Number
}

// ValuesOf returns the value of a figure for each trial. A value that cannot be distinguished from
// 0 is unknown.
func ValuesOf(f *figures.Figure, trials []*record.Trial) []figures.Value {
	all := make([]figures.Value, 0, len(trials))
	for _, t := range trials {
		v := f.Value(t)
		if v.Number < f.ResolutionLimit {
			v = figures.Value{}
		}
		all = append(all, v)
	}
	return all
}

// Figure returns the value of a figure for a row. For most figures, the value is the median of the
// comparable repeats. For a figure whose counts are added up, the value is the sum over the
// repeats, and `share` is the sum's share of the total.
func (r *Row) Figure(f *figures.Figure) (v, share figures.Value) {
	if !f.Summed() {
		return MedianOf(f, r.ComparableTrials()), figures.Value{}
	}
	whole := 0.0
	for _, t := range r.Done {
		if one := f.Value(t); one.Known {
			v = figures.Value{Number: v.Number + one.Number, Unit: f.Unit, Known: true}
			whole += float64(f.Total.Count(t))
		}
	}
	if v.Number > 0 && whole > 0 {
		share = figures.Value{Number: v.Number / whole, Unit: measure.Share, Known: true}
	}
	return v, share
}

package analyze

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Repeated holds a figure for several repeats of a trial.
type Repeated struct {
	Values []record.Value
	// Effects holds, for each repeat, by how much disturbances may have moved the figure, as in
	// stats.Repeats; nil if no repeat was disturbed.
	Effects []float64
}

// RepeatedOf returns a figure of trials.
func RepeatedOf(f *record.Figure, trials []*record.Trial) Repeated {
	r := Repeated{Values: ValuesOf(f, trials), Effects: make([]float64, len(trials))}
	for i, t := range trials {
		effect := t.Verdict.Effect.ForFigure(f.Name)
		if f.Better == record.More { // throughput, which a disturbance lowers
			effect = -effect
		}
		r.Effects[i] = effect
	}
	return r
}

// Numbers returns the figures; false if there are none, or one is unknown or not above 0.
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

// FileNumber returns a figure's number as written to files: times in whole nanoseconds.
func FileNumber(v record.Value) float64 {
	if v.Unit == measure.Nanoseconds {
		return math.Round(v.Number)
	}
	return v.Number
}

// MedianOf returns the Median of a figure over repeats. Reports and comparisons use it for every
// figure of several repeats except for the sum of a count (record.Figure.Summed).
func MedianOf(f *record.Figure, repeats []*record.Trial) record.Value {
	return Median(ValuesOf(f, repeats), f.Better)
}

// Median returns the middle of the repeats' figures; of an even number the slower of the middle
// two, which is the lower throughput. It is always the figure of one repeat, because the mean of
// two percentiles is not a percentile. A failed figure is slower than any other; if a sample does
// not support one figure, the median is unknown.
func Median(all []record.Value, better record.Better) record.Value {
	unsupported := func(v record.Value) bool { return !v.Known && !v.Failed }
	if len(all) == 0 || slices.ContainsFunc(all, unsupported) {
		return record.Value{}
	}
	place := len(all) / 2
	if better == record.More {
		place = (len(all) - 1) / 2
	}
	return slices.SortedFunc(slices.Values(all), func(a, b record.Value) int { return cmp.Compare(rank(a), rank(b)) })[place]
}

// rank returns the sort key of a figure: a failed one is above any other.
func rank(f record.Value) float64 {
	if f.Failed {
		return math.Inf(1)
	}
	return f.Number
}

// ValuesOf returns a figure of each repeat; it is unknown if it cannot be distinguished from 0.
func ValuesOf(f *record.Figure, trials []*record.Trial) []record.Value {
	all := make([]record.Value, 0, len(trials))
	for _, t := range trials {
		v := f.Value(t)
		if v.Number < f.Below {
			v = record.Value{}
		}
		all = append(all, v)
	}
	return all
}

// Figure returns the figure of the repeats: the sum with its share of the whole for a count of
// parts, otherwise the median of the repeats that count.
func (r *Row) Figure(f *record.Figure) (v, share record.Value) {
	if !f.Summed() {
		return MedianOf(f, r.ComparableTrials()), record.Value{}
	}
	whole := 0.0
	for _, t := range r.Done {
		if one := f.Value(t); one.Known {
			v = record.Value{Number: v.Number + one.Number, Unit: f.Unit, Known: true}
			whole += float64(f.Total.Of(t))
		}
	}
	if v.Number > 0 && whole > 0 {
		share = record.Value{Number: v.Number / whole, Unit: measure.Share, Known: true}
	}
	return v, share
}

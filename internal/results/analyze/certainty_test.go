package analyze

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// doneIn returns a trial with the given number of completed operations in each second.
func doneIn(perSecond ...float64) *record.Trial {
	t := runs.TrialWithP99(make([]float64, len(perSecond))...)
	sum := 0.0
	for i, n := range perSecond {
		t.Timeline[i].Done = uint64(n)
		sum += n
	}
	t.PerSecond = sum / float64(len(perSecond))
	return t
}

// Five repeats have Student's interval; fewer repeats have a range. A single run has an interval
// over its complete seconds, if there are enough of them and none is missing.
func TestCertaintyOf(t *testing.T) {
	ops := figures.Registered("ops")
	row := func(all ...*record.Trial) *Row { return &Row{Trials: all, Done: all} }
	var repeats []*record.Trial
	for _, n := range []float64{96, 98, 100, 102, 104} {
		repeats = append(repeats, doneIn(n, n))
	}
	c, ok := CertaintyOf(row(repeats...), &ops)
	// The five values have a standard deviation of √10: t(0.975, 4) = 2.776.
	if want := 2.7764 * math.Sqrt(10) / math.Sqrt(5); !ok || c.Basis != OverRepeats || c.Repeats != 5 || math.Abs(c.High.Number-100-want) > 0.001 || math.Abs(100-c.Low.Number-want) > 0.001 {
		t.Errorf("five repeats: %+v, %v", c, ok)
	}
	if c, ok := CertaintyOf(row(repeats[:4]...), &ops); !ok || c.Basis != RangeOfRepeats || c.Repeats != 4 || c.Low.Number != 96 || c.High.Number != 102 {
		t.Errorf("four repeats: %+v, %v", c, ok)
	}
	one := doneIn(98, 102, 99, 101, 100, 97, 103, 100, 100, 99, 101, 100)
	c, ok = CertaintyOf(row(one), &ops)
	if !ok || c.Basis != WithinRun || c.Repeats != 0 || c.Seconds != 12 || c.EffectiveSeconds <= 0 || c.EffectiveSeconds > 12 || c.Low.Number >= 100 || c.High.Number <= 100 || c.Low.Number < 90 || c.High.Number > 110 {
		t.Errorf("one repeat: %+v, %v", c, ok)
	}
	one.Timeline[5].Second = 6
	if _, ok := CertaintyOf(row(one), &ops); ok {
		t.Error("a run whose timeline lacks a second has an interval")
	}
	if _, ok := CertaintyOf(row(doneIn(1, 2, 3)), &ops); ok {
		t.Error("a run of three seconds has an interval")
	}
	p99 := figures.Registered("p99")
	if _, ok := CertaintyOf(row(doneIn(98, 102, 99, 101, 100, 97, 103, 100, 100, 99)), &p99); ok {
		t.Error("CertaintyOf returns an interval for the p99 of a single run")
	}
}

// If a repeat failed, the result is a range, and its upper end is the failure. If a repeat is
// unknown, there is no result.
func TestRangeOfRepeats(t *testing.T) {
	failed := figures.Value{Failed: true}
	for _, tt := range []struct {
		of        []figures.Value
		basis     Basis
		low, high figures.Value
	}{
		{[]figures.Value{fig(3), fig(1), fig(2)}, RangeOfRepeats, fig(1), fig(3)},
		{[]figures.Value{fig(3), failed, fig(1), fig(2), fig(2), fig(4)}, RangeOfRepeats, fig(1), failed},
		{[]figures.Value{fig(3), fig(0), fig(1), fig(2), fig(2)}, RangeOfRepeats, fig(0), fig(3)},
		{[]figures.Value{fig(2), fig(2), fig(2), fig(2), fig(2)}, OverRepeats, fig(2), fig(2)},
		// the interval of the mean reaches 0
		{[]figures.Value{fig(1), fig(15), fig(15), fig(16), fig(90)}, RangeOfRepeats, fig(1), fig(90)},
		{[]figures.Value{fig(3), {}}, "", figures.Value{}, figures.Value{}},
	} {
		if c, ok := certaintyOverRepeats(Repeated{Values: tt.of}, figures.LowerIsBetter, false); ok != (tt.basis != "") || c.Basis != tt.basis || c.Low != tt.low || c.High != tt.high {
			t.Errorf("repeats %v: %+v", tt.of, c)
		}
		// The interval is wider if the run stopped repeating as soon as the interval was narrow
		// enough.
		if c, _ := certaintyOverRepeats(Repeated{Values: tt.of}, figures.LowerIsBetter, true); c.Basis != tt.basis || c.Low.Number > tt.low.Number || c.High.Number < tt.high.Number {
			t.Errorf("repeats %v of a run that stopped when it was precise: %+v", tt.of, c)
		}
	}
}

// The median that is shown is inside the interval that is shown next to it. No interval reaches 0.
func TestDisplayedIntervalContainsTheDisplayedMedian(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	bases := map[Basis]int{}
	for range 500 {
		values := make([]figures.Value, 2+rng.IntN(14))
		spread := 1.5 * rng.Float64()
		for i := range values {
			values[i] = fig(100 * math.Exp(spread*rng.NormFloat64()))
		}
		c, ok := certaintyOverRepeats(Repeated{Values: values}, figures.LowerIsBetter, false)
		shown := Median(values, figures.LowerIsBetter).Number
		if !ok || c.Low.Number > shown || c.High.Number < shown || c.Low.Number <= 0 || c.Basis == OverRepeats && len(values) < MinRepeats {
			t.Fatalf("the interval around the median %v of %v is %+v", shown, values, c)
		}
		bases[c.Basis]++
	}
	if bases[OverRepeats] < 100 || bases[RangeOfRepeats] < 100 {
		t.Errorf("the bases of the 500 intervals are %v", bases)
	}
}

// Repeats that stopped because they were precise have a wider interval than a fixed number of
// repeats.
func TestStoppedRepeatsAreLessCertain(t *testing.T) {
	ops := figures.Registered("ops")
	certainty := func(repeats int) Certainty {
		r := &Row{}
		for i := range 10 {
			trial := doneIn(float64(95 + i))
			trial.Repeat, trial.Repeats = i+1, repeats
			r.Trials, r.Done = append(r.Trials, trial), append(r.Done, trial)
		}
		c, ok := CertaintyOf(r, &ops)
		if !ok || c.Basis != OverRepeats {
			t.Fatalf("%+v, %v", c, ok)
		}
		return c
	}
	asked, stopped := certainty(10), certainty(0)
	if stopped.Low.Number >= asked.Low.Number || stopped.High.Number <= asked.High.Number {
		t.Errorf("the interval of a run that stopped when it was precise is %+v, want it wider than %+v", stopped, asked)
	}
}

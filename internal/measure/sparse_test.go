package measure

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The sum of Steps has the same contents and the same figures as the sum of the histograms.
func TestStepsAddUpToTheHistogram(t *testing.T) {
	settle.SkipUnderRace(t)
	rng := rand.New(rand.NewPCG(1, 2))
	sum, merged := &Sum{}, &Sum{}
	all, count := NewHistogram(), int64(0)
	for range 60 {
		bySteps, whole := NewHistogram(), NewHistogram()
		total, failed := int64(0), uint64(rng.IntN(3)*rng.IntN(20))
		sum.Reset()
		for range rng.IntN(20) {
			h := NewHistogram()
			for range rng.IntN(300) {
				_ = h.RecordValues(int64(rng.ExpFloat64()*1e7), 1+rng.Int64N(50))
			}
			s := NonEmptySteps(h)
			if s.Total() != h.TotalCount() {
				t.Fatalf("the total is %d, want %d", s.Total(), h.TotalCount())
			}
			whole = Add(whole, h)
			bySteps = s.AddTo(bySteps)
			sum.Add(&s)
			total += s.Total()
		}
		if !bySteps.Equals(whole) || sum.Total() != whole.TotalCount() || total != sum.Total() {
			t.Error("the sum of the steps differs from that of the histograms")
		}
		if total > 0 && !sum.Histogram().Equals(whole) {
			t.Error("the sum differs from that of the histograms")
		}
		ps := []float64{0.001, 10, 50, 99, 99.9}
		if got, want := sum.PercentilesOf(failed, ps...), PercentilesOf(whole, failed, ps...); !slices.Equal(got, want) {
			t.Errorf("%d failed: %v, want %v", failed, got, want)
		}
		if got, want := sum.Slowest(failed), Slowest(whole, failed); got != want {
			t.Errorf("the slowest is %v, want %v", got, want)
		}
		if total == 0 {
			if sum.Fastest().Known {
				t.Errorf("the fastest of no times is %v", sum.Fastest())
			}
			continue
		}
		if got, want := sum.Fastest().NS, float64(whole.Min()); got != want {
			t.Errorf("the fastest is %v, want %v", got, want)
		}
		if got, want := sum.Mean(), whole.Mean(); math.Abs(got-want) > 1e-9*want {
			t.Errorf("the mean is %v, want %v", got, want)
		}
		merged.Merge(sum)
		if count += total; merged.Total() != count {
			t.Errorf("the merged sums contain %d of %d times", merged.Total(), count)
		}
		all = Add(all, whole)
		if !merged.Histogram().Equals(all) {
			t.Error("merged sums differ from merged histograms")
		}
	}
}

// The counts from damaged files never overflow.
func TestSumIsBounded(t *testing.T) {
	sum := &Sum{}
	for range 100 {
		sum.Add(&Steps{NonEmpty: []Step{{Index: 5, Count: 1 << 60}, {Index: NumSteps - 1, Count: 1 << 60}}})
	}
	if sum.Total() <= 0 || sum.Total() > maxSum || !sum.PercentilesOf(0, 50)[0].Known {
		t.Errorf("the total of the sum is %d", sum.Total())
	}
}

// StepStart agrees with the library.
func TestStepAt(t *testing.T) {
	h := NewHistogram()
	_ = h.RecordValue(Highest)
	for i, bar := range h.Distribution() { // up to the last non-empty step
		if StepStart(i) != bar.From || StepStart(i+1)-1 != bar.To {
			t.Fatalf("step %d is from %d to %d, not from %d to %d", i, StepStart(i), StepStart(i+1)-1, bar.From, bar.To)
		}
	}
	if got := len(h.Export().Counts); got != NumSteps {
		t.Errorf("a histogram has %d steps", got)
	}
}

// eachStep returns the same steps as a walk through the whole histogram, for any number and
// distribution of times.
func TestEachStepFindsAllSteps(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(9, 10))
	for range 2000 {
		h := NewHistogram()
		for range r.IntN(2 * maxQueriedTimes) {
			ns := int64(math.Exp(r.Float64() * math.Log(float64(Highest))))
			if r.IntN(20) == 0 {
				ns = []int64{0, Lowest, Lowest - 1, Highest}[r.IntN(4)]
			}
			if err := h.RecordValues(ns, 1+r.Int64N(1+r.Int64N(4))); err != nil {
				t.Fatal(err)
			}
		}
		var want, got []Step
		for at, n := range h.Export().Counts {
			if n > 0 {
				want = append(want, Step{at, n})
			}
		}
		eachStep(h, func(at int, n int64) { got = append(got, Step{at, n}) })
		if !slices.Equal(got, want) {
			t.Fatalf("%d times were recorded, and eachStep returned %v, want %v", h.TotalCount(), got, want)
		}
	}
}

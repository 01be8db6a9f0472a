package measure

import (
	"math/rand/v2"
	"testing"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// What is added by its steps is what is added as a histogram, also where an older
// version recorded it in coarser steps.
func TestStepsAddUpToTheHistogram(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, lowest := range []int64{Lowest, 1, 1000} {
		var bySteps, whole *Histogram = NewHistogram(), NewHistogram()
		total := int64(0)
		for range 20 {
			h := hdr.New(lowest, Highest, Digits)
			for range rng.IntN(300) {
				_ = h.RecordValues(int64(rng.ExpFloat64()*1e7), 1+rng.Int64N(1000))
			}
			whole = Add(whole, h)
			c := StepsOf(h)
			if c.Total() != h.TotalCount() {
				t.Fatalf("%d counted, not %d", c.Total(), h.TotalCount())
			}
			bySteps = c.AddTo(bySteps)
			total += c.Total()
		}
		if !bySteps.Equals(whole) || whole.TotalCount() != total || bySteps.LowestTrackableValue() != whole.LowestTrackableValue() {
			t.Errorf("from %d ns: the sum of the steps is not that of the histograms", lowest)
		}
	}
}

// Every step is where the library has it.
func TestStepAt(t *testing.T) {
	h := NewHistogram()
	_ = h.RecordValue(Highest)
	bars := h.Distribution() // up to the last that has anything
	last := 0
	for i, bar := range bars {
		if StepAt(i) != bar.From {
			t.Fatalf("step %d is from %d, not %d", i, StepAt(i), bar.From)
		}
		if bar.Count > 0 {
			last = i
		}
	}
	if got := len(h.Export().Counts); got != NumSteps || last >= got {
		t.Errorf("there are %d steps, of which %d is used, and NumSteps is %d", got, last, NumSteps)
	}
}

package measure

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// generate returns seconds that a shard could add. It also adds the seconds' times to the cell
// `whole`, and adds to `done` the milliseconds in which operations were done.
func generate(r *rand.Rand, seconds int, whole *Cell, done map[int]bool) (out []*Second) {
	for i := range seconds {
		s := &Second{Phase: Measured, Index: i}
		for range r.IntN(60) {
			cell := &Cell{Series: Series{Kind: kv.Get, Member: uint64(r.IntN(3)), Term: 2}}
			s.Due++
			ns := int64(r.ExpFloat64() * 1e6)
			if r.IntN(10) == 0 {
				o := kv.NotSent + kv.Outcome(r.IntN(NumErrors))
				s.Outcomes[o]++
				cell.Failed[ErrorIndex(o)] = singleton(ns)
				if whole.Failed[ErrorIndex(o)] == nil {
					whole.Failed[ErrorIndex(o)] = NewHistogram()
				}
				Record(whole.Failed[ErrorIndex(o)], ns)
			} else {
				s.Outcomes[kv.OK]++
				s.Done++
				cell.Response, cell.Service = singleton(ns), singleton(ns/2)
				Record(whole.Response, ns)
				Record(whole.Service, ns/2)
				ms := r.IntN(1000)
				s.Alive.Add(int64(ms) * 1_000_000)
				done[i*1000+ms] = true
			}
			s.Cells = MergeCells(s.Cells, []*Cell{cell})
		}
		out = append(out, s)
	}
	return out
}

func singleton(ns int64) *Histogram {
	h := NewHistogram()
	Record(h, ns)
	return h
}

// The merged histograms contain all times, no matter how many shards there are, in which order
// their seconds arrive, and how early a shard ends.
func TestMergeEqualsWhole(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 2 * times(t) {
		const seconds = 7
		whole, done := &Cell{Response: NewHistogram(), Service: NewHistogram()}, map[int]bool{}
		shards := make([][]*Second, 1+r.IntN(4))
		for i := range shards {
			shards[i] = generate(r, seconds-r.IntN(3), whole, done)
		}
		c := NewCollector(len(shards))
		c.Recycle = func(*Histogram) {}
		last := -1
		c.OnSecond = func(s *Second) {
			if s.Index != last+1 {
				t.Errorf("second %d came after %d", s.Index, last)
			}
			last = s.Index
		}
		for left := len(shards); left > 0; {
			i := r.IntN(len(shards))
			switch {
			case len(shards[i]) > 0:
				c.Add(i, shards[i][0])
				shards[i] = shards[i][1:]
			case shards[i] != nil:
				c.End(i)
				shards[i] = nil
				left--
			}
		}
		totals, _ := c.Close(float64(last + 1))
		got := totals.MergedCell()
		for what, pair := range map[string][2]*Histogram{"response": {got.Response, whole.Response}, "service": {got.Service, whole.Service}} {
			if !pair[0].Equals(pair[1]) {
				t.Errorf("the merged %s times differ from the times of all operations", what)
			}
		}
		failed := uint64(0)
		for i := range got.Failed {
			if h := whole.Failed[i]; h != nil {
				failed += uint64(h.TotalCount())
				if !got.Failed[i].Equals(h) {
					t.Errorf("the merged errors of kind %d differ from the errors of all operations", i)
				}
			}
		}
		if totals.Failed() != failed || totals.Succeeded() != uint64(whole.Response.TotalCount()) || totals.Due != totals.Failed()+totals.Succeeded() {
			t.Errorf("due %d, succeeded %d, failed %d: the counts do not add up", totals.Due, totals.Succeeded(), totals.Failed())
		}
		if want := float64(longestRun(done, (last+1)*1000)) / 1000; totals.LongestGap != want {
			t.Errorf("the longest gap is %v, want %v", totals.LongestGap, want)
		}
	}
}

func longestRun(done map[int]bool, until int) (longest int) {
	run := 0
	for ms := range until {
		if run++; done[ms] {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}

// If the window ends within its last second, a gap also ends with the window.
func TestGapEndsWithTheWindow(t *testing.T) {
	c := NewCollector(1)
	s := &Second{Phase: Measured}
	s.Alive[0] = 1 << 10 // an operation was done only at 10 ms
	c.Add(0, s)
	c.End(0)
	if totals, _ := c.Close(0.3); totals.LongestGap != 0.289 {
		t.Errorf("the longest gap is %v s, want 0.289", totals.LongestGap)
	}
}

func TestPercentilesOfKnownDistribution(t *testing.T) {
	h := NewHistogram()
	for i := int64(1); i <= 100_000; i++ {
		Record(h, i*1000)
	}
	s := Summarize(h, 0)
	for i, p := range Percentiles {
		want := p / 100 * 100_000 * 1000
		if got := s.Percentiles[i]; !got.Known || got.NS < want*0.999 || got.NS > want*1.002 {
			t.Errorf("p%v is %v, want %v", p, got, want)
		}
	}
}

// Failures count as slower than any success.
func TestFailuresAreSlowerThanSuccesses(t *testing.T) {
	h := NewHistogram()
	for range 900 {
		Record(h, 1e6)
	}
	s := Summarize(h, 100)
	if !s.Percentile(95).Failed || !s.Percentile(99).Failed || !s.Max.Failed || !s.Mean.Failed {
		t.Error("a tenth of the operations failed, but p95, p99, the maximum or the mean is not marked as failed")
	}
	if !s.Percentile(90).Known || !s.Percentile(50).Known {
		t.Error("p90 or p50 is unknown, although 90 percent of the operations succeeded")
	}
	if p, ok := FirstFailedPercentile(900, 100); !ok || p != 90 {
		t.Errorf("the first failed percentile is p%v, want p90", p)
	}
}

// If the sample is too small for a percentile, the percentile is unknown.
func TestUnsupportedPercentilesAreUnknown(t *testing.T) {
	h := NewHistogram()
	for range 999 {
		Record(h, 1e6)
	}
	s := Summarize(h, 0)
	if s.Percentile(99.9).Known || s.Percentile(99.9).Failed || s.Percentile(99).Known {
		t.Error("999 samples are too few for p99.9, and for p99 with 10 samples beyond it")
	}
	if !s.Percentile(95).Known {
		t.Error("p95 is unknown, although 999 samples support it")
	}
	if e := Summarize(nil, 0); e.Min.Known || e.Percentile(50).Known {
		t.Error("an empty sample has a known minimum or median")
	}
}

// Of 10,000 samples, exactly ten are above p99.9. With floating-point arithmetic, the number would
// be nine.
func TestRankIsExact(t *testing.T) {
	h := NewHistogram()
	for range 10_000 {
		Record(h, 1e6)
	}
	if !Summarize(h, 0).Percentile(99.9).Known {
		t.Error("p99.9 is unknown, although 10000 samples support it")
	}
}

// Here each rank has a different value, so that a percentile with a wrong rank is detected.
func TestPercentileUsesTheNearestRank(t *testing.T) {
	for n := 11; n < 3000; n += 37 {
		h := NewHistogram()
		for i := range n {
			Record(h, int64(1+i)<<12)
		}
		for i, f := range PercentilesOf(h, 0, Percentiles...) {
			p := uint64(math.Round(1000 * Percentiles[i]))
			rank := (p*uint64(n) + 99_999) / 100_000
			if f.Known && !h.ValuesAreEquivalent(int64(f.NS), int64(rank)<<12) {
				t.Fatalf("p%v of %d samples must have rank %d, but %v is the value of rank %v", Percentiles[i], n, rank, f.NS, f.NS/(1<<12))
			}
		}
	}
}

// A time outside the range of a histogram is counted at the nearer end of the range.
func TestRecordLosesNoValue(t *testing.T) {
	h := NewHistogram()
	for _, ns := range []int64{-5, 0, 1, Highest, Highest * 3} {
		Record(h, ns)
	}
	if h.TotalCount() != 5 {
		t.Errorf("5 values were recorded, but the total count is %d", h.TotalCount())
	}
}

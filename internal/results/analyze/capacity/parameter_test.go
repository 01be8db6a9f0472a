package capacity

import (
	"math"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// sized is a simulated server whose load depends on a number of nodes: the load is a fixed rate of
// operations plus a rate for each node. Each trial uses a new server. The time to prepare a server
// increases with the number of nodes.
type sized struct {
	*server
	fixed, each float64
	prepare     float64 // seconds per node
	trials      int
}

func (s *sized) offered(nodes float64) float64 { return s.fixed + s.each*nodes }

func (s *sized) capacity() float64 { return (s.truth(0) - s.fixed) / s.each }

func (s *sized) search(from, most float64) (*Search, Result) {
	o := s.options()
	o.InitialRate, o.MinRate, o.MaxRate, o.Overhead = from, 1, most, 2
	o.Parameter = &Parameter{Integer: true, DueRate: s.offered, MinWindow: 10, FreshCluster: true}
	c := New(o)
	for {
		p, ok := c.Next(s.now)
		if !ok {
			return c, c.Result()
		}
		s.trials++
		began := s.now
		s.now += 2 + s.prepare*p.Rate
		at := p
		at.Rate = s.offered(p.Rate)
		t := s.run(at)
		t.Plan = p
		c.Add(t, s.now-began)
	}
}

// whole rounds both ends of an interval down to whole numbers.
func whole(i Interval) (low, high float64) { return math.Floor(i.Lower), math.Floor(i.Upper) }

// The interval of nodes contains the number of nodes that the server can handle, just as the
// interval of a rate contains the capacity. All tried values are whole numbers. Each trial has the
// requested length. No trial has a warm-up or waits for the store to settle.
func TestParameterIsSearchedLikeARate(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, m := range settle.Sample(t, 1, models[:2]) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			from, to := seeds(t, 3)
			right, n := 0, int(to-from)
			var widths, took []float64
			for seed := from; seed < to; seed++ {
				s := &sized{server: m.make(seed), fixed: 440, each: 0.5, prepare: 0.002}
				s.until = 3600
				c, r := s.search(1000, 100_000)
				low, high := whole(r.Interval)
				if at := math.Floor(s.capacity()); low <= at && at <= high {
					right++
				} else {
					t.Logf("seed %d: %g to %g nodes of %.1f, %s after %.0f s", seed, low, high, s.capacity(), r.Status, s.last)
				}
				widths, took = append(widths, r.Width()), append(took, s.last)
				for i := range c.Trials {
					if p := &c.Trials[i]; p.Rate != math.Round(p.Rate) || p.Warmup != 0 || p.Window < 10 || p.Purpose == Settle || p.Rate > 100_000 {
						t.Errorf("seed %d: trial %d is %+v", seed, i, p.Plan)
					}
				}
			}
			t.Logf("right %d of %d, median width %.2f %%, median %.0f s", right, n, 100*stat.Median(widths), stat.Median(took))
			if n-right > n/20+1 {
				t.Errorf("the interval holds the truth in %d of %d seeds", right, n)
			}
		})
	}
}

// If there are few nodes and each is a large part of the load, the search ends with two adjacent
// numbers. It does not repeat a number forever.
func TestFewValuesOfAParameter(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, want := range []float64{1, 2, 3, 7, 12} {
		s := &sized{server: hardLimit(7), fixed: 20}
		s.until = 1200
		s.each = (s.truth(0) - s.fixed) / (want + 0.5)
		c, r := s.search(5, 1000)
		low, high := whole(r.Interval)
		if r.Status != Found || low > want || want > high || high-low > 2 {
			t.Errorf("the server can carry %g nodes, but the search found %g to %g, %s after %d trials\n%s", want, low, high, r.Status, len(c.Trials), c.table(func(float64) float64 { return want }))
		}
	}
	s := &sized{server: hardLimit(7), fixed: 20}
	s.each = s.truth(0) // even one node is too many
	if _, r := s.search(5, 1000); r.Status != HoldsNowhere {
		t.Errorf("if the server cannot carry even one node, the result is %+v", r)
	}
	s = &sized{server: hardLimit(7), fixed: 20, each: 0.001}
	if _, r := s.search(5, 40); r.Status != AtLeast || r.Lower != 40 {
		t.Errorf("if the server can carry every number of nodes, the result is %+v", r)
	}
}

// The search does not start a trial whose preparation would end after the time limit, even if no
// value that large was prepared before.
func TestPreparingTakesItsTime(t *testing.T) {
	s := &sized{server: hardLimit(7), fixed: 20, each: 0.001, prepare: 0.01}
	s.until = 120
	if _, r := s.search(1000, 100_000); r.Status != TimeOver || s.now > s.until || r.Lower < 2000 {
		t.Errorf("after %.0f s, the result is %+v", s.now, r)
	}
}

// The preparation time increases with the value. The time to start a cluster does not.
func TestAStartIsNotPreparedTwice(t *testing.T) {
	o := someOptions()
	o.Overhead, o.Parameter = 3, &Parameter{Integer: true, MinWindow: 10, FreshCluster: true}
	s := New(o)
	took := func(value float64) float64 { return 4 + 0.001*value }
	add := func(value float64) {
		s.Add(Trial{Plan: Plan{Rate: value, Window: 10}, Length: 10, Due: 100, Done: 100, Seconds: []Second{{Due: 100, Bad: []float64{0}}}}, 10+took(value))
	}
	if got := s.expectedOverhead(1000); got != 3 {
		t.Errorf("before the first trial, the expected overhead is %g s, want 3 s", got)
	}
	add(1000)
	// the expected time for the start is 3 s
	if got := s.expectedOverhead(2000); got < took(2000) || got > took(2000)+1.01 {
		t.Errorf("after one trial, the expected overhead is %g s, want at least %g s and at most 1.01 s more", got, took(2000))
	}
	add(2000)
	for _, value := range []float64{1500, 2000, 4000, 50_000} {
		if got, want := s.expectedOverhead(value), max(took(value), took(2000)); math.Abs(got-want) > 1e-9 {
			t.Errorf("value %g: want an expected overhead of %g s, got %g s", value, want, got)
		}
	}
	s.Add(Trial{Plan: Plan{Rate: 4000, Window: 10}, VoidReason: "the store could not be prepared"}, 0)
	if got := s.expectedOverhead(4000); math.Abs(got-took(4000)) > 1e-9 {
		t.Errorf("after a trial that did not begin, the expected overhead is %g s", got)
	}
}

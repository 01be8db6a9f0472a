package capacity

import (
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// seeds returns the range of seeds for a test. It starts at 300, because the search was tuned with
// the seeds below 300. QUORUMBENCH_CAPACITY_FROM overrides the start.
func seeds(t *testing.T, few int) (from, to uint64) {
	t.Helper()
	from, n := uint64(300), uint64(few)
	if text := os.Getenv("QUORUMBENCH_CAPACITY_FROM"); text != "" {
		var err error
		if from, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	if text := os.Getenv("QUORUMBENCH_CAPACITY_SEEDS"); text != "" {
		var err error
		if n, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return from, from + n
}

// model is a kind of server, with the results that a search on it must have.
type model struct {
	name string
	make func(seed uint64) *server
	// the number of seeds, out of 20, for which the interval must contain the true capacity
	right  int
	narrow bool // set if the interval must reach the target width
	// changes is set if the capacity changes abruptly, which the search must detect.
	changes bool
}

var models = []model{
	{"hard limit", hardLimit, 19, true, false},
	{"M/M/1", markovian, 19, true, false},
	{"stalls", stalling, 19, false, false},
	{"drift", drifting, 19, false, false},
	{"a link", link, 18, false, false},
	{"a fast queue", fast, 19, false, false},
	{"a hard limit, disturbed now and then", disturbing(hardLimit, 0.3), 19, false, false},
	{"M/M/1, disturbed now and then", disturbing(markovian, 0.3), 19, false, false},
	{"a hard limit, always disturbed", disturbing(hardLimit, 1), 19, false, false},
	{"M/M/1, always disturbed", disturbing(markovian, 1), 19, false, false},
	{"a hard limit that changes", changing(hardLimit), 19, false, true},
	{"M/M/1 that changes", changing(markovian), 18, false, true},
}

// At the declared capacity of a simulated server, the share of bad operations equals the limit. The
// trial is so long that chance hardly matters.
func TestSimulatedServersHaveTheirDeclaredCapacity(t *testing.T) {
	settle.SkipUnderRace(t)
	// M/M/1 has few independent causes, even in a long trial
	for i, within := range []float64{0.25, 0.03} {
		m := models[i+1]
		ratio, n := 0.0, uint64(12)
		for seed := range n {
			s := m.make(seed)
			trial := s.run(Plan{Rate: s.truth(0), Warmup: 10, Window: 300})
			ratio += trial.Share(0) / s.limit / float64(n)
		}
		if math.Abs(ratio-1) > within {
			t.Errorf("%s: the share of bad operations is %.3f of the limit", m.name, ratio)
		}
		t.Logf("%s: %.3f", m.name, ratio)
	}
}

// The interval contains the capacity. If the capacity moved, the interval contains all of its
// values. CI tests a sixth of the models.
func TestIntervalContainsTheCapacity(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, m := range settle.Sample(t, len(models)/6, models) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			from, to := seeds(t, 4)
			right, narrow, changed, late := 0, 0, 0, 0
			status := map[Status]int{}
			var took, widths []float64
			for seed := from; seed < to; seed++ {
				s := m.make(seed)
				c, r := s.search()
				if s.holds(r.Interval) {
					right++
				} else {
					low, high := min(s.truth(0), s.truth(s.last)), max(s.truth(0), s.truth(s.last))
					t.Logf("seed %d: [%.4f, %.4f] of the truth, which moved by %.1f %%, %s after %.0f s", seed, r.Lower/low, r.Upper/high, 100*(s.truth(s.last)/s.truth(0)-1), r.Status, s.last)
				}
				if testing.Verbose() && os.Getenv("QUORUMBENCH_CAPACITY_TRIALS") != "" {
					t.Logf("seed %d\n%s", seed, c.table(s.truth))
				}
				if r.Width() <= DefaultWidth {
					narrow++
				}
				if r.Periods != nil {
					changed++
				}
				if s.changes+60 < s.last { // the search had enough time to detect the change
					late++
				}
				status[r.Status]++
				took, widths = append(took, s.last), append(widths, r.Width())
			}
			n := int(to - from)
			slices.Sort(took)
			slices.Sort(widths)
			t.Logf("right %d of %d, within 2 %% %d, median width %.2f %%, median %.0f s, changed %d of %d, %v", right, n, narrow, 100*widths[n/2], took[n/2], changed, late, status)
			// With few seeds, chance may cause a larger share of wrong results.
			if lack := n*(20-m.right)/20 + 2*min(1, 100/n/5); n-right > lack {
				t.Errorf("the interval holds the truth in %d of %d seeds, and may miss it in %d", right, n, lack)
			}
			switch {
			case m.changes && changed < late*17/20:
				t.Errorf("a change is reported in only %d of %d seeds", changed, late)
			case !m.changes && changed > n/50+min(1, n/20):
				t.Errorf("a change is reported in %d of %d seeds, although there is none", changed, n)
			}
			if m.narrow && narrow < n*19/20 {
				t.Errorf("the interval is narrow in %d of %d seeds", narrow, n)
			}
		})
	}
}

// table formats the trials of a search. Rates are shares of the true capacity.
func (s *Search) table(truth func(float64) float64) (text string) {
	for i := range s.Trials {
		t := &s.Trials[i]
		text += fmt.Sprintf("  %-7s at %4.0f s: %.4f for %.1f s, %.3f %% bad, overloaded %v, holds %v\n", t.Purpose, t.StartTime, t.Rate/truth(t.StartTime), t.Window, 100*t.Share(0), t.Overloaded(s.Goals), t.Holds(s.Goals))
	}
	return text
}

// A bisection with the same confidence takes longer than the search.
func TestTheSearchIsShorterThanABisection(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, m := range settle.Sample(t, 1, models[:2]) {
		t.Run(m.name, func(t *testing.T) {
			t.Parallel()
			from, to := seeds(t, 2)
			var ours, theirs float64
			var widths []float64
			right := 0
			for seed := from; seed < to; seed++ {
				s := m.make(seed)
				s.search()
				ours += s.last
				b := m.make(seed)
				took, i := b.bisect()
				theirs += took
				widths = append(widths, i.Width())
				if b.holds(i) {
					right++
				}
			}
			n := float64(to - from)
			t.Logf("%.0f s on average, and the bisection %.0f s: %.2f; it is right in %d of %.0f, and %.2f %% wide at the median", ours/n, theirs/n, ours/theirs, right, n, 100*stat.Median(widths))
			most := 1.0
			if n >= 20 { // with fewer seeds, the average is mostly chance
				most = 0.5
			}
			if ours > most*theirs {
				t.Errorf("the search takes %.2f of a bisection's time", ours/theirs)
			}
		})
	}
}

// fixed returns the result of a search on a server without randomness. The parameter `share` is a
// function that returns the share of bad operations at a rate. The generator is late at rates above
// maxRate, unless maxRate is 0.
func fixed(o Options, share func(rate float64) float64, maxRate float64) Result {
	return searched(o, share, func(rate float64) bool { return maxRate > 0 && rate > maxRate })
}

// searched does the same as fixed, but the generator is late at each rate for which `late` returns
// true.
func searched(o Options, share func(rate float64) float64, late func(rate float64) bool) Result {
	s := New(o)
	now := 0.0
	for {
		p, ok := s.Next(now)
		if !ok {
			return s.Result()
		}
		t := Trial{Plan: p, StartTime: now + p.Warmup, Length: p.Window}
		for range int(p.Window) {
			t.Seconds = append(t.Seconds, Second{Due: p.Rate, Bad: []float64{p.Rate * share(p.Rate)}})
			t.Due, t.Done, t.Served = t.Due+p.Rate, t.Done+p.Rate, t.Served+p.Rate
		}
		if late(p.Rate) {
			t.VoidReason, t.Served = "the generator was late", min(t.Served, 60*t.Length)
		}
		now += p.Warmup + p.Window + 0.3
		s.Add(t, p.Warmup+p.Window+0.3)
	}
}

func someOptions() Options {
	return Options{Goals: []Goal{{Name: "p99<20ms", Limit: 0.01, Span: 0.02}}, TimeLimit: 600, InitialRate: 100, MinRate: 10, MaxRate: 100_000}
}

func TestObjectiveHoldsAtNoRate(t *testing.T) {
	r := fixed(someOptions(), func(float64) float64 { return 0.5 }, 0)
	if r.Status != HoldsNowhere || r.Lower != 0 || !(r.Upper > 0 && r.Upper <= 10) {
		t.Errorf("the result is %+v", r)
	}
}

func TestObjectiveHoldsAtEveryRate(t *testing.T) {
	r := fixed(someOptions(), func(float64) float64 { return 0 }, 0)
	if r.Status != AtLeast || r.Lower != 100_000 || r.Closed() {
		t.Errorf("the result is %+v", r)
	}
}

// At rates that the generator cannot reach, the search learns nothing about the store.
func TestRatesThatTheGeneratorCannotReachAreNotKnown(t *testing.T) {
	r := fixed(someOptions(), func(float64) float64 { return 0 }, 5000)
	if r.Status != AtLeast || r.Lower > 5000 || r.Lower < 4400 || r.Closed() || !strings.HasPrefix(r.Reason, "above that rate, every trial was unusable (last reason: ") {
		t.Errorf("the result is %+v", r)
	}
}

// If the generator is late in a few trials, at any rate, the search does not end: void trials are
// repeated.
func TestTrialsWithALateGeneratorAreRepeated(t *testing.T) {
	settle.SkipUnderRace(t)
	for _, from := range []int{0, 1, 3, 6} {
		o := someOptions()
		o.TimeLimit = 300
		trials := 0
		r := searched(o, func(rate float64) float64 { return min(0.01*math.Pow(rate/3000, 20), 1) }, func(float64) bool {
			trials++
			return trials > from && trials <= from+8
		})
		if r.Lower > 3000 || r.Upper < 3000 || r.Width() > 0.1 {
			t.Errorf("eight late trials after trial %d: the result is %+v", from, r)
		}
	}
}

// A lower bound far below the store's earlier throughput is not useful. The result is then "not
// known".
func TestUninformativeFloor(t *testing.T) {
	o := someOptions()
	o.InitialRate, o.KnownThroughput = 700, 2914
	r := fixed(o, func(float64) float64 { return 0 }, 50)
	if r.Status != Undecided || r.Closed() {
		t.Errorf("the result is %+v", r)
	}
	if o.KnownThroughput = 80; fixed(o, func(float64) float64 { return 0 }, 50).Status != AtLeast {
		t.Error("with a known throughput of 80/s, the search does not end with AtLeast")
	}
}

// A window is long enough for ten operations above each percentile that a goal bounds, if there is
// enough time.
func TestWindowsShowThePercentile(t *testing.T) {
	for _, c := range []struct{ limit, rate, until, least, most float64 }{
		{0.01, 100, 600, 10, 12}, {0.01, 10_000, 600, 2, 2}, {0.001, 1000, 600, 10, 12}, {0.01, 10, 1200, 100, 120}, {0.001, 10, 600, 100, 100}, {0.5, 100, 600, 2, 2},
	} {
		s := New(Options{Goals: []Goal{{Limit: c.limit, Span: 0.02, Percentile: true}}, TimeLimit: c.until, InitialRate: c.rate, MinRate: 10, MaxRate: 1e6})
		if p, _ := s.Next(0); p.Window < c.least || p.Window > c.most {
			t.Errorf("%+v: the window is %g s", c, p.Window)
		}
	}
}

func TestSearchEndsWhenTheTimeIsOver(t *testing.T) {
	o := someOptions()
	o.TimeLimit = 20
	r := fixed(o, func(rate float64) float64 { return min(0.01*math.Pow(rate/1000, 4), 1) }, 0)
	if r.Status != TimeOver || r.Lower > 1000 || r.Upper < 1000 {
		t.Errorf("the result is %+v", r)
	}
}

func TestEstimateDuringASearch(t *testing.T) {
	s := New(someOptions())
	if r := s.Result(); r.Status != Undecided {
		t.Errorf("before the first trial, the result is %+v, want undecided", r)
	}
	p, _ := s.Next(0)
	s.Add(Trial{Plan: p, Length: p.Window, Due: 200, Done: 200, Seconds: []Second{{Due: 200, Bad: []float64{0}}}}, 3)
	if _, more := s.Next(3); !more {
		t.Error("the search ends after the first trial")
	}
	if r := s.Result(); r.Status != "" || r.Lower != 100 || r.Closed() {
		t.Errorf("the result after the first trial is %+v", r)
	}
}

// While no trial has provided information, the next rate after a void trial is lower. After the
// lowest rate, the search starts again with the first rate. Ten consecutive void trials end the
// search.
func TestTriesALowerRateAfterAVoidTrial(t *testing.T) {
	s := New(Options{Goals: []Goal{{Name: "p99<20ms", Limit: 0.01, Span: 0.02}}, TimeLimit: 600, InitialRate: 2000, MinRate: 10, MaxRate: 1e6})
	for i, want := range []float64{2000, 500, 125, 31.25, 10, 2000, 500, 125, 31.25, 10} {
		p, ok := s.Next(float64(5 * i))
		if !ok || p.Rate != want {
			t.Fatalf("trial %d is at %g a second (%v), not at %g", i, p.Rate, ok, want)
		}
		s.Add(Trial{Plan: p, StartTime: float64(5 * i), Length: p.Window, VoidReason: "the generator was late"}, 3)
	}
	if _, ok := s.Next(30); ok {
		t.Error("the search continues after ten void trials")
	}
	if r := s.Result(); r.Status != Undecided {
		t.Errorf("the result is %+v, want undecided", r)
	}
}

// The rate of the next trial is within the range in which the trials have not yet shown whether the
// objective holds: below a rate that overloaded the store, even if few responses were bad, and not
// far below the rates that held.
func TestTriesInformativeRates(t *testing.T) {
	s := New(someOptions())
	for _, rate := range []float64{700, 1000, 1050, 1100, 1150} {
		one := Trial{Plan: Plan{Rate: rate, Warmup: 1, Window: 20}, Length: 20}
		for i := range 20 {
			second := Second{Due: rate, Bad: []float64{0}, InFlight: float64(1 + i%2)}
			if rate > 1050 {
				second.InFlight += 0.05 * rate * float64(i)
			}
			one.Seconds = append(one.Seconds, second)
			one.Due, one.Done = one.Due+rate, one.Done+rate
		}
		if rate > 1050 {
			one.Done *= 0.95
		}
		s.Add(one, 8)
	}
	if !s.failsAt(1100) || s.failsAt(1050) {
		t.Error("failsAt must be true for the overloaded trial at 1100/s and false at 1050/s")
	}
	s.lastOverloaded = false
	if p, ok := s.Next(30); !ok || p.Purpose != Refine || p.Rate < 1000 || p.Rate > 1130 {
		t.Errorf("the next plan is %+v (%v)", p, ok)
	}
}

// A backlog that grows in every second certainly shows an overload. A single second with a pause
// does not.
func TestGrowingBacklogIsOverload(t *testing.T) {
	for name, one := range map[string]struct {
		inFlight    []float64
		least, most float64
	}{
		"steadily":         {[]float64{10, 61, 110, 162, 209, 260, 311, 359}, maxGrowthPerTrial, maxGrowthPerTrial},
		"in one second":    {[]float64{3, 2, 3, 903, 902, 903, 902, 903}, 0, 1.7},
		"by chance":        {[]float64{10, 14, 9, 13, 8, 15, 9, 12}, 0, 1},
		"not, but shrinks": {[]float64{300, 250, 201, 150}, 0, 0},
		"in two seconds":   {[]float64{10, 60}, 0, 0},
		"always as much":   {[]float64{10, 20, 30, 40}, maxGrowthPerTrial, maxGrowthPerTrial},
		"from nothing":     {[]float64{0, 0, 0, 0}, 0, 0},
	} {
		trial := Trial{}
		for _, n := range one.inFlight {
			trial.Seconds = append(trial.Seconds, Second{InFlight: n})
		}
		if got := trial.growthEvidence(); got < one.least || got > one.most {
			t.Errorf("backlog that grows %s: the growth evidence is %g, want between %g and %g", name, got, one.least, one.most)
		}
	}
}

// The probabilities of the numbers of causes add up to 1. The same is true for the outcomes of a
// trial.
func TestProbabilitiesAddUp(t *testing.T) {
	for i, row := range tabulateOutcomes() {
		sum := 0.0
		for _, chance := range row {
			sum += chance
		}
		if math.Abs(sum-1) > 1e-9 {
			t.Errorf("the probabilities of row %d add up to %g, want 1", i, sum)
		}
	}
}

// The information from a trial is 0 if its result is known in advance. It is never negative, and
// never exceeds the uncertainty.
func TestTrialIsAsInformativeAsNeeded(t *testing.T) {
	settle.SkipUnderRace(t)
	s := hardLimit(7)
	c, _ := s.search()
	c.eachDrift(func(d *driftFit) {
		p := rateChooser{driftFit: d, phi: operationsPerCause(d.points, d.goal, math.Inf(1)), causes: tabulateOutcomes()}
		p.computeBeliefs(d.last)
		unknown, all := 0.0, 0.0
		for _, b := range p.beliefs {
			one := 0.0
			for _, likely := range b.slopeProbabilities {
				one += likely
			}
			all += one
			unknown -= one * math.Log(one)
		}
		if math.Abs(all-1) > 1e-9 {
			t.Errorf("the beliefs add up to %g, want 1", all)
		}
		for _, off := range []float64{-1, -0.01, 0, 0.01, 1} {
			information, overload := p.information(d.best.x+off, refining)
			if information < -1e-9 || information > unknown+1e-9 || overload < 0 || overload > 1+1e-9 {
				t.Errorf("a trial at the distance %g from the best estimate gives information of %g, want at most %g, and an overload probability of %g", off, information, unknown, overload)
			}
		}
		if information, _ := p.information(d.best.x-3, refining); information > 0.01 {
			t.Errorf("a trial at a twentieth of the best rate gives information of %g, want at most 0.01", information)
		}
	})
}

package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The rates that each statistic must reach for every population that populations() returns.
const (
	leastHeld = 0.93 // share of intervals that contain the true value
	mostHeld  = 0.97
	// mostHeldDisturbed is higher than mostHeld: the intervals of disturbed repeats allow for the
	// unknown part of each disturbance. They are therefore wider, and more of them contain the true
	// value.
	mostHeldDisturbed = 0.975
	mostFalse         = 0.065 // of the pairs without a difference, the share that is called better or worse
	// of the pairs that differ by 5 %, the share for which a difference is found
	leastFound = 0.90
	// of the pairs whose difference equals the margin, the share that is called same
	mostSameOf   = 0.05
	spread       = 0.02 // standard deviation of the repeats
	comparedWith = 6    // number of repeats on each side
)

// table is a table in docs/reference/statistics.md.
type table struct{ rows [][]string }

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// String formats the table as Markdown.
func (t *table) String() string {
	var b strings.Builder
	for i, row := range t.rows {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(&b, "|%s\n", strings.Repeat("--- |", len(row)))
		}
	}
	return b.String()
}

// inDocs checks that docs/reference/statistics.md contains the measured table. It checks nothing in
// two cases. On processors other than amd64, the last digit of a number may be rounded differently.
// If the environment variable runsEnv changes the number of runs, the rates are different.
func (t *table) inDocs(test *testing.T) {
	test.Helper()
	test.Logf("\n%s", t)
	if runtime.GOARCH != "amd64" || os.Getenv(runsEnv) != "" {
		return
	}
	text, err := os.ReadFile("../../../../docs/reference/statistics.md")
	if err != nil {
		test.Fatal(err)
	}
	if !strings.Contains(string(text), t.String()) {
		test.Errorf("docs/reference/statistics.md does not have this table:\n%s", t)
	}
}

// rate formats the share `hits` / `of` as a percentage, with one decimal as in the tables.
func rate(hits, of int) string { return fmt.Sprintf("%.1f", 100*float64(hits)/float64(of)) }

// held checks that the share `hits` / `of` is between `least` and `most`. With fewer than 2,000
// runs, the share is less precise and may be outside these bounds by chance. held therefore extends
// the bounds by three times the additional standard error.
func held(t *testing.T, what string, hits, of int, least, most float64) {
	t.Helper()
	slack := max(0, 3*(math.Sqrt(0.05*0.95/float64(of))-math.Sqrt(0.05*0.95/sampleRuns)))
	if share := float64(hits) / float64(of); share < least-slack || share > most+slack {
		t.Errorf("%s: %.3f of %d, not %v to %v", what, share, of, least, most)
	}
}

func holds(i Interval, truth float64) int {
	if i.Low <= truth && truth <= i.High {
		return 1
	}
	return 0
}

// Intervals over 5, 6 and 10 repeats contain the true value in 93 to 97 % of the runs. They also do
// so if repeats were added until the interval was narrow enough.
func TestIntervalsCoverTheTruth(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var doc table
	doc.add("seconds", "5 repeats", "6 repeats", "10 repeats", "until ± 2 % (mean repeats)", "until ± 1 % (mean repeats)", "naive: ordinary interval, from 5 repeats until ± 1 %", "naive: percentile bootstrap, 5 repeats", "naive: Student's t over the seconds of 5 repeats")
	sizes := []int{5, 6, 10}
	targets := []float64{0.02, 0.01}
	runs := simulated(t)
	all := populations()
	for k, p := range append(all, harder()...) {
		promised := k < len(all)
		check := func(what string, hits int) string {
			if promised {
				held(t, p.name+", "+what, hits, runs, leastHeld, mostHeld)
			}
			return rate(hits, runs)
		}
		r := rand.New(rand.NewPCG(10, uint64(k)))
		row := []string{p.name}
		for _, n := range sizes {
			hits := 0
			for range runs {
				i, _ := OverRepeats(UndisturbedRepeats(p.repeats(r, n, spread)), Level)
				hits += holds(i, 1)
			}
			row = append(row, check(fmt.Sprint(n, " repeats"), hits))
		}
		for _, target := range targets {
			hits, repeats := 0, 0
			for range runs {
				values := p.repeats(r, MinUntilPrecise, spread)
				for !precise(target, UndisturbedRepeats(values)) {
					values = append(values, p.repeats(r, 1, spread)...)
				}
				i, _ := UntilPrecise(UndisturbedRepeats(values))
				hits += holds(i, 1)
				repeats += len(values)
			}
			row = append(row, fmt.Sprintf("%s (%.0f)", check(fmt.Sprint("until ", target), hits), float64(repeats)/float64(runs)))
		}
		var stopped, resampled, overSeconds int
		for range runs {
			var seconds []float64
			for range 5 {
				seconds = append(seconds, p.run(r, length, spread, false)...)
			}
			overSeconds += holds(naive(seconds), 1)
			resampled += holds(bootstrap(r, p.repeats(r, 5, spread)), 1)
			values := p.repeats(r, 5, spread)
			for !chowRobbins(values, 5, 0.01) {
				values = append(values, p.repeats(r, 1, spread)...)
			}
			i, _ := OverRepeats(UndisturbedRepeats(values), Level)
			stopped += holds(i, 1)
		}
		doc.add(append(row, rate(stopped, runs), rate(resampled, runs), rate(overSeconds, runs))...)
	}
	doc.inDocs(t)
}

// precise reports whether enough repeats of every figure were measured to make its interval
// precise.
func precise(target float64, figures ...Repeats) bool {
	for _, repeats := range figures {
		i, ok := UntilPrecise(repeats)
		if !ok || PrecisionOf(i, len(repeats.Values), target) != Precise {
			return false
		}
	}
	return true
}

// preciseRatio reports whether enough repeats were measured to make the interval of the ratio
// between groups a and b precise.
func preciseRatio(target float64, a, b Repeats) bool {
	i, ok := UntilPreciseRatio(a, b)
	return ok && PrecisionOf(i, min(len(a.Values), len(b.Values)), target) == Precise
}

// quietRatio calls RatioOf with repeats that were not disturbed.
func quietRatio(a, b []float64) (Ratio, bool) {
	return RatioOf(UndisturbedRepeats(a), UndisturbedRepeats(b))
}

// pair returns the comparison of two groups of n repeats. The figures in the first group are larger
// by the given factor. Higher values are better.
func pair(p population, r *rand.Rand, n int, factor float64) Comparison {
	ratio, _ := quietRatio(times(p.repeats(r, n, spread), factor), p.repeats(r, n, spread))
	return Comparison{ratio, true}
}

func judge(c Comparison) Judgement { return Judge([]Comparison{c}, Margin)[0] }

// Judge chooses the correct word at least as often as required.
func TestWordsAreRight(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var doc table
	doc.add("seconds", "equal, called `better`/`worse`", "equal, until ± 1 %, called `better`/`worse`", "equal, N more repeats if `unclear`, called `better`/`worse`", "equal, naive t-test over seconds finds a difference", "5 % worse, called `worse`", "3 % worse, called `same` (20 repeats)", "equal, called `same` (10 repeats)", "2 % different and `unclear`, decided by N more repeats")
	runs := simulated(t)
	all := populations()
	for k, p := range append(all, harder()...) {
		r := rand.New(rand.NewPCG(20, uint64(k)))
		var differs, again, stopped, overSeconds, found, sameOf, same, unclear, decided int
		for range runs {
			a, b := p.repeats(r, comparedWith, spread), p.repeats(r, comparedWith, spread)
			ratio, _ := quietRatio(a, b)
			j := judge(Comparison{ratio, true})
			if j.Word == Better || j.Word == Worse {
				differs++
			}
			ratio, _ = quietRatio(append(a, p.repeats(r, j.MoreRepeats, spread)...), append(b, p.repeats(r, j.MoreRepeats, spread)...))
			if j = judge(Comparison{ratio, true}); j.Word == Better || j.Word == Worse {
				again++
			}
			a, b = p.repeats(r, MinUntilPrecise, spread), p.repeats(r, MinUntilPrecise, spread)
			for !precise(0.01, UndisturbedRepeats(a), UndisturbedRepeats(b)) {
				a, b = append(a, p.repeats(r, 1, spread)...), append(b, p.repeats(r, 1, spread)...)
			}
			ratio, _ = quietRatio(a, b)
			if ratio.P() < 1-Level {
				stopped++
			}
			if judge(pair(p, r, comparedWith, 1/1.05)).Word == Worse {
				found++
			}
			// The difference equals the margin. With 20 repeats, the word "same" is possible.
			if judge(pair(p, r, 20, 1/(1+Margin))).Word == Same {
				sameOf++
			}
			if judge(pair(p, r, 10, 1)).Word == Same {
				same++
			}
		}
		for range runs / 4 {
			var a, b []float64
			for range comparedWith {
				a, b = append(a, p.run(r, length, spread, false)...), append(b, p.run(r, length, spread, false)...)
			}
			if naivelyDiffer(a, b) {
				overSeconds++
			}
			a, b = times(p.repeats(r, comparedWith, spread), 1.02), p.repeats(r, comparedWith, spread)
			ratio, _ := quietRatio(a, b)
			if j := judge(Comparison{ratio, true}); j.Word == Unclear {
				unclear++
				a, b = append(a, times(p.repeats(r, j.MoreRepeats, spread), 1.02)...), append(b, p.repeats(r, j.MoreRepeats, spread)...)
				ratio, _ = quietRatio(a, b)
				if judge(Comparison{ratio, true}).Word != Unclear {
					decided++
				}
			}
		}
		if k < len(all) {
			held(t, p.name+", no difference", differs, runs, 0, mostFalse)
			held(t, p.name+", no difference, stopped", stopped, runs, 0, mostFalse)
			held(t, p.name+", 5 %", found, runs, leastFound, 1)
			held(t, p.name+", same", sameOf, runs, 0, mostSameOf)
			held(t, p.name+", N more", decided, unclear, 0.6, 1)
		}
		doc.add(p.name, rate(differs, runs), rate(stopped, runs), rate(again, runs), rate(overSeconds, runs/4), rate(found, runs), rate(sameOf, runs), rate(same, runs), rate(decided, unclear))
	}
	doc.inDocs(t)
}

// Repeats of two sides are added alternately until both figures and their ratio are known within
// 1 %. The interval of the ratio then contains the true value in the required share of runs. If the
// sides do not differ, a difference is reported no more often than allowed.
func TestRatioIntervalsCoverTheTruthWhenStopped(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	const target = 0.01
	var doc table
	doc.add("seconds", "interval of the ratio, until ± 1 % (mean repeats)", "equal, called `better`/`worse`")
	runs := simulated(t)
	runs /= 2
	for k, p := range populations() {
		r := rand.New(rand.NewPCG(70, uint64(k)))
		var hits, differs, repeats int
		for range runs {
			a, b := p.repeats(r, MinUntilPrecise, spread), p.repeats(r, MinUntilPrecise, spread)
			for !precise(target, UndisturbedRepeats(a), UndisturbedRepeats(b)) || !preciseRatio(target, UndisturbedRepeats(a), UndisturbedRepeats(b)) {
				a, b = append(a, p.repeats(r, 1, spread)...), append(b, p.repeats(r, 1, spread)...)
			}
			i, _ := UntilPreciseRatio(UndisturbedRepeats(a), UndisturbedRepeats(b))
			hits += holds(i, 1)
			if ratio, _ := RatioOfRounds(UndisturbedRepeats(a), UndisturbedRepeats(b)); ratio.P() < 1-Level {
				differs++
			}
			repeats += len(a)
		}
		held(t, p.name+", the ratio", hits, runs, leastHeld, mostHeld)
		held(t, p.name+", no difference", differs, runs, 0, mostFalse)
		doc.add(p.name, fmt.Sprintf("%s (%.0f)", rate(hits, runs), float64(repeats)/float64(runs)), rate(differs, runs))
	}
	doc.inDocs(t)
}

// If the machine's speed drifts from round to round, the interval over rounds contains the true
// value and is narrower than the interval over two groups. Without a drift, the interval over
// rounds also contains the true value.
func TestRatioIntervalsOfRoundsCoverTheTruth(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	const rounds, factor = 20, 0.95
	var doc table
	doc.add("seconds", "no drift: rounds (median ±)", "no drift: two groups", "drift: rounds", "drift: two groups", "drift, 5 % worse, called `worse`: rounds", "drift, 5 % worse, called `worse`: two groups")
	runs := simulated(t)
	runs /= 2
	all := populations()
	for k, p := range append(all, harder()...) {
		r := rand.New(rand.NewPCG(80, uint64(k)))
		row := []string{p.name}
		var found [2]int
		for _, drift := range []float64{0, 0.1} {
			var hits [2]int
			var widths [2][]float64
			found = [2]int{}
			for range runs {
				a, b := times(p.repeats(r, rounds, spread), factor), p.repeats(r, rounds, spread)
				for i, d := range autoregressive("machine", 0.7).seconds(r, rounds) {
					a[i], b[i] = a[i]*math.Exp(drift*d), b[i]*math.Exp(drift*d)
				}
				for way, ratioOf := range []func(a, b Repeats) (Ratio, bool){RatioOfRounds, RatioOf} {
					ratio, _ := ratioOf(UndisturbedRepeats(a), UndisturbedRepeats(b))
					i := ratio.Interval(Level)
					hits[way] += holds(i, factor)
					widths[way] = append(widths[way], i.HalfWidth())
					if judge(Comparison{ratio, true}).Word == Worse {
						found[way]++
					}
				}
			}
			if k < len(all) {
				held(t, fmt.Sprintf("%s, drift %v", p.name, drift), hits[0], runs, leastHeld, mostHeld)
			}
			for way := range hits {
				slices.Sort(widths[way])
				row = append(row, fmt.Sprintf("%s (%.1f)", rate(hits[way], runs), 100*widths[way][runs/2]))
			}
		}
		if k < len(all) {
			held(t, p.name+", 5 %", found[0], runs, leastFound, 1)
		}
		doc.add(append(row, rate(found[0], runs), rate(found[1], runs))...)
	}
	doc.inDocs(t)
}

// Twenty comparisons are judged together. If none of them has a real difference, at least one is
// called better or worse in at most 6.5 % of the runs. If one of them has a real difference, this
// difference is found.
func TestManyComparisons(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	const comparisons = 20
	runs := simulated(t)
	runs /= 4
	p := populations()[0]
	r := rand.New(rand.NewPCG(30, 1))
	var corrected, plain, other, found int
	for range runs {
		all := make([]Comparison, comparisons)
		for i := range all {
			all[i] = pair(p, r, comparedWith, 1)
		}
		any, anyPlain := 0, 0
		for _, j := range Judge(all, Margin) {
			if j.Word == Better || j.Word == Worse {
				any = 1
			}
			if j.PValue < 1-Level {
				anyPlain = 1
			}
		}
		corrected, plain = corrected+any, plain+anyPlain
		// A real difference of 10 % in one comparison must not cause more false results in the
		// others.
		all[0] = pair(p, r, comparedWith, 1.1)
		any = 0
		for i, j := range Judge(all, Margin) {
			if i == 0 && j.Word == Better {
				found++
			}
			if i > 0 && (j.Word == Better || j.Word == Worse) {
				any = 1
			}
		}
		other += any
	}
	var doc table
	doc.add("20 comparisons", "at least one wrongly called `better`/`worse`", "the same without the correction")
	doc.add("nothing differs", rate(corrected, runs), rate(plain, runs))
	doc.add("one is 10 % better (found in "+rate(found, runs)+")", rate(other, runs), "")
	doc.inDocs(t)
	held(t, "a false verdict", corrected, runs, 0, mostFalse)
	held(t, "a false verdict next to a true one", other, runs, 0, mostFalse)
	held(t, "10 %", found, runs, leastFound, 1)
}

// If a run is long compared with its correlation time, its interval contains the true value in
// about 95 % of the cases. If the run is too short, its interval is marked as short.
func TestIntervalsWithinARun(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var doc table
	doc.add("seconds", "60 s (called short)", "300 s (called short)", "600 s (called short)", "stationary bootstrap, 60 s", "stationary bootstrap, 300 s", "naive: t over seconds, 300 s")
	runs := simulated(t)
	runs /= 2
	for k, p := range populations() {
		r := rand.New(rand.NewPCG(40, uint64(k)))
		row := []string{p.name}
		var overSeconds int
		rival := []string{}
		for _, n := range []int{60, 300, 600} {
			var hits, short, resampled int
			for range runs {
				seconds := p.run(r, n, spread, true)
				w, _ := MeanWithinRun(seconds, Level)
				hits += holds(w.Interval, 1)
				if w.RunTooShort {
					short++
				}
				if n < 600 {
					resampled += holds(stationaryBootstrap(r, seconds), 1)
				}
				if n == 300 {
					overSeconds += holds(naive(seconds), 1)
				}
			}
			row = append(row, fmt.Sprintf("%s (%s)", rate(hits, runs), rate(short, runs)))
			if n < 600 {
				rival = append(rival, rate(resampled, runs))
			} else {
				held(t, p.name+", 600 s", hits, runs, leastHeld, mostHeld)
			}
		}
		row = append(append(row, rival...), rate(overSeconds, runs))
		doc.add(row...)
	}
	doc.inDocs(t)
}

// A percentile within a run has an interval, as a mean has. To compute the interval, the percentile
// is computed several times, each time without one block of operations.
func TestPercentileWithinARun(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	const seconds, each, buckets = 120, 200, 400
	runs := simulated(t)
	runs /= 8
	r := rand.New(rand.NewPCG(50, 1))
	// Each latency is an exponentially distributed value, multiplied by a random factor that
	// changes every second.
	histograms := make([][buckets]int, seconds)
	p99 := func(from, to int) float64 {
		var all [buckets]int
		total := 0
		for s := range histograms {
			if s >= from && s < to {
				continue
			}
			for i, n := range histograms[s] {
				all[i] += n
				total += n
			}
		}
		beyond := 0
		for i := buckets - 1; ; i-- {
			if beyond += all[i]; beyond*100 >= total {
				return math.Exp(float64(i) / 50)
			}
		}
	}
	fill := func() {
		factors := populations()[1].seconds(r, seconds)
		for s := range histograms {
			histograms[s] = [buckets]int{}
			for range each {
				latency := 100 * r.ExpFloat64() * math.Exp(0.2*factors[s])
				histograms[s][min(buckets-1, max(0, int(50*math.Log(latency))))]++
			}
		}
	}
	truth := 0.0
	for range 200 {
		fill()
		truth += p99(0, 0) / 200
	}
	hits := 0
	for range runs {
		fill()
		w, _ := WithinRun(seconds, 3, Level, p99)
		hits += holds(w.Interval, truth)
	}
	t.Logf("p99 within a run of %d s: %s", seconds, rate(hits, runs))
	held(t, "p99", hits, runs, leastHeld, mostHeld)
}

// With five repeats, a warm-up that continues into the window is detected, and a store's bursts are
// not mistaken for a warm-up.
func TestWarmupIsFound(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	runs := simulated(t)
	runs /= 2
	var doc table
	doc.add("seconds", "steady: 5 repeats", "steady: 1 run", "slow start: 5 repeats", "slow start: 1 run")
	for k, p := range populations() {
		r := rand.New(rand.NewPCG(60, uint64(k)))
		series := func(warm float64) []float64 {
			values := p.run(r, length, spread, false)
			for i := range values {
				values[i] -= warm * math.Exp(-float64(i)/10)
			}
			return values
		}
		row := []string{p.name}
		for _, warm := range []float64{0, 0.3} {
			for _, n := range []int{5, 1} {
				late := 0
				for range runs {
					repeats := make([][]float64, n)
					for i := range repeats {
						repeats[i] = series(warm)
					}
					if s, _ := SteadyFrom(repeats); s.WindowTooEarly {
						late++
					}
				}
				row = append(row, rate(late, runs))
				if n == 5 && warm == 0 {
					held(t, p.name+", no warm-up", late, runs, 0, 0.05)
				} else if n == 5 {
					held(t, p.name+", warm-up", late, runs, 0.9, 1)
				}
			}
		}
		doc.add(row...)
	}
	doc.inDocs(t)
}

// If there is no warm-up in the window, SteadyFrom rarely reports that the window opened too early.
// This is true for all lengths of the window, and even for few repeats. The exception is a single
// short run with bursts; docs/reference/statistics.md shows how often SteadyFrom reports such a
// run.
func TestSteadyRunsAreRarelyCalledLate(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	runs := simulated(t) / 2
	var doc table
	cases := []struct{ seconds, repeats int }{{20, 1}, {20, 3}, {60, 1}, {60, 2}, {60, 3}, {300, 1}, {300, 3}}
	head := []string{"steady seconds"}
	for _, c := range cases {
		head = append(head, fmt.Sprintf("%d × %d s", c.repeats, c.seconds))
	}
	doc.add(head...)
	for k, p := range populations() {
		r := rand.New(rand.NewPCG(61, uint64(k)))
		row := []string{p.name}
		for _, c := range cases {
			late := 0
			for range runs {
				repeats := make([][]float64, c.repeats)
				for i := range repeats {
					repeats[i] = p.run(r, c.seconds, spread, false)
				}
				if s, _ := SteadyFrom(repeats); s.WindowTooEarly {
					late++
				}
			}
			row = append(row, rate(late, runs))
			most := 0.02
			if c.repeats < minRepeats && strings.HasPrefix(p.name, "bursty") {
				most = 0.1
			}
			held(t, fmt.Sprintf("%s, %d × %d s", p.name, c.repeats, c.seconds), late, runs, 0, most)
		}
		doc.add(row...)
	}
	doc.inDocs(t)
}

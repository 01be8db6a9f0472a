package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// disturbance multiplies the times of each side in a round by 1 + the actual effect on that side.
type disturbance struct {
	name string
	// draw returns the claimed effects on the two sides, and the actual effects.
	draw func(r *rand.Rand) (claimed, happened [2]float64)
	// alike is set if the disturbance affects both sides equally, or if its effect is exactly as
	// large as claimed. In both cases, the intervals contain the true value about as often as
	// promised. Otherwise, they may contain it more often.
	alike bool
}

// disturbances lists the disturbances under which Judge must choose correct words. A claim is an
// upper bound: the actual effect is the whole claim or any part of it.
func disturbances() []disturbance {
	between := func(r *rand.Rand, a, b float64) float64 { return a + (b-a)*r.Float64() }
	// part returns a draw function. The function `claims` returns the claims, and the function
	// `some` returns the part of a claim that actually happens.
	part := func(claims func(r *rand.Rand) [2]float64, some func(r *rand.Rand) float64) func(r *rand.Rand) (c, h [2]float64) {
		return func(r *rand.Rand) (c, h [2]float64) {
			c = claims(r)
			for i := range c {
				h[i] = c[i] * some(r)
			}
			return c, h
		}
	}
	whole, any := func(*rand.Rand) float64 { return 1 }, (*rand.Rand).Float64
	steal := func(r *rand.Rand) (c [2]float64) { return [2]float64{between(r, 0.02, 0.1), between(r, 0.02, 0.1)} }
	weather := func(r *rand.Rand) (c [2]float64) {
		s := between(r, 0.02, 0.1)
		return [2]float64{s, s}
	}
	large := func(r *rand.Rand) (c [2]float64) { return [2]float64{between(r, 0.1, 0.5), between(r, 0.1, 0.5)} }
	burst := func(r *rand.Rand, chance float64) float64 {
		if r.Float64() < chance {
			return between(r, 0.3, 1.5)
		}
		return between(r, 0, 0.02)
	}
	bursts := func(r *rand.Rand) [2]float64 { return [2]float64{burst(r, 0.2), burst(r, 0.2)} }
	one := func(r *rand.Rand) [2]float64 { return [2]float64{between(r, 0.02, 0.1), 0} }
	burstsOfOne := func(r *rand.Rand) [2]float64 { return [2]float64{burst(r, 0.3), 0} }
	change := func(r *rand.Rand) [2]float64 {
		s := between(r, 0.02, 0.1)
		return [2]float64{1.5 * s, s}
	}
	return []disturbance{
		{"none", part(func(*rand.Rand) (none [2]float64) { return none }, whole), true},
		{"steal: all", part(steal, whole), true},
		{"steal: part", part(steal, any), true},
		{"shared: part", part(weather, any), true},
		{"large: a fifth", part(large, func(*rand.Rand) float64 { return 0.2 }), true},
		{"bursts: all", part(bursts, whole), true},
		{"bursts: part", part(bursts, any), true},
		{"one side: all", part(one, whole), true},
		{"one side: part", part(one, any), false},
		{"one side: nothing", part(one, func(*rand.Rand) float64 { return 0 }), true},
		{"one-sided bursts: part", part(burstsOfOne, any), false},
		{"uneven: all", part(change, whole), true},
		{"uneven: part", part(change, any), false},
	}
}

// disturbed returns two groups of disturbed repeats. Apart from the disturbances, the times in the
// first group are longer by the given factor.
func (d disturbance) disturbed(p population, r *rand.Rand, n int, factor float64) (a, b Repeats) {
	a, b = UndisturbedRepeats(times(p.repeats(r, n, spread), factor)), UndisturbedRepeats(p.repeats(r, n, spread))
	for i := range n {
		claimed, happened := d.draw(r)
		a.Effects, b.Effects = append(a.Effects, claimed[0]), append(b.Effects, claimed[1])
		a.Values[i], b.Values[i] = a.Values[i]*(1+happened[0]), b.Values[i]*(1+happened[1])
	}
	return a, b
}

func wordOf(a, b Repeats) Word {
	r, ok := RatioOfRounds(a, b)
	if !ok {
		return ""
	}
	return judge(Comparison{Ratio: r}).Word
}

func differs(w Word) int {
	if w == Better || w == Worse {
		return 1
	}
	return 0
}

// The interval of a ratio between disturbed repeats contains the ratio that would result without
// the disturbances. Words about such ratios are wrong no more often than allowed, and a real
// difference is found.
func TestIntervalsOfDisturbedRatiosCoverTheTruth(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	var doc, rivals table
	doc.add("disturbance", "5 repeats (median ±)", "10 rounds", "20 rounds", "equal, called `better`/`worse` (10 rounds)", "10 % worse, called `worse` (5 repeats)", "10 % worse, called `worse` (10 rounds)", "5 % worse, called `worse` (20 rounds)")
	rivals.add("disturbance, 10 rounds", "equal, called `better`/`worse`: as if undisturbed", "equal, called `better`/`worse`: without suspect rounds (no word)", "10 % worse, called `worse`: as if undisturbed", "10 % worse, called `worse`: without suspect rounds")
	runs := simulated(t)
	p := populations()[0]
	for k, d := range disturbances() {
		r := rand.New(rand.NewPCG(90, uint64(k)))
		row := []string{d.name}
		for _, n := range []int{5, 10, 20} {
			hits, widths := 0, []float64{}
			for range runs {
				ratio, _ := RatioOfRounds(d.disturbed(p, r, n, 1))
				i := ratio.Interval(Level)
				hits += holds(i, 1)
				widths = append(widths, math.Log(i.High/i.Low)/2)
			}
			sort.Float64s(widths)
			most := 1.0
			if d.alike {
				most = mostHeldDisturbed
			}
			held(t, fmt.Sprintf("%s, %d repeats", d.name, n), hits, runs, leastHeld, most)
			row = append(row, fmt.Sprintf("%s (%.1f)", rate(hits, runs), 100*widths[runs/2]))
		}
		var falsely, lost [3]int
		var found [3]int
		five := 0
		for range runs {
			for way, word := range wordsOf(d.disturbed(p, r, 10, 1)) {
				falsely[way] += differs(word)
				if word == "" {
					lost[way]++
				}
			}
			for way, word := range wordsOf(d.disturbed(p, r, 10, 1.1)) {
				if word == Worse {
					found[way]++
				}
			}
			if wordOf(d.disturbed(p, r, 5, 1.1)) == Worse {
				five++
			}
		}
		twenty := 0
		for range runs / 2 {
			if wordOf(d.disturbed(p, r, 20, 1.05)) == Worse {
				twenty++
			}
		}
		held(t, d.name+", no difference", falsely[0], runs, 0, mostFalse)
		held(t, d.name+", 10 %", found[0], runs, leastFound, 1)
		doc.add(append(row, rate(falsely[0], runs), rate(five, runs), rate(found[0], runs), rate(twenty, runs/2))...)
		rivals.add(d.name, rate(falsely[1], runs), fmt.Sprintf("%s (%s)", rate(falsely[2], runs), rate(lost[2], runs)), rate(found[1], runs), rate(found[2], runs))
	}
	doc.inDocs(t)
	rivals.inDocs(t)
}

// wordsOf returns the words that three methods choose for two groups of repeats: the method of this
// package, followed by two alternatives to it. The first alternative treats the values as if they
// were not disturbed. The second omits rounds in which a side is suspect; its word is empty if
// fewer than five rounds remain.
func wordsOf(a, b Repeats) (words [3]Word) {
	words[0], words[1] = wordOf(a, b), wordOf(UndisturbedRepeats(a.Values), UndisturbedRepeats(b.Values))
	var quietA, quietB []float64
	for i := range a.Values {
		if max(a.Effects[i], b.Effects[i]) <= 0.05 {
			quietA, quietB = append(quietA, a.Values[i]), append(quietB, b.Values[i])
		}
	}
	if len(quietA) >= 5 {
		words[2] = wordOf(UndisturbedRepeats(quietA), UndisturbedRepeats(quietB))
	}
	return words
}

// The interval for the mean of disturbed repeats contains the mean that would result without the
// disturbances. It also does so if repeats were added until the interval was narrow enough. The
// process of adding repeats always ends.
func TestIntervalsOfDisturbedMeansCoverTheTruth(t *testing.T) {
	settle.SkipUnderRace(t)
	t.Parallel()
	const target, most = 0.03, 60
	var doc table
	doc.add("disturbance", "5 repeats (median ±)", "10 repeats", "until ± 3 % (mean repeats)", "stopped: precise", "stopped: more repeats would not help", "neither after 60 repeats")
	runs := simulated(t) / 2
	p := populations()[0]
	for k, d := range disturbances()[:7] {
		r := rand.New(rand.NewPCG(91, uint64(k)))
		row := []string{d.name}
		for _, n := range []int{5, 10} {
			hits, widths := 0, []float64{}
			for range runs {
				a, _ := d.disturbed(p, r, n, 1)
				i, _ := OverRepeats(a, Level)
				hits += holds(i, 1)
				widths = append(widths, (i.High-i.Low)/2)
			}
			sort.Float64s(widths)
			held(t, fmt.Sprintf("%s, %d repeats", d.name, n), hits, runs, leastHeld, 1)
			row = append(row, fmt.Sprintf("%s (%.1f)", rate(hits, runs), 100*widths[runs/2]))
		}
		hits, repeats, ended := 0, 0, map[Precision]int{}
		for range runs {
			var a Repeats
			for {
				more, _ := d.disturbed(p, r, max(1, MinUntilPrecise-len(a.Values)), 1)
				a.Values, a.Effects = append(a.Values, more.Values...), append(a.Effects, more.Effects...)
				i, _ := UntilPrecise(a)
				if reached := PrecisionOf(i, len(a.Values), target); reached != Imprecise || len(a.Values) == most {
					ended[reached]++
					hits += holds(i, 1)
					repeats += len(a.Values)
					break
				}
			}
		}
		held(t, d.name+", until", hits, runs, leastHeld, 1)
		doc.add(append(row, fmt.Sprintf("%s (%.0f)", rate(hits, runs), float64(repeats)/float64(runs)), rate(ended[Precise], runs), rate(ended[Unsettled], runs), rate(ended[Imprecise], runs))...)
	}
	doc.inDocs(t)
}

// A disturbance that makes times longer by a factor makes throughputs lower by the same factor.
func TestEffectsOnTimesAndThroughputsAreReciprocal(t *testing.T) {
	turn := func(r Repeats) Repeats {
		turned := Repeats{Values: slices.Clone(r.Values), Effects: slices.Clone(r.Effects)}
		for i := range turned.Values {
			turned.Values[i], turned.Effects[i] = 1/r.Values[i], 1/(1+r.Effects[i])-1
		}
		return turned
	}
	r := rand.New(rand.NewPCG(92, 1))
	for _, d := range disturbances() {
		for n := 2; n < 15; n++ {
			a, b := d.disturbed(populations()[0], r, n, 1.03)
			for what, ratioOf := range map[string]func(a, b Repeats) (Ratio, bool){"groups": RatioOf, "rounds": RatioOfRounds} {
				time, ok := ratioOf(a, b)
				i := time.Interval(Level)
				throughput, _ := ratioOf(turn(a), turn(b))
				sameInterval(t, d.name+", "+what, throughput.Interval(Level), 1/i.Value, 1/i.High, 1/i.Low)
				swapped, _ := ratioOf(b, a)
				sameInterval(t, d.name+", "+what+" swapped", swapped.Interval(Level), 1/i.Value, 1/i.High, 1/i.Low)
				if !ok || !near(time.P(), throughput.P()) || i.Low > i.High {
					t.Errorf("%s, %s of %d: the interval of the times is %+v, p of the times is %g and p of the throughputs is %g", d.name, what, n, i, time.P(), throughput.P())
				}
				for _, level := range []float64{0.8, 0.95, 0.999} {
					i := time.Interval(level)
					if leaves := i.Low > 1 || i.High < 1; leaves != (time.P() < 1-level) {
						t.Errorf("%s, %s of %d: p is %g, but the interval at the level %g is %+v", d.name, what, n, time.P(), level, i)
					}
				}
			}
		}
	}
}

// A claim extends an interval only in the direction of the disturbance. If the claims on both sides
// are equal, they do not extend the interval of the ratio. If all claims in a group are equal, they
// do not change the weights.
func TestClaimsAreOneSided(t *testing.T) {
	values := []float64{0.99, 1.01, 1, 1.02, 0.98}
	plain, _ := OverRepeats(UndisturbedRepeats(values), Level)
	for _, effect := range []float64{0.1, -0.1} {
		claimed := Repeats{Values: values, Effects: slices.Repeat([]float64{effect}, len(values))}
		i, _ := OverRepeats(claimed, Level)
		low, high := plain.Low, plain.High
		if moved := plain.Value/(1+effect) - plain.Value; effect > 0 {
			low += moved
		} else {
			high += moved
		}
		sameInterval(t, fmt.Sprint("all may be off by ", effect), i, plain.Value, low, high)
		if remains := math.Abs(plain.Value/(1+effect) - plain.Value); plain.DisturbedPart != 0 || math.Abs(i.DisturbedPart-remains) > 1e-4 {
			t.Errorf("the part that more repeats cannot remove is %g of %+v, want %g", i.DisturbedPart, i, remains)
		}
		both, _ := RatioOf(claimed, claimed)
		none, _ := RatioOf(UndisturbedRepeats(values), UndisturbedRepeats(values))
		j := none.Interval(Level)
		sameInterval(t, fmt.Sprint("both sides may be off by ", effect), both.Interval(Level), j.Value, j.Low, j.High)
		one, _ := RatioOf(claimed, UndisturbedRepeats(values))
		low, high = min(1/(1+effect), 1)*j.Low, max(1/(1+effect), 1)*j.High
		sameInterval(t, fmt.Sprint("one side may be off by ", effect), one.Interval(Level), j.Value, low, high)
		if j := judge(Comparison{Ratio: one}); j.Word != Unclear || j.MoreRepeats != MaxMoreRepeats {
			t.Errorf("one side may be off by %g: the judgement is %+v", effect, j)
		}
	}
	for _, bad := range []Repeats{{Values: values, Effects: []float64{0.1}}, {Values: values, Effects: append(slices.Repeat([]float64{0}, 4), math.NaN())}} {
		if _, ok := OverRepeats(bad, Level); ok {
			t.Errorf("%v has an interval", bad)
		}
	}
	nothing := Repeats{Values: values, Effects: slices.Repeat([]float64{-1}, len(values))}
	if i, ok := OverRepeats(nothing, Level); !ok || i.High < 10 {
		t.Errorf("the interval over repeats with unlimited disturbances is %+v", i)
	}
}

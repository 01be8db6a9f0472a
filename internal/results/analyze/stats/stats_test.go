package stats

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// near reports whether two numbers are equal within a relative tolerance for rounding errors.
func near(a, b float64) bool {
	return a == b || math.Abs(a-b) <= 1e-9*max(math.Abs(a), math.Abs(b), 1e-3)
}

func sameInterval(t *testing.T, what string, got Interval, value, low, high float64) {
	t.Helper()
	if !near(got.Value, value) || !near(got.Low, low) || !near(got.High, high) {
		t.Errorf("%s: %+v, not %g in %g to %g", what, got, value, low, high)
	}
}

// samples generates many groups of positive values, some of them skewed, and passes each group to
// f.
func samples(f func(r *rand.Rand, values []float64)) {
	r := rand.New(rand.NewPCG(1, 1))
	for n := 2; n < 30; n++ {
		for range 20 {
			values := make([]float64, n)
			for i := range values {
				values[i] = math.Exp(r.NormFloat64() * 0.3)
			}
			f(r, values)
		}
	}
}

func TestStudentsQuantile(t *testing.T) {
	for freedom, want := range map[float64]float64{1: 12.706205, 2: 4.302653, 4: 2.776445, 9: 2.262157, 30: 2.042272, 1000: 1.962339} {
		if got := student(0.95, freedom); math.Abs(got-want) > 1e-6 {
			t.Errorf("with %g degrees of freedom: %.7f, not %.7f", freedom, got, want)
		}
	}
	for _, freedom := range []float64{0.8, 1, 1.7, 3, 5.5, 12, 80, 1e4} {
		for _, level := range []float64{0.5, 0.9, 0.95, 0.99, 0.9999} {
			want := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile((1 + level) / 2)
			if got := student(level, freedom); math.Abs(got/want-1) > 1e-6 {
				t.Errorf("level %g with %g degrees of freedom: %g, not %g", level, freedom, got, want)
			}
		}
	}
}

// If the values are scaled, shifted, negated or reordered, the interval changes accordingly.
func TestIntervalScalesWithItsValues(t *testing.T) {
	samples(func(r *rand.Rand, values []float64) {
		i, ok := OverRepeats(UndisturbedRepeats(values), Level)
		if !ok || i.Low > i.Value || i.Value > i.High || !near(i.Value, stat.Mean(values, nil)) {
			t.Fatalf("%v: %+v", values, i)
		}
		moved := slices.Clone(values)
		for k := range moved {
			moved[k] = 7 - 3*moved[k]
		}
		r.Shuffle(len(moved), func(a, b int) { moved[a], moved[b] = moved[b], moved[a] })
		m, _ := OverRepeats(UndisturbedRepeats(moved), Level)
		sameInterval(t, "7 - 3x", m, 7-3*i.Value, 7-3*i.High, 7-3*i.Low)
		wider, _ := OverRepeats(UndisturbedRepeats(values), 0.99)
		if wider.Low >= i.Low || wider.High <= i.High {
			t.Errorf("the interval at 99 %% is %+v, want it wider than %+v", wider, i)
		}
	})
}

func TestIntervalOfKnownValues(t *testing.T) {
	// The mean is 3, the standard deviation is √2.5, and t is 2.776445.
	i, _ := OverRepeats(UndisturbedRepeats([]float64{1, 2, 3, 4, 5}), Level)
	if math.Abs(i.Low-1.036757) > 1e-6 || math.Abs(i.High-4.963243) > 1e-6 {
		t.Errorf("the interval over 1 to 5 is %+v", i)
	}
	if !near(i.HalfWidth(), (i.High-3)/3) {
		t.Errorf("the half-width is %g, but the interval is %+v", i.HalfWidth(), i)
	}
	even := make([]float64, 11)
	for k := range even {
		even[k] = float64(k)
	}
	// Without skewness, the interval over ten or more values is also Student's interval.
	i, _ = OverRepeats(UndisturbedRepeats(even), Level)
	half := student(Level, 10) * math.Sqrt(11) / math.Sqrt(11)
	sameInterval(t, "0 to 10", i, 5, 5-half, 5+half)
	even[10] = 40
	i, _ = OverRepeats(UndisturbedRepeats(even), Level)
	if i.High-i.Value <= i.Value-i.Low {
		t.Errorf("with one value far above the others, the interval %+v is not wider above its value than below", i)
	}
	i, ok := OverRepeats(UndisturbedRepeats([]float64{4, 4, 4}), Level)
	if !ok || i.Low != 4 || i.High != 4 || i.HalfWidth() != 0 {
		t.Errorf("the interval over equal repeats is %+v", i)
	}
	for _, bad := range [][]float64{nil, {1}, {1, math.NaN()}, {1, math.Inf(1), 2}} {
		if i, ok := OverRepeats(UndisturbedRepeats(bad), Level); ok {
			t.Errorf("%v has the interval %+v", bad, i)
		}
	}
}

// Swapping the sides inverts the ratio. The unit does not matter.
func TestRatioIsSymmetric(t *testing.T) {
	var before []float64
	samples(func(r *rand.Rand, values []float64) {
		if before == nil {
			before = values
			return
		}
		a, b := times(values, math.Exp(0.1*r.NormFloat64())), before
		before = values
		ab, ok := quietRatio(a, b)
		if !ok {
			t.Fatalf("the samples %v and %v have no ratio", a, b)
		}
		ba, _ := quietRatio(b, a)
		i, j := ab.Interval(Level), ba.Interval(Level)
		sameInterval(t, "swapped", j, 1/i.Value, 1/i.High, 1/i.Low)
		if !near(ab.Value*ba.Value, 1) || !near(ab.P(), ba.P()) {
			t.Errorf("the ratios are %g and, with swapped sides, %g, with p of %g and %g", ab.Value, ba.Value, ab.P(), ba.P())
		}
		scaled, _ := quietRatio(times(a, 1e9), times(b, 1e9))
		sameInterval(t, "in another unit", scaled.Interval(Level), i.Value, i.Low, i.High)
		doubled, _ := quietRatio(times(a, 2), b)
		sameInterval(t, "doubled", doubled.Interval(Level), 2*i.Value, 2*i.Low, 2*i.High)
		for _, level := range []float64{0.8, 0.95, 0.999} {
			i := ab.Interval(level)
			if leaves := i.Low > 1 || i.High < 1; leaves != (ab.P() < 1-level) {
				t.Errorf("p is %g, but the interval at the level %g is %+v", ab.P(), level, i)
			}
		}
		self, _ := quietRatio(a, a)
		if self.Value != 1 || self.P() != 1 {
			t.Errorf("the ratio of a group to itself is %g with p of %g", self.Value, self.P())
		}
	})
}

func quietRounds(a, b []float64) (Ratio, bool) {
	return RatioOfRounds(UndisturbedRepeats(a), UndisturbedRepeats(b))
}

func exp(values ...float64) []float64 {
	for i := range values {
		values[i] = math.Exp(values[i])
	}
	return values
}

// Student's own example of paired data (Biometrika 6, 1908): the additional hours of sleep of ten
// patients with two drugs. t is 4.06 with 9 degrees of freedom, and p is 0.0028.
func TestStudentsPairs(t *testing.T) {
	a := exp(1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4)
	b := exp(0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0)
	r, ok := quietRounds(a, b)
	se, freedom := r.log.error()
	i := r.Interval(Level)
	if got := math.Log(r.Value) / se; !ok || !r.Paired() || math.Abs(got-4.0621) > 0.0001 || freedom != 9 || math.Abs(r.P()-0.00283) > 0.00001 {
		t.Errorf("t %.4f, %.2f degrees of freedom, p %.5f", got, freedom, r.P())
	}
	if math.Abs(math.Log(i.Low)-0.7001) > 0.0001 || math.Abs(math.Log(i.High)-2.4599) > 0.0001 {
		t.Errorf("%+v", i)
	}
	for _, n := range []int{2, 9} {
		few, _ := quietRounds(a[:n], b[:n])
		if plain, _ := quietRatio(a[:n], b[:n]); !reflect.DeepEqual(few, plain) {
			t.Errorf("%d rounds: the ratio is %+v, want %+v", n, few, plain)
		}
	}
	uneven, _ := quietRounds(a, b[1:])
	if plain, _ := quietRatio(a, b[1:]); !reflect.DeepEqual(uneven, plain) {
		t.Errorf("sides with different numbers of rounds: the ratio is %+v, want %+v", uneven, plain)
	}
	if _, ok := quietRounds(a, make([]float64, len(a))); ok {
		t.Error("quietRounds returns a ratio to zero")
	}
}

// A textbook example of Welch's t-test: t is -2.46 with 25 degrees of freedom, and p is 0.021.
func TestWelchsExample(t *testing.T) {
	r, _ := quietRatio(exp(27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4),
		exp(27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 20.5, 24.4))
	se, freedom := r.log.error()
	if got := math.Log(r.Value) / se; math.Abs(got+2.46) > 0.005 || math.Abs(freedom-25) > 0.05 || math.Abs(r.P()-0.021) > 0.0005 {
		t.Errorf("t %.3f, %.2f degrees of freedom, p %.4f", got, freedom, r.P())
	}
}

func TestRatioOfOddGroups(t *testing.T) {
	good := []float64{1, 2, 3}
	for _, bad := range [][]float64{nil, {1}, {0, 1}, {-1, 1}, {1, math.NaN()}, {1, math.Inf(1)}} {
		_, a := quietRatio(good, bad)
		_, b := quietRatio(bad, good)
		if a || b {
			t.Errorf("%v has a ratio", bad)
		}
	}
	exact, _ := quietRatio([]float64{2, 2, 2}, []float64{1, 1})
	if j := judge(Comparison{exact, true}); exact.P() != 0 || j.Word != Better || j.MoreRepeats != 0 {
		t.Errorf("a ratio of 2 without variance is judged as %+v", j)
	}
	equal, _ := quietRatio([]float64{2, 2}, []float64{2, 2})
	if j := judge(Comparison{equal, true}); equal.P() != 1 || j.Word != Same {
		t.Errorf("equal values without variance are judged as %+v", j)
	}
	half, _ := quietRatio([]float64{2, 2, 2}, []float64{1, 1.01})
	if j := judge(Comparison{half, false}); j.Word != Worse || math.IsNaN(j.Interval.Low) {
		t.Errorf("with variance on one side only, the judgement is %+v", j)
	}
}

// Holm's example: the adjusted values of 0.01, 0.04, 0.03 and 0.005 are 0.03, 0.06, 0.06 and 0.02.
func TestHolmsExample(t *testing.T) {
	adjusted, levels := holm([]float64{0.01, 0.04, 0.03, 0.005})
	for i, want := range []float64{0.03, 0.06, 0.06, 0.02} {
		if !near(adjusted[i], want) {
			t.Errorf("adjusted: %v", adjusted)
		}
	}
	// In ascending order, the third p-value is the first one that is not rejected. At this step,
	// two comparisons are left.
	for i, want := range []float64{1 - 0.05/3, 1 - 0.05/2, 1 - 0.05/2, 1 - 0.05/4} {
		if !near(levels[i], want) {
			t.Errorf("levels: %v", levels)
		}
	}
	if a, _ := holm(nil); len(a) != 0 {
		t.Errorf("holm(nil) returns %v", a)
	}
}

// The word that Judge chooses for a comparison agrees with the comparison's interval. Swapping the
// sides, or reversing the direction in which the metric improves, turns Better into Worse and Worse
// into Better. Additional comparisons never turn Unclear into another word.
func TestWordsAgree(t *testing.T) {
	turned := map[Word]Word{Better: Worse, Worse: Better, Same: Same, Unclear: Unclear}
	r := rand.New(rand.NewPCG(2, 2))
	seen := map[Word]int{}
	for range 300 {
		n := 2 + r.IntN(20)
		all, swapped := make([]Comparison, 1+r.IntN(6)), []Comparison{}
		for i := range all {
			a := times(populations()[0].repeats(r, n, 0.02), 1+0.03*r.NormFloat64())
			b := populations()[0].repeats(r, n, 0.02)
			ratioOf := quietRatio
			if r.IntN(2) == 0 {
				ratioOf = quietRounds
			}
			ratio, _ := ratioOf(a, b)
			inverse, _ := ratioOf(b, a)
			all[i] = Comparison{ratio, r.IntN(2) == 0}
			swapped = append(swapped, Comparison{inverse, all[i].MoreIsBetter})
		}
		judged, other := Judge(all, Margin), Judge(swapped, Margin)
		for i, j := range judged {
			seen[j.Word]++
			if other[i].Word != turned[j.Word] || other[i].MoreRepeats != j.MoreRepeats {
				t.Errorf("%+v, and swapped %+v", j, other[i])
			}
			c := j.Corrected
			inside := c.Low >= 1/(1+Margin) && c.High <= 1+Margin
			leaves := c.Low > 1 || c.High < 1
			if inside != (j.Word == Same) || (leaves && !inside) != (j.Word == Better || j.Word == Worse) || leaves != (j.AdjustedPValue < 1-Level) {
				t.Errorf("%+v", j)
			}
			if (j.Word == Unclear) != (j.MoreRepeats > 0) || j.MoreRepeats > MaxMoreRepeats || j.AdjustedPValue < j.PValue || c.Low > j.Interval.Low {
				t.Errorf("%+v", j)
			}
			if alone := judge(all[i]); j.Word != Unclear && j.Word != alone.Word && alone.Word != Same {
				t.Errorf("the judgement alone is %+v, and among other comparisons %+v", alone, j)
			}
		}
	}
	for _, w := range []Word{Better, Worse, Same, Unclear} {
		if seen[w] < 20 {
			t.Errorf("the word %s occurred only %d times in the single comparisons, want at least 20", w, seen[w])
		}
	}
}

// The noisier the repeats, the more of them are needed.
func TestMoreRepeats(t *testing.T) {
	base := []float64{0.99, 1.01, 1, 1.02, 0.98}
	before := 0
	for _, noise := range []float64{2, 4, 8, 16} {
		louder := slices.Clone(base)
		for i := range louder {
			louder[i] = 1.01 * math.Pow(louder[i], noise)
		}
		ratio, _ := quietRatio(louder, base)
		j := judge(Comparison{ratio, true})
		if j.Word != Unclear || j.MoreRepeats <= before {
			t.Errorf("with %g times the noise, the judgement is %+v, want unclear with more than %d repeats", noise, j, before)
		}
		before = j.MoreRepeats
	}
}

// For a mean and blocks of equal size, the jackknife gives the same result as the method of batch
// means.
func TestJackknifeOfMeansIsBatchMeans(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 3))
	seconds := populations()[1].run(r, 80, 0.02, true)
	for correlation, blocks := range map[float64]int{1: 8, 5: 8, 8: 5, 10: 4} {
		w, ok := WithinRun(80, correlation, Level, meanWithout(seconds))
		if !ok || w.Blocks != blocks || w.RunTooShort {
			t.Fatalf("80 s with a correlation time of %g s: %+v", correlation, w)
		}
		means := make([]float64, blocks)
		for i := range means {
			means[i] = stat.Mean(seconds[i*80/blocks:(i+1)*80/blocks], nil)
		}
		i, _ := OverRepeats(UndisturbedRepeats(means), Level)
		sameInterval(t, "batch means", w.Interval, i.Value, i.Low, i.High)
	}
	if w, ok := MeanWithinRun(make([]float64, 60), Level); !ok || w.Low != 0 || w.High != 0 || w.RunTooShort {
		t.Errorf("the interval of a run that does not vary is %+v", w)
	}
	if w, ok := MeanWithinRun(make([]float64, 9), Level); ok {
		t.Errorf("nine seconds have an interval: %+v", w)
	}
	w, _ := WithinRun(60, 12, Level, func(from, _ int) float64 { return float64(from) })
	if w.Blocks != 3 || !w.RunTooShort {
		t.Errorf("60 s with a correlation time of 12 s: %+v", w)
	}
}

func TestCorrelationTime(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 4))
	for rho, want := range map[float64]float64{0: 1, 0.5: 3, 0.9: 19} {
		series := autoregressive("", rho).seconds(r, 20000)
		got := CorrelationTime(series)
		if got < 0.95*want || got > 1.15*want {
			t.Errorf("ρ %g: %.2f, not %g", rho, got, want)
		}
		if !near(EffectiveSize(series), 20000/got) {
			t.Errorf("ρ %g: effective size %g", rho, EffectiveSize(series))
		}
		for i := range series {
			series[i] = 5 - 2*series[i]
		}
		if moved := CorrelationTime(series); math.Abs(moved/got-1) > 1e-6 {
			t.Errorf("ρ %g: 5 - 2x has %g, x has %g", rho, moved, got)
		}
	}
	alternating := make([]float64, 100)
	for i := range alternating {
		alternating[i] = float64(i % 2)
	}
	for what, series := range map[string][]float64{"nothing": nil, "one second": {1}, "equal seconds": make([]float64, 50), "alternating seconds": alternating} {
		if got := CorrelationTime(series); got != 1 {
			t.Errorf("the correlation time of %s is %g, want 1", what, got)
		}
	}
	if a, b := blockLength(autoregressive("", 0).seconds(r, 500)), blockLength(autoregressive("", 0.9).seconds(r, 500)); a > 5 || b < 10 {
		t.Errorf("the blocks are %.1f long for independent seconds and %.1f for ρ 0.9", a, b)
	}
}

func TestSteadyFromAStep(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 5))
	repeats := make([][]float64, 5)
	for i := range repeats {
		repeats[i] = populations()[0].run(r, 60+i, 0.005, false)
		for k := range 15 {
			repeats[i][k] -= 0.2
		}
	}
	s, ok := SteadyFrom(repeats)
	if !ok || s.FirstSecond != 15 || !s.WindowTooEarly || s.TooFewRepeats || math.Abs(s.Shift+0.05) > 0.01 {
		t.Errorf("15 s at 80 %%: %+v", s)
	}
	if s, _ = SteadyFrom(repeats[:1]); s.FirstSecond != 15 || !s.WindowTooEarly || !s.TooFewRepeats {
		t.Errorf("the steady part of one repeat is %+v", s)
	}
	level := slices.Repeat([]float64{3}, 60)
	if s, ok = SteadyFrom([][]float64{level, level, level}); !ok || s.FirstSecond != 0 || s.WindowTooEarly || s.Shift != 0 {
		t.Errorf("the steady part of repeats with equal seconds is %+v", s)
	}
	broken := slices.Clone(level)
	broken[7] = math.NaN()
	for _, bad := range [][][]float64{nil, {level[:19]}, {level, nil}, {level, broken}} {
		if s, ok := SteadyFrom(bad); ok {
			t.Errorf("%v: %+v", bad, s)
		}
	}
}

func TestPreciseAsksForRepeats(t *testing.T) {
	equal, wide := UndisturbedRepeats(slices.Repeat([]float64{5}, MinUntilPrecise)), UndisturbedRepeats(append(slices.Repeat([]float64{5}, 9), 6))
	if precise(0.02, UndisturbedRepeats(equal.Values[1:])) || !precise(0.02, equal) || precise(0.02, equal, Repeats{}) {
		t.Error("precise must be false below MinUntilPrecise equal repeats, and true from that number on")
	}
	if precise(0.02, wide) || precise(0.02, equal, wide) || !precise(0.2, equal, wide) {
		t.Error("precise must be false if one figure is too wide, and true if all are narrow enough")
	}
	i, _ := UntilPrecise(wide)
	plain, _ := OverRepeats(wide, Level)
	if i.Level != Level || i.Low >= plain.Low || i.High <= plain.High {
		t.Errorf("%+v is not wider than %+v", i, plain)
	}
}

// A ratio must be as precise as a figure. Its relative width does not depend on the order of the
// sides.
func TestPreciseRatioAsksForRepeats(t *testing.T) {
	equal, wide := UndisturbedRepeats(slices.Repeat([]float64{5}, MinUntilPrecise)), UndisturbedRepeats(append(slices.Repeat([]float64{5}, 9), 6))
	if preciseRatio(0.02, UndisturbedRepeats(equal.Values[1:]), equal) || !preciseRatio(0.02, equal, equal) || preciseRatio(0.02, equal, wide) || !preciseRatio(0.2, wide, equal) || preciseRatio(0.02, equal, Repeats{}) {
		t.Error("preciseRatio must be true for equal repeats, and false for few or wide repeats")
	}
	r, _ := RatioOf(equal, wide)
	i, _ := UntilPreciseRatio(equal, wide)
	if plain := r.Interval(Level); i.Level != Level || i.Low >= plain.Low || i.High <= plain.High {
		t.Errorf("%+v is not wider than %+v", i, plain)
	}
}

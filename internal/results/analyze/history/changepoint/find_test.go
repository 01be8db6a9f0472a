package changepoint

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// find returns the changes that Find returns, without the number of unconfirmed points.
func find(points []Point) []Change {
	changes, _ := Find(points)
	return changes
}

// Find has a higher F1 score than two simple methods on series with known changes, and a low rate
// of false alarms. The log contains the figures that docs/reference/statistics.md quotes.
func TestFindBeatsSimplerMethods(t *testing.T) {
	settle.SkipUnderRace(t)
	runs := 60
	if n, err := strconv.Atoi(os.Getenv("QUORUMBENCH_STATS_RUNS")); err == nil {
		runs = n
	}
	atLeast := map[string]float64{
		"steps of 2 to 10 %, noise 1 %": 0.97, "steps of 2 to 10 %, noise 2 %": 0.88, "steps and single spikes of 10 to 50 %": 0.97,
		"steps, heavy tails": 0.96, "steps and changing variance": 0.95, "steps, a third of the points imprecise": 0.98,
	}
	methods := []struct {
		name string
		find func([]Point) []int
	}{{"Find", func(p []Point) []int { return stepsOf(find(p)) }}, {"t-test of windows", windows}, {"E-divisive", divisive}}
	total := make([]score, len(methods))
	for k, f := range families() {
		line := fmt.Sprintf("%-40s", f.name)
		of := make([]score, len(methods))
		drifts, found := 0, 0
		for i := range runs {
			s := f.make(rand.New(rand.NewPCG(uint64(k), uint64(i))))
			for j := range methods {
				of[j].add(methods[j].find(s.points), s.steps)
			}
			if s.drifts {
				drifts++
				if slices.ContainsFunc(find(s.points), func(c Change) bool { return c.Kind == Drift }) {
					found++
				}
			}
		}
		for j := range methods {
			line += fmt.Sprintf("  %.3f (false %3d)", of[j].f1(), of[j].found-of[j].hits)
			total[j].merge(of[j])
		}
		t.Log(line)
		if of[0].f1() < atLeast[f.name] {
			t.Errorf("%s: the F1 is %.3f", f.name, of[0].f1())
		}
		if drifts > 0 && float64(found) < 0.9*float64(drifts) {
			t.Errorf("%d of %d drifts were found", found, drifts)
		}
	}
	line := fmt.Sprintf("%-40s", "all")
	for j := range methods {
		line += fmt.Sprintf("  %s %.3f (precision %.3f, recall %.3f)", methods[j].name, total[j].f1(), total[j].precision(), total[j].recall())
		if j > 0 && total[j].f1() > total[0].f1()-0.1 {
			t.Errorf("%s has an F1 of %.3f, and Find has %.3f, want a lead of at least 0.1", methods[j].name, total[j].f1(), total[0].f1())
		}
	}
	t.Log(line)
}

// If points are appended to a series, the changes found so far stay the same, except that a drift
// may be extended.
func TestChangesAreFinal(t *testing.T) {
	settle.SkipUnderRace(t)
	for k, f := range families() {
		for i := range 2 {
			s := f.make(rand.New(rand.NewPCG(uint64(k)+1000, uint64(i))))
			checkFinal(t, s.points[:160])
		}
	}
}

// checkFinal compares the changes that Find returns for all prefixes of the points.
func checkFinal(t *testing.T, points []Point) {
	t.Helper()
	var before []Change
	for n := range len(points) + 1 {
		now := find(points[:n])
		if len(now) < len(before) {
			t.Fatalf("with point %d, the number of changes decreased from %+v to %+v", n-1, before, now)
		}
		for i, b := range before {
			if b.Kind == Drift && now[i].LastDriftIndex >= b.LastDriftIndex {
				b.LastDriftIndex = now[i].LastDriftIndex
			}
			if b != now[i] {
				t.Fatalf("point %d altered the change %+v to %+v", n-1, before[i], now[i])
			}
		}
		for i := len(before); i < len(now); i++ {
			if now[i].ConfirmedBy != n-1 {
				t.Fatalf("point %d confirmed the change %+v", n-1, now[i])
			}
		}
		before = now
	}
}

// One or two outliers, of any size and at any position, are no change.
func TestOneOrTwoOutliersAreNoChange(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for range 1500 {
		n := 2 + r.IntN(60)
		v := make([]float64, n)
		for i := range v {
			v[i] = 0.01 * r.NormFloat64()
		}
		if len(find(plain(v))) > 0 {
			continue // a false alarm even without the outliers
		}
		size := math.Pow(10, 3*r.Float64()-2)
		at := r.IntN(n)
		v[at] += size
		if second := at + 1 + r.IntN(3); second < n && r.IntN(2) == 0 {
			v[second] += size * (0.5 + r.Float64())
		}
		if changes := find(plain(v)); len(changes) > 0 {
			t.Fatalf("the points %v have the changes %+v, want none", v, changes)
		}
	}
}

// Fewer than MinPoints points have no change, whatever their values are.
func TestFewSamplesHaveNoChange(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		v := make([]float64, r.IntN(MinPoints))
		for i := range v {
			v[i] = 100 * r.NormFloat64()
		}
		if changes := find(plain(v)); len(changes) > 0 {
			t.Fatalf("%v has the changes %+v", v, changes)
		}
	}
}

// A single step is one change, even if it extends over two or three points. In most cases, its
// position is in the range that the change reports.
func TestOneStepIsOneChange(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(5, 6))
	inside, all := 0, 0
	for range 400 {
		n, at := 120, 20+r.IntN(70)
		v := make([]float64, n)
		size, length := 0.02+0.2*r.Float64(), 1+r.IntN(3)
		for i := range v {
			v[i] = size*min(max(float64(i-at+1)/float64(length), 0), 1) + 0.01*r.NormFloat64()
		}
		changes := find(plain(v))
		for i := 1; i < len(changes); i++ {
			if changes[i].Index-changes[i-1].Index < 2*minBefore {
				t.Errorf("for a step of %.2f at %d, Find returns changes that are too close: %+v", size, at, changes)
			}
		}
		if len(changes) == 1 && changes[0].Kind == Step && length == 1 {
			all++
			if changes[0].Low <= at && at <= changes[0].High {
				inside++
			}
		}
	}
	if all < 100 || float64(inside) < 0.9*float64(all) {
		t.Errorf("the ranges of only %d of %d steps contain the true place", inside, all)
	}
}

// The interval of a change's size contains the true size in about 95 of 100 cases.
func TestIntervalsOfSizesHold(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(7, 8))
	inside, all := 0, 0
	for range 500 {
		v := make([]float64, 100)
		for i := range v {
			v[i] = 0.01 * r.NormFloat64()
			if i >= 50 {
				v[i] += 0.05
			}
		}
		points := plain(v)
		changes := find(points)
		if len(changes) != 1 {
			continue
		}
		all++
		if s := Sizes(points, changes)[0]; s.Low <= 0.05 && 0.05 <= s.High {
			inside++
		}
	}
	if all < 450 || float64(inside) < 0.92*float64(all) || float64(inside) > 0.99*float64(all) {
		t.Errorf("the intervals of only %d of %d changes contain the true size", inside, all)
	}
}

// Normal noise without a change causes few false alarms: at most one in 100 series of 200 points.
func TestFalseAlarmsAreRare(t *testing.T) {
	settle.SkipUnderRace(t)
	alarms := 0
	const series = 200
	for i := range series {
		r := rand.New(rand.NewPCG(9, uint64(i)))
		v := make([]float64, 200)
		for i := range v {
			v[i] = 0.03 * r.NormFloat64()
		}
		alarms += len(find(plain(v)))
	}
	if alarms > series/100 {
		t.Errorf("%d false alarms in %d series", alarms, series)
	}
}

// Find confirms a change later if the points are doubtful. Imprecise points at another level are no
// change.
func TestDoubtfulPointsCountLess(t *testing.T) {
	make20 := func(doubt, err float64) []Point {
		r := rand.New(rand.NewPCG(10, 11))
		points := make([]Point, 40)
		for i := range points {
			points[i].Value = 0.01 * r.NormFloat64()
			if i >= 30 {
				points[i].Value += 0.1
				points[i].PossibleEffect, points[i].Error = doubt, err
			}
		}
		return points
	}
	good := find(make20(0, 0))
	if len(good) != 1 || good[0].Index != 30 || good[0].ConfirmedBy != 32 {
		t.Fatalf("good points have the changes %+v", good)
	}
	if some := find(make20(0.03, 0)); len(some) != 1 || some[0].ConfirmedBy <= good[0].ConfirmedBy {
		t.Errorf("doubtful points have the changes %+v", some)
	}
	if none := find(make20(0.2, 0)); len(none) != 0 {
		t.Errorf("points that a disturbance may have moved by more than the step have the changes %+v", none)
	}
	if none := find(make20(0, 0.2)); len(none) != 0 {
		t.Errorf("imprecise points have the changes %+v", none)
	}
}

// The result of Find does not depend on the unit or the direction of a series.
func TestFindIgnoresUnitAndDirection(t *testing.T) {
	s := families()[0].make(rand.New(rand.NewPCG(12, 13)))
	moved, turned := slices.Clone(s.points), slices.Clone(s.points)
	for i := range s.points {
		moved[i].Value += 20
		turned[i].Value *= -1
	}
	a, b, c := find(s.points), find(moved), find(turned)
	if len(a) == 0 || len(a) != len(b) {
		t.Fatalf("the changes are %+v, but with shifted points they are %+v", a, b)
	}
	for i := range a {
		if a[i].Index != b[i].Index || a[i].ConfirmedBy != b[i].ConfirmedBy {
			t.Errorf("the change is %+v, but with shifted points it is %+v", a[i], b[i])
		}
		c[i].Rises = !c[i].Rises
	}
	if !reflect.DeepEqual(a, c) {
		t.Errorf("the changes are %+v, but with the opposite sign they are %+v", a, c)
	}
}

// The points at the end of a series that are far from its level count as unconfirmed until they
// confirm a change.
func TestUnconfirmedPointsAreCounted(t *testing.T) {
	v := []float64{0, 0.01, -0.01, 0.005, 0, 0.012, -0.006, 0.2, 0.21, 0.2}
	for n, want := range map[int]int{7: 0, 8: 1, 9: 2, 10: 0} {
		changes, off := Find(plain(v[:n]))
		if off != want || len(changes) != n/10 {
			t.Errorf("%d points have the changes %+v and %d unconfirmed points", n, changes, off)
		}
	}
}

// Find processes 10,000 points in less than a second, even if they have outliers or a drift, or are
// all equal.
func TestLongSeriesAreFast(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(14, 15))
	for name, value := range map[string]func(i int) float64{
		"noise":     func(int) float64 { return r.NormFloat64() },
		"constant":  func(int) float64 { return 1 },
		"drift":     func(i int) float64 { return float64(i)/1000 + r.NormFloat64() },
		"steps":     func(i int) float64 { return float64(i/37%2) + 0.1*r.NormFloat64() },
		"walk":      func(i int) float64 { return 3*math.Sin(float64(i)/40) + 0.3*r.NormFloat64() },
		"outliers":  func(int) float64 { return math.Tan(3 * r.Float64()) },
		"two level": func(int) float64 { return float64(r.IntN(2)) },
	} {
		v := make([]float64, 10_000)
		for i := range v {
			v[i] = value(i)
		}
		points := plain(v)
		began := time.Now()
		changes := find(points)
		Sizes(points, changes)
		took := time.Since(began)
		t.Logf("%s: %v, %d changes", name, took, len(changes))
		if took > 5*time.Second { // generous, for busy machines; the benchmark measures the time
			t.Errorf("%s: Find and Sizes took %v, want at most 5s", name, took)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	r := rand.New(rand.NewPCG(16, 17))
	v, _ := steps(r, 10_000, 40, 50, 0.02, 0.1)
	for i := range v {
		v[i] += 0.01 * r.NormFloat64()
	}
	points := plain(v)
	for b.Loop() {
		find(points)
	}
}

func FuzzFind(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 90, 91, 92, 93, 94, 95}, uint8(3))
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 0, 0, 0, 0, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, values []byte, own uint8) {
		if len(values) > 120 {
			return
		}
		points := make([]Point, len(values))
		for i, v := range values {
			points[i] = Point{Value: float64(v) / 64, Error: float64(own&15) / 100, PossibleEffect: float64((int(own)>>4)*i%7) / 50}
		}
		checkFinal(t, points)
		changes := find(points)
		for i, s := range Sizes(points, changes) {
			c := changes[i]
			if math.IsNaN(s.Value+s.Low+s.High) || s.Low > s.Value || s.Value > s.High || c.Low > c.Index || c.Index > c.High || c.PValue < 0 || c.PValue > 1 || c.LastDriftIndex < c.Index || c.LastDriftIndex >= len(points) {
				t.Fatalf("the change %+v has the size %+v", c, s)
			}
		}
	})
}

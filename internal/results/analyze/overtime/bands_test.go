package overtime

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// randomRepeat returns the charts of a repeat with random values. About one in ten values is
// unknown. All repeats have the same grid, unless `apart` is set.
func randomRepeat(r *rand.Rand, repeat int, apart bool) *Charts {
	g := Grid{From: -2, Width: 1, Columns: 20, Window: 18}
	if apart {
		g.From, g.Columns, g.Width = -r.IntN(4), 10+r.IntN(10), 1+r.IntN(3)
	}
	o := &Charts{Trial: &record.Trial{Conditions: record.Conditions{Name: "put", Number: 1, Repeat: repeat, Repeats: 5}, State: record.Complete, Seconds: 18,
		Verdict: verdict.Verdict{State: verdict.Valid}}, Grid: g, bands: map[string]Line{}}
	o.Trial.PerSecond = 1000 + 100*r.Float64()
	line := func(name string) Line {
		l := g.newLine(name)
		for i := range l.Low {
			if r.IntN(10) > 0 {
				l.add(i, math.Exp(r.NormFloat64()))
				l.add(i, math.Exp(r.NormFloat64()))
			}
		}
		return l
	}
	o.addPanel(Panel{Name: "throughput", Lines: []Line{line("completed")}})
	o.addPanel(Panel{Name: "latency", Lines: []Line{line("p50"), line("p99"), line("max")}})
	if r.IntN(2) == 0 {
		o.addPanel(Panel{Name: "errors", Lines: []Line{line("failed")}})
	}
	o.meanLine = line("mean")
	o.bands["memory"] = line("memory")
	c := PercentileCurve{Name: "put", Count: 1000}
	for k := range 5 + r.IntN(20) {
		c.Points = append(c.Points, PercentilePoint{Percentile: 100 * (1 - math.Pow(0.5, float64(k)/5)), Nanoseconds: float64(k) + r.Float64(), Reliable: k < 15})
	}
	o.Curves = []PercentileCurve{c}
	return o
}

// equalLines reports whether two combined charts have the same lines. NaN equals NaN.
func equalLines(a, b *Charts) bool { return fmt.Sprint(allLines(a)) == fmt.Sprint(allLines(b)) }

func allLines(o *Charts) (out []any) {
	for _, p := range o.Panels {
		for _, l := range p.Lines {
			out = append(out, p.Name, l.Name, l.Low, l.High)
			if l.Repeats != nil {
				out = append(out, l.Repeats.Low, l.Repeats.High)
			}
		}
	}
	return append(out, o.Curves, o.meanLine.Low, o.bands["memory"].High)
}

// The band of a combined line contains the values of every included repeat, and the median is
// inside it. The order of the repeats makes no difference.
func TestBandContainsEveryRepeat(t *testing.T) {
	settle.SkipUnderRace(t)
	r := rand.New(rand.NewPCG(1, 2))
	for round := range settle.RandomCases(2000, 50) {
		repeats := make([]*Charts, 0, 5)
		for i := range 2 + r.IntN(4) {
			repeats = append(repeats, randomRepeat(r, i+1, round%2 == 1))
		}
		row := &analyze.Row{Trials: []*record.Trial{repeats[0].Trial}}
		whole, ok := CombineRepeats(row, repeats)
		if !ok || len(whole.Combined.Included) != len(repeats) {
			t.Fatalf("%d repeats were not combined", len(repeats))
		}
		for _, p := range whole.Panels {
			for i := range p.Lines {
				checkBand(t, whole, repeats, p.Name, &p.Lines[i])
			}
		}
		for k, p := range whole.Curves[0].Points {
			for _, o := range repeats {
				if ns := o.Curves[0].Points[k].Nanoseconds; ns < p.Least || ns > p.Most || p.Nanoseconds < p.Least || p.Nanoseconds > p.Most {
					t.Fatalf("percentile %g: %g is outside %g to %g", p.Percentile, ns, p.Least, p.Most)
				}
			}
		}
		shuffled := slices.Clone(repeats)
		r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
		if again, _ := CombineRepeats(row, shuffled); !equalLines(whole, again) || again.Combined.typical != whole.Combined.typical {
			t.Fatal("the order of the repeats changes the result")
		}
	}
}

// checkBand checks one combined line against the lines of the repeats.
func checkBand(t *testing.T, whole *Charts, repeats []*Charts, panel string, l *Line) {
	t.Helper()
	for column := range l.Low {
		known := 0
		for _, o := range repeats {
			single := panelLine(panel, l.Name)(o)
			if single == nil {
				single = failedLine(o)
			}
			placed := whole.Grid.newLine("")
			placed.include(&whole.Grid, single, o.Grid.rangeOf)
			if math.IsNaN(placed.Low[column]) {
				continue
			}
			known++
			if !(l.Repeats.Low[column] <= placed.Low[column] && placed.High[column] <= l.Repeats.High[column]) {
				t.Fatalf("%s %s, column %d: %g to %g is outside the band", panel, l.Name, column, placed.Low[column], placed.High[column])
			}
		}
		if median := !math.IsNaN(l.Low[column]); median != (known == len(repeats)) {
			t.Fatalf("%s %s, column %d: %d of %d repeats have a value, and the median is known: %v", panel, l.Name, column, known, len(repeats), median)
		} else if median && !(l.Repeats.Low[column] <= l.Low[column] && l.Low[column] <= l.High[column] && l.High[column] <= l.Repeats.High[column]) {
			t.Fatalf("%s %s, column %d: the median is outside the band", panel, l.Name, column)
		}
	}
}

// Suspect and invalid repeats are left out, unless no repeat is valid. The line of a single valid
// repeat has no band. A single repeat is not combined.
func TestCombineLeavesOutDoubtfulRepeats(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	repeats := []*Charts{randomRepeat(r, 1, false), randomRepeat(r, 2, false), randomRepeat(r, 3, false)}
	row := &analyze.Row{Trials: []*record.Trial{repeats[0].Trial, repeats[1].Trial, repeats[2].Trial}}
	state := func(states ...verdict.State) *Charts {
		for i, s := range states {
			repeats[i].Trial.Verdict.State = s
		}
		o, ok := CombineRepeats(row, repeats)
		if !ok {
			t.Fatal("the repeats were not combined")
		}
		return o
	}
	included := func(o *Charts) (numbers []int) {
		for _, one := range o.Combined.Included {
			numbers = append(numbers, one.Repeat)
		}
		return numbers
	}
	for _, c := range []struct {
		states []verdict.State
		want   []int
		note   string
	}{
		{[]verdict.State{verdict.Valid, verdict.Valid, verdict.Suspect}, []int{1, 2}, "Lines show the median of 2 of 3 repeats, and bands show the range from the lowest to the highest repeat. A line has a gap where a repeat has no value. Left out: repeat 3 (suspect)."},
		{[]verdict.State{verdict.Invalid, verdict.Suspect, verdict.Suspect}, []int{2, 3}, "Lines show the median of 2 of 3 repeats, and bands show the range from the lowest to the highest repeat. A line has a gap where a repeat has no value. Left out: repeat 1 (invalid). No repeat is valid."},
		{[]verdict.State{verdict.Suspect, verdict.Valid, verdict.Suspect}, []int{2}, "The line shows repeat 2. Left out: repeat 1 (suspect), repeat 3 (suspect)."},
		{[]verdict.State{verdict.Invalid, verdict.Invalid, verdict.Invalid}, []int{1, 2, 3}, "Lines show the median of 3 repeats, and bands show the range from the lowest to the highest repeat. A line has a gap where a repeat has no value. No repeat is valid."},
	} {
		o := state(c.states...)
		if got := included(o); !reflect.DeepEqual(got, c.want) || o.Combined.Note() != c.note {
			t.Errorf("%v: the repeats %v are included, with the note %s", c.states, got, o.Combined.Note())
		}
	}
	single := state(verdict.Suspect, verdict.Valid, verdict.Suspect)
	if l := &single.Panels[0].Lines[0]; l.Repeats != nil || fmt.Sprint(l.Low, l.High) != fmt.Sprint(repeats[1].Panels[0].Lines[0].Low, repeats[1].Panels[0].Lines[0].High) {
		t.Error("the line of one repeat is not the line of that repeat")
	}
	if _, ok := CombineRepeats(row, repeats[:1]); ok {
		t.Error("one repeat was combined")
	}
}

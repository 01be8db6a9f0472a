package compare

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// randomForest returns a forest plot with random ratios. One in three has no interval.
func randomForest(r *rand.Rand) *Forest {
	f := &Forest{Metric: "p99", Margin: stats.Margin}
	spread := math.Exp(r.NormFloat64() - 1)
	for range 1 + r.IntN(8) {
		row := ForestRow{Name: strings.Repeat("x", 1+r.IntN(60)), Ratio: math.Exp(spread * r.NormFloat64()), Word: stats.Unclear}
		if r.IntN(3) > 0 {
			width := math.Exp(spread * r.Float64())
			row.Interval, row.Low, row.High = true, row.Ratio/width, row.Ratio*width
			row.CorrectedLow, row.CorrectedHigh = row.Low/width, row.High*width
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

// The axis contains 1, the margin and every interval that is not extreme. Its ticks are inside, in
// ascending order, and include 1. The plot fits the screen, and every row has a dot and a word.
func TestForestShowsEveryInterval(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for range 2000 {
		f := randomForest(r)
		low, high := f.Bounds()
		if !(low <= 1/(1+f.Margin) && high >= 1+f.Margin && low >= 1/MaxRatio && high <= MaxRatio) {
			t.Fatalf("the axis is %g to %g", low, high)
		}
		for i := range f.Rows {
			row := &f.Rows[i]
			if row.Interval && row.Low >= 1/MaxRatio && row.High <= MaxRatio && (row.Low < low || row.High > high) {
				t.Fatalf("the interval %g to %g is outside the axis %g to %g", row.Low, row.High, low, high)
			}
		}
		ticks, one := Ticks(low, high), false
		for i, at := range ticks {
			one = one || at == 1
			if at < low*0.99 || at > high*1.01 || i > 0 && at <= ticks[i-1] {
				t.Fatalf("ticks %v on the axis %g to %g", ticks, low, high)
			}
		}
		if !one || len(ticks) > 2*maxRatioTicks+1 {
			t.Fatalf("ticks %v", ticks)
		}
		for i, line := range f.Chart() {
			if utf8.RuneCountInString(line) > text.ScreenWidth {
				t.Fatalf("a line has %d columns: %s", utf8.RuneCountInString(line), line)
			}
			if i > 0 && (!strings.ContainsAny(line, "●○") || !strings.HasSuffix(line, " unclear")) {
				t.Fatalf("a line lacks its dot or its word: %s", line)
			}
		}
	}
}

// The plots contain every known change once. If runs have the same name, the names of the rows
// contain the names of their folders or, if these are equal too, the paths of the folders.
func TestForestsContainEveryChange(t *testing.T) {
	change := func(share float64) Compared {
		return Compared{Title: "p99", Figure: figures.Registered("p99"), Change: analyze.Change{Share: share, Known: true, Low: share - 0.1, High: share + 0.1, Interval: true, Judgement: stats.Judgement{Word: stats.Worse}}}
	}
	unknown := Compared{Title: "ops", Figure: figures.Registered("ops")}
	base := &record.Run{Name: "base", Dir: "runs/base"}
	a := &Comparison{Run: &record.Run{Name: "run", Dir: "runs/a"}, Base: base, Pairs: []Pair{{Name: "put", Figures: []Compared{change(0.5), unknown}}, {Name: "get", Figures: []Compared{change(-0.25), unknown}}}}
	if f := Forests([]*Comparison{a}); len(f) != 1 || len(f[0].Rows) != 2 || f[0].Rows[0].Name != "put" || f[0].Rows[0].Ratio != 1.5 || f[0].Rows[0].Low != 1.4 || f[0].Rows[1].Ratio != 0.75 || f[0].Better != figures.LowerIsBetter {
		t.Errorf("%+v", f)
	}
	b := *a
	b.Run = &record.Run{Name: "run", Dir: "runs/b"}
	all := []*Comparison{a, &b}
	if f := Forests(all); len(f[0].Rows) != 4 || f[0].Rows[0].Name != "put (a)" || f[0].Rows[2].Name != "put (b)" {
		t.Errorf("%+v", f)
	}
	if got := Counts(all); got != "4 worse" {
		t.Errorf("counts %q", got)
	}
	a.Run, b.Run = &record.Run{Name: "run", Dir: "a/x"}, &record.Run{Name: "run", Dir: "b/x"}
	if f := Forests(all); f[0].Rows[0].Name != "put (a/x)" || f[0].Rows[2].Name != "put (b/x)" {
		t.Errorf("%+v", f)
	}
}

// Each baseline has its own plots. A part of a joined run has the same name as the run. The name of
// a row contains the name of the run only once.
func TestForestsSeparateBaselines(t *testing.T) {
	change := []Compared{{Title: "ops", Figure: figures.Registered("ops"), Change: analyze.Change{Share: 0.5, Known: true}}}
	first, second := &record.Run{Name: "nightly", Dir: "runs/a"}, &record.Run{Name: "nightly", Dir: "runs/b"}
	part := &record.Run{Name: "b", Dir: "runs/b"}
	f := Forests([]*Comparison{
		{Run: part, Base: part, Pairs: []Pair{{Name: "put of b", Figures: change}}},
		{Run: second, Base: first, Pairs: []Pair{{Name: "put", Figures: change}}},
	})
	if len(f) != 2 || f[0].Baseline != WithinRun || f[0].Rows[0].Name != "put of b" || f[1].Baseline != "a" || f[1].Rows[0].Name != "put (b)" {
		t.Errorf("%+v", f)
	}
}

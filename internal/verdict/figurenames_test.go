package verdict

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Each rule makes the figures that it names suspect. Other figures keep their state. The state of
// the trial is the worst state of its figures.
func TestStateOfEachFigure(t *testing.T) {
	every := append(PrintedFigures(), "p97", "response-p99", "watch-p99", "errors")
	for _, tt := range []struct {
		what    string
		set     func(*Figures)
		suspect []string // of every
	}{
		{"nothing", func(*Figures) {}, nil},
		{"a stop that moves p99 and beyond", func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.3) }, []string{"p99", "p99.9", "max", "p97", "response-p99"}},
		{"a stop that moves throughput", func(f *Figures) { f.Measured.Paused, f.Added = 3e9, added(0.2, 0, 0) }, []string{"ops"}},
		{"a stop that moves only p90", func(f *Figures) {
			f.Measured.Paused, f.Added.Sampled.Percentiles[4].NS = 3e9, 40e6
		}, []string{"p90"}},
		{"few operations", func(f *Figures) { *f = openLoop(999, 0) }, []string{"p99", "p99.9", "max", "p97", "response-p99"}},
		{"a lost event", func(f *Figures) { f.Measured.Watching.Expected, f.Measured.Watching.Lost = 1000, 1 }, []string{"watch-p99"}},
		{"a member too many", func(f *Figures) { f.Measured.Unattributed = 1 }, []string{}},
		{"a clock that was set", func(f *Figures) { f.Hosts = []measure.Host{{Name: "b", Clock: &measure.Clock{Jumps: 1}}} }, []string{}},
		{"a lost member", func(f *Figures) { f.LostMembers = []string{"m2"} }, every},
		{"an election", func(f *Figures) { f.TermChanges = 1 }, every},
		{"a file system that forgets", func(f *Figures) { f.Durability.Volatile = true }, every},
		{"other programs during a closed loop", func(f *Figures) { f.ForeignShare, f.BusyShare, f.MembersOnMachine = 0.33, 1, true },
			slices.DeleteFunc(slices.Clone(every), func(name string) bool { return name == "watch-p99" || name == "errors" })},
		{"p99 and beyond, and a lost event", func(f *Figures) {
			f.Measured.Paused, f.Added, f.Measured.Watching.Expected, f.Measured.Watching.Lost = 3e9, added(0, 0, 0.3), 1000, 1
		}, []string{"p99", "p99.9", "max", "p97", "response-p99", "watch-p99"}},
	} {
		f := good()
		tt.set(&f)
		v := Judge(f)
		if want := map[bool]State{true: Valid, false: Suspect}[tt.suspect == nil]; v.State != want {
			t.Errorf("%s: %s, want %s: %v", tt.what, v.State, want, v.Reasons)
		}
		for _, name := range every {
			if got := v.FigureState(name) == Suspect; got != slices.Contains(tt.suspect, name) {
				t.Errorf("%s: %s is suspect: %v; %v", tt.what, name, got, v.Reasons)
			}
		}
	}
	f := good()
	exchange(&f, kv.WrongResponse, 1)
	f.Measured.Paused, f.Added = 3e9, added(0, 0, 0.3)
	if v := Judge(f); v.FigureState("ops") != Invalid || v.FigureState("p99") != Invalid {
		t.Errorf("figures are valid despite a wrong response: %+v", v)
	}
}

// Only figures that are printed as a number have an effect, not those that are printed as a dash or
// as failed. A percentile with too few samples has the effect of the next percentile with enough
// samples.
func TestOnlyPrintedFiguresHaveAnEffect(t *testing.T) {
	f := good()
	f.Added = added(0, 0, 0.3)
	f.Added.Sampled.Percentiles[7] = measure.Figure{}
	if e := Judge(f).Effect; e.ForFigure("p99.9") < 0.29 || e.ForFigure("p99.9") > 0.31 {
		t.Errorf("p99.9, which the sample does not contain, may be off by %v, and max by %v", e.ForFigure("p99.9"), e.ForFigure("max"))
	}
	f.Headline = times(10e6, 26e6)
	f.Headline.Percentiles[7], f.Headline.Max = measure.Figure{}, measure.Figure{Failed: true}
	if e := Judge(f).Effect; e.ForFigure("p99.9") != 0 || e.ForFigure("max") != 0 || e.ForFigure("p99") < 0.29 {
		t.Errorf("figures that are not printed may be off by %v and %v", e.ForFigure("p99.9"), e.ForFigure("max"))
	}
}

// A percentile between two known percentiles has the larger of their effects. Another name of a
// figure has the effect of that figure. An unknown name has no effect.
func TestEffectByName(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 500 {
		e := Effect{Throughput: r.Float64()}
		for i := range e.Times {
			e.Times[i] = r.Float64()
		}
		for name, of := range map[string][]string{
			"p1": {"min", "p10"}, "p97": {"p95", "p99"}, "p99.95": {"p99.9", "max"}, "p60": {"p50", "p75"},
			"response-p90": {"p90"}, "service-p99.9": {"p99.9"}, "success-mean": {"mean"}, "slowest": {"max"}, "spread": {"stddev"},
			"rate-share": {"ops"}, "errors": {}, "watch-p99": {}, "lateness-p99": {}, "p100": {}, "p0": {}, "pq": {}, "": {},
		} {
			want := 0.0
			for _, known := range of {
				want = max(want, e.ForFigure(known))
			}
			if got := e.ForFigure(name); got != want {
				t.Fatalf("the figure %q may be off by %v, but the maximum for %v is %v", name, got, of, want)
			}
		}
		if e.union(Effect{}) != e || e.union(e) != e {
			t.Fatal("the union of an effect with none, or with itself, differs from the effect")
		}
	}
}

package search

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

type noDisplay struct{}

func (noDisplay) Line(string)                          {}
func (noDisplay) Update(string, time.Duration, string) {}

// valueless returns the same scenario, with one trial, for every value.
func valueless(string) (*scenario.Scenario, error) {
	return &scenario.Scenario{Trials: make([]scenario.Trial, 1)}, nil
}

// If the store has no space for the preparation, the search ends. If a connection is lost, the
// search tries the same value again a limited number of times.
func TestFailedPreparation(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	begun := func() *seeker {
		o := &Options{Parameter: &Parameter{Key: "nodes", Integer: true, Min: 1, Max: 1000, read: valueless}, Display: noDisplay{}, Now: func() time.Time { return now.Add(time.Minute) }}
		s := &seeker{Options: o, began: now}
		s.search = capacity.New(capacity.Options{Goals: []capacity.Goal{{Limit: 0.01, Span: 1}}, TimeLimit: 600, InitialRate: 10, MinRate: 1, MaxRate: 1000,
			Parameter: &capacity.Parameter{Integer: true, MinWindow: 10, FreshCluster: true, DueRate: func(v float64) float64 { return v }}})
		s.found.Status = record.CapacitySearching
		if s.handlePreloadFailure(errors.New("connection refused")) {
			t.Error("the search continues after a failed preload, although no trial was successful")
		}
		s.search.Add(capacity.Trial{Plan: capacity.Plan{Rate: 10, Window: 10}, Length: 10, Due: 100, Done: 100, Seconds: []capacity.Second{{Due: 100, Bad: []float64{0}}}}, 12)
		s.found.Trials = make([]record.CapacityTrial, 1)
		return s
	}
	s := begun()
	s.plan, _ = s.search.Next(20)
	if !s.handlePreloadFailure(fmt.Errorf("the keys: %w", &load.NoSpaceError{Cause: errors.New("space exceeded")})) || s.found.Status != string(capacity.AtLeast) || !strings.Contains(s.found.Reason, "for nodes=20: the keys: space exceeded") {
		t.Errorf("if the store has no space left, the finding is %+v", s.found)
	}
	s = begun()
	for n := range 10 {
		plan, more := s.search.Next(20)
		if !more || plan.Rate <= 10 {
			t.Fatalf("after %d failed preloads, the search continues: %v, with the plan %+v", n, more, plan)
		}
		if s.plan = plan; !s.handlePreloadFailure(errors.New("connection refused")) || s.found.Status != record.CapacitySearching {
			t.Fatalf("after %d failed preloads, the finding is %+v", n+1, s.found)
		}
	}
	if _, more := s.search.Next(20); more {
		t.Error("the search continues after ten failed preloads")
	}
	if r := s.search.Result(); r.Status != capacity.AtLeast || r.Lower != 10 || !strings.Contains(r.Reason, "connection refused") {
		t.Errorf("the result of the search is %+v", r)
	}
}

// The warm-up ends when the store no longer becomes faster, or when the time for the warm-up is
// over.
func TestWarming(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		atMost time.Duration
		rates  []float64 // throughput of each trial, in order
		trials int
		steady bool
	}{
		{30 * time.Second, []float64{100, 200, 300, 310, 0}, 4, true},
		{30 * time.Second, []float64{100, 90, 0}, 2, true},
		{30 * time.Second, []float64{100, 200, 400, 800, 1600, 3200, 0}, 6, false},
		{12 * time.Second, []float64{100, 200, 0}, 2, false},
		{2 * time.Second, []float64{100, 0}, 1, false},
		{0, []float64{0}, 0, false},
	} {
		w := newWarmUpPlanner(c.atMost)
		n, spent := 0, time.Duration(0)
		for {
			length, number := w.next()
			if length == 0 {
				break
			}
			if n++; number != n || !w.isRunning() {
				t.Fatalf("trial %d has the number %d; the planner is running: %v", n, number, w.isRunning())
			}
			spent += length
			about := w.addTrial(c.rates[n-1], "")
			if len(about.PerSecond) != n {
				t.Errorf("after %[2]d trials, the record has %[1]d rates", len(about.PerSecond), n)
			}
		}
		steady := w != nil && w.results.Steady
		if n != c.trials || steady != c.steady || spent > c.atMost || w.isRunning() {
			t.Errorf("within %s: %d trials in %s, steady %v; want %d, %v", c.atMost, n, spent, steady, c.trials, c.steady)
		}
	}
}

// The record contains no best estimate, not even 0, until a tried rate has met the objective.
func TestNoEstimateWithoutRateThatHeld(t *testing.T) {
	t.Parallel()
	for _, p := range []*Parameter{nil, {Key: "nodes", Integer: true, Min: 1, Max: 100, read: valueless}} {
		o := capacity.Options{Goals: []capacity.Goal{{Limit: 0.01, Span: 1}}, TimeLimit: 600, InitialRate: 10, MinRate: 1, MaxRate: 100}
		if p != nil {
			o = p.options(o, true)
		}
		s := &seeker{Options: &Options{Parameter: p}, search: capacity.New(o)}
		tried := func(rate, bad float64) {
			one := capacity.Trial{Plan: capacity.Plan{Rate: rate, Window: 10}, Length: 10, Due: 10_000, Done: 10_000, Served: 10_000}
			for range 10 {
				one.Seconds = append(one.Seconds, capacity.Second{Due: 1000, Bad: []float64{bad}})
			}
			s.search.Add(one, 12)
			s.recordProgress(true)
		}
		tried(40, 1000)
		if f := &s.found; f.UpperPerSecond == nil || f.Estimate != nil || f.EstimatePerSecond != nil {
			t.Errorf("with the parameter %v, the finding is %+v", p, f)
		}
		tried(20, 0)
		if f := &s.found; f.Estimate == nil && p != nil || f.EstimatePerSecond == nil && p == nil {
			t.Errorf("after a value that held, with the parameter %v, the finding is %+v", p, f)
		}
	}
}

// If a new period begins, the display no longer shows the interval of the previous period.
func TestNewPeriodClearsInterval(t *testing.T) {
	t.Parallel()
	for _, p := range []*Parameter{nil, {Key: "nodes", Integer: true, Min: 1, Max: 100, read: valueless}} {
		o := capacity.Options{Goals: []capacity.Goal{{Limit: 0.01, Span: 1}}, TimeLimit: 600, InitialRate: 10, MinRate: 1, MaxRate: 100}
		if p != nil {
			o = p.options(o, true)
		}
		s := &seeker{Options: &Options{Parameter: p}, search: capacity.New(o)}
		one := capacity.Trial{Plan: capacity.Plan{Rate: 40, Window: 10}, Length: 10, Due: 10_000, Done: 10_000, Served: 10_000}
		for range 10 {
			one.Seconds = append(one.Seconds, capacity.Second{Due: 1000, Bad: []float64{1000}})
		}
		s.search.Add(one, 12)
		if s.recordProgress(true); !strings.Contains(s.intervalText, "so far") {
			t.Errorf("with the parameter %v, the text about the interval is %q, want an interval", p, s.intervalText)
		}
		s.search = capacity.New(o) // like a new period, it has no upper end
		if s.recordProgress(true); s.intervalText != "" {
			t.Errorf("with the parameter %v, the text about the interval is %q after a new period began, want none", p, s.intervalText)
		}
	}
}

func TestRatesInNamesHaveNoExponent(t *testing.T) {
	t.Parallel()
	for rate, want := range map[float64]string{100: "100", 9018.4473: "9018.4", 102400: "102400", 1234567: "1234600", 0.5: "0.5"} {
		if got := nameRate(rate); got != want {
			t.Errorf("%v: %q, want %q", rate, got, want)
		}
	}
}

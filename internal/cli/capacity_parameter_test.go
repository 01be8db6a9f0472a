package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// valueless reads a scenario of one trial, whatever the value is.
func valueless(string) (*scenario.Scenario, error) {
	return &scenario.Scenario{Trials: make([]scenario.Trial, 1)}, nil
}

// A store that has no room ends a search. A connection that is lost does not: the value is
// tried again, until nothing can be prepared any more.
func TestAPreparationThatFails(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	begun := func() *seeker {
		s := &seeker{parameter: &searchedParameter{key: "nodes", whole: true, least: 1, most: 1000, read: valueless}, began: now, now: func() time.Time { return now.Add(time.Minute) }, display: command.NewDisplay(io.Discard, nil)}
		s.search = capacity.New(capacity.Options{Goals: []capacity.Goal{{Limit: 0.01, Span: 1}}, Until: 600, From: 10, Least: 1, Most: 1000,
			Parameter: &capacity.Parameter{Whole: true, Window: 10, Fresh: true, Offered: func(v float64) float64 { return v }}})
		s.found.Status = record.CapacitySearching
		if s.unprepared(errors.New("connection refused")) {
			t.Error("the search goes on though nothing is known")
		}
		s.search.Add(capacity.Trial{Plan: capacity.Plan{Rate: 10, Window: 10}, Length: 10, Due: 100, Done: 100, Seconds: []capacity.Second{{Due: 100, Bad: []float64{0}}}}, 12)
		s.found.Trials = make([]record.CapacityTrial, 1)
		return s
	}
	s := begun()
	s.plan, _ = s.search.Next(20)
	if !s.unprepared(fmt.Errorf("the keys: %w", &load.NoSpaceError{Why: errors.New("space exceeded")})) || s.found.Status != string(capacity.AtLeast) || !strings.Contains(s.found.Why, "for nodes=20: the keys: space exceeded") {
		t.Errorf("without room it is %+v", s.found)
	}
	s = begun()
	for n := range 10 {
		plan, more := s.search.Next(20)
		if !more || plan.Rate <= 10 {
			t.Fatalf("after %d failures it goes on: %v, with %+v", n, more, plan)
		}
		if s.plan = plan; !s.unprepared(errors.New("connection refused")) || s.found.Status != record.CapacitySearching {
			t.Fatalf("after %d failures it is %+v", n+1, s.found)
		}
	}
	if _, more := s.search.Next(20); more {
		t.Error("the search goes on for ever")
	}
	if r := s.search.Result(); r.Status != capacity.AtLeast || r.Lower != 10 || !strings.Contains(r.Why, "connection refused") {
		t.Errorf("it ends as %+v", r)
	}
}

package runner

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// script runs rounds that only advance a simulated clock.
type script struct {
	rounds
	clock  time.Time
	played int
}

func scripted(most time.Duration, take func(round int) time.Duration, enough func(played int) record.EndReason) *script {
	s := &script{clock: time.Unix(1000, 0)}
	s.rounds = rounds{
		timeLimit: most, began: s.clock, now: func() time.Time { return s.clock },
		runRound: func(_ context.Context, n int) error {
			s.played++
			s.clock = s.clock.Add(take(n))
			return nil
		},
		stopReason: func() record.EndReason { return enough(s.played) },
	}
	return s
}

func never(int) record.EndReason { return "" }

// A round begins if and only if it would end within the time limit, assuming that it takes as long
// as the longest round so far.
func TestRoundsEndInTime(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		longest, slowest := time.Duration(0), time.Duration(1+r.IntN(100))*time.Second
		most := time.Duration(1+r.IntN(300)) * slowest
		s := scripted(most, func(int) time.Duration {
			d := slowest/2 + time.Duration(r.Int64N(int64(slowest/2)))
			longest = max(longest, d)
			return d
		}, never)
		why, err := s.conduct(t.Context())
		took := s.clock.Sub(s.began)
		if err != nil || why != record.EndedTime {
			t.Fatalf("the run ended with the reason %q, %v", why, err)
		}
		if took+longest <= most {
			t.Fatalf("the rounds ended after %v of %v although no round took longer than %v", took, most, longest)
		}
		if s.played > 1 && took > most+slowest {
			t.Fatalf("the rounds took %v, which exceeds the time limit %v by too much", took, most)
		}
	}
	// Rounds of equal length run until the next round would no longer fit into the time limit.
	s := scripted(30*time.Minute, func(int) time.Duration { return 7 * time.Minute }, never)
	if _, err := s.conduct(t.Context()); err != nil || s.played != 4 {
		t.Errorf("%d rounds of 7 minutes were run in 30 minutes, %v", s.played, err)
	}
	s = scripted(28*time.Minute, func(int) time.Duration { return 7 * time.Minute }, never)
	if _, err := s.conduct(t.Context()); err != nil || s.played != 4 {
		t.Errorf("%d rounds of 7 minutes were run in 28 minutes, %v", s.played, err)
	}
}

func TestRoundsEnd(t *testing.T) {
	quick := func(int) time.Duration { return time.Millisecond }
	s := scripted(time.Hour, quick, func(n int) record.EndReason {
		if n == 12 {
			return record.EndedPrecise
		}
		return ""
	})
	if why, err := s.conduct(t.Context()); why != record.EndedPrecise || err != nil || s.played != 12 {
		t.Errorf("the end reason is %q, %v after %d rounds", why, err, s.played)
	}
	s = scripted(time.Hour, quick, never)
	if why, err := s.conduct(t.Context()); why != record.EndedMaxRepeats || err != nil || s.played != scenario.MaxRepeats {
		t.Errorf("the end reason is %q, %v after %d rounds", why, err, s.played)
	}
	broken := errors.New("it broke")
	s.runRound = func(context.Context, int) error { return broken }
	if why, err := s.conduct(t.Context()); why != "" || !errors.Is(err, broken) {
		t.Errorf("%q, %v", why, err)
	}
}

// side describes simulated repeats: their spread, and the share of invalid repeats, whose values
// are far from the true value.
type side struct {
	name, baselineOf string
	spread, invalid  float64
}

// repeat returns a simulated trial.
func (s side) repeat(r *rand.Rand, number, n int) *record.Trial {
	t := &record.Trial{State: record.Complete}
	t.Name, t.Number, t.Repeat, t.BaselineOf = s.name, number, n, s.baselineOf
	t.PerSecond, t.Verdict.State = 1000*(1+s.spread*r.NormFloat64()), verdict.Valid
	if r.Float64() < s.invalid {
		t.Verdict.State, t.PerSecond = verdict.Invalid, 1
		t.Verdict.Reasons = []verdict.Reason{{Rule: 23}}
	}
	return t
}

// repeated runs rounds of one minute until the analysis finds that the repeats are sufficient.
func repeated(t *testing.T, seed uint64, until *record.RepeatRule, sides ...side) (record.EndReason, *compare.RepeatProgress) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 2))
	var ended []*record.Trial
	s := scripted(50*time.Hour, func(n int) time.Duration {
		for i, side := range sides {
			ended = append(ended, side.repeat(r, i+1, n))
		}
		return time.Minute
	}, nil)
	s.stopReason = func() record.EndReason { return compare.NewRepeatProgress(until, ended).Ending() }
	why, err := s.conduct(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return why, compare.NewRepeatProgress(until, ended)
}

// A side with a greater spread needs more repeats. The ratio of two sides needs more repeats than
// each of the sides. Suspect repeats are not counted, whatever their values are.
func TestRepeatingStopsWhenPrecise(t *testing.T) {
	until := &record.RepeatRule{Precision: 0.02, Metrics: []string{"ops"}}
	runs := uint64(20)
	if settle.Long() {
		runs = 60
	}
	mean := func(sides ...side) float64 {
		sum := 0
		for seed := range runs {
			why, r := repeated(t, seed, until, sides...)
			if why != record.EndedPrecise || len(r.Imprecise()) > 0 || r.Rounds < r.FewestRepeats() {
				t.Fatalf("the end reason is %q after %d repeats, with the precisions %+v", why, r.Rounds, r.Precisions)
			}
			for _, p := range r.Precisions {
				if p.HalfWidth > until.Precision || p.Repeats < r.FewestRepeats() {
					t.Fatalf("the figure is not precise enough: %+v", p)
				}
			}
			sum += r.Rounds
		}
		return float64(sum) / float64(runs)
	}
	quiet, lively := mean(side{name: "a", spread: 0.002}), mean(side{name: "a", spread: 0.06})
	if quiet != 10 || lively < 30 || lively > 55 { // (2.05 x 6 / 2)² is 38
		t.Errorf("the sides with a small and a large spread take %v and %v repeats", quiet, lively)
	}
	if both := mean(side{name: "a", spread: 0.06}, side{name: "b", spread: 0.06, baselineOf: "a"}); both < 1.5*lively || both > 2.5*lively {
		t.Errorf("a ratio takes %v repeats, a single side %v", both, lively)
	}
	if half := mean(side{name: "a", spread: 0.002, invalid: 0.5}); half < 15 || half > 26 { // the rounds continue until ten repeats are valid
		t.Errorf("with half of the repeats invalid, the run takes %v repeats", half)
	}
}

// The rounds stop if a figure cannot become precise enough.
func TestRepeatingGivesUp(t *testing.T) {
	until := &record.RepeatRule{Precision: 0.02, Metrics: []string{"ops"}}
	all := side{name: "a", spread: 0.01, invalid: 1}
	if why, r := repeated(t, 1, until, all, side{name: "b"}); why != record.EndedHopeless || r.Rounds != 10 || len(r.LeftOut) != 1 {
		t.Errorf("the end reason is %q after %d repeats; left out are %q", why, r.Rounds, r.LeftOut)
	}
	if why, _ := repeated(t, 1, &record.RepeatRule{Precision: 0.02, Metrics: []string{"p90"}}, side{name: "a"}); why != record.EndedHopeless {
		t.Errorf("the end reason for a figure without measurements is %q", why)
	}
}

// attached returns a scenario with two trials on a null server. The scenario repeats the trials
// until their figures are precise.
func attached(t *testing.T, of served) *scenario.Scenario {
	t.Helper()
	file := `
name: until
until: {precision: 50%, metrics: [ops]}
defaults: {store: etcd, endpoints: ["` + of.endpoint + `"], dial-timeout: 1m, clients: 2, connections: 1, key-space: 10, warmup: 0s, total: 200}
trials:
  - {name: put, operation: put}
  - {name: get, operation: get}
`
	s, err := scenario.Parse("until.yaml", []byte(file), registry.Catalog{}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A run calls StopReason after each round, records the rule, and runs the trials in turn.
func TestRunUntilPrecise(t *testing.T) {
	of := serve(t, etcd.New(), "")
	asked := 0
	dir, err := Run(t.Context(), Options{
		Scenario: attached(t, of), Root: t.TempDir(), Lookup: func(string) (store.Store, error) { return of.Store, nil },
		StopReason: func(trials []*record.Trial) record.EndReason {
			if asked++; len(trials) != 2*asked {
				t.Errorf("StopReason received %d trials after %d rounds", len(trials), asked)
			}
			if asked == 3 {
				return record.EndedPrecise
			}
			return ""
		},
		Progress: func(p Progress) {
			if p.Trials != 0 || p.Remaining != 0 {
				t.Errorf("%d trials in %v are reported as remaining, but their number is unknown", p.Trials, p.Remaining)
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range run.Trials {
		names = append(names, run.Trials[i].Name)
	}
	if len(names) != 6 || names[0] == names[1] || !slices.Equal(names, []string{names[0], names[1], names[1], names[0], names[0], names[1]}) {
		t.Errorf("the trials ran in the order %q", names)
	}
	if run.State != record.Complete || run.RepeatRule == nil || run.RepeatRule.EndReason != record.EndedPrecise || run.RepeatRule.Precision != 0.5 || run.Planned != 6 || len(run.Clusters) != 1 {
		t.Errorf("the run's state is %s, its rule %+v, with %d planned trials and %d clusters", run.State, run.RepeatRule, run.Planned, len(run.Clusters))
	}
}

// The record of a run that was interrupted in its second round is readable, and shows how many
// rounds the run had planned and finished.
func TestInterruptedRepeatingIsReadable(t *testing.T) {
	of := serve(t, etcd.New(), "")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	rounds := 0
	dir, err := Run(ctx, Options{
		Scenario: attached(t, of), Root: t.TempDir(), Lookup: func(string) (store.Store, error) { return of.Store, nil },
		StopReason: func([]*record.Trial) record.EndReason { rounds++; return "" },
		Progress: func(p Progress) {
			if rounds == 1 && p.Stage == TrialDone {
				cancel()
			}
		},
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	run, err := record.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if r := compare.RepeatProgressOfRun(run); run.State != record.Interrupted || run.RepeatRule.EndReason != "" || len(run.Trials) != 3 || run.Planned != 4 || r.Rounds != 1 {
		t.Errorf("the run's state is %s, its rule %+v, with %d of %d trials and %d repeats", run.State, run.RepeatRule, len(run.Trials), run.Planned, r.Rounds)
	}
}

package runner

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/agent"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/agents"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// settable is a clock that can be set. It is ahead of the system's clock by `ahead`.
type settable struct{ ahead atomic.Int64 }

func (s *settable) clock() agent.Clock {
	return agent.Clock{After: time.After, Now: func() time.Time { return time.Now().Add(time.Duration(s.ahead.Load())) }}
}

// onAgents runs a trial with a member on the host db and workers on the hosts gen1 and gen2, which
// have the given clocks. It calls the function `at` during the given second of the window.
func onAgents(t *testing.T, clocks map[string]*settable, second int, at func()) *record.Run {
	t.Helper()
	targets := map[string]agent.Target{}
	hosts := ""
	for _, name := range []string{"db", "gen1", "gen2"} {
		to := agents.StartAgent(t, func(o *agent.Options) {
			if o.Self, _ = os.Executable(); clocks[name] != nil {
				o.Clock = clocks[name].clock()
			}
		})
		to.Name, targets[name] = name, to
		hosts += fmt.Sprintf("  - {name: %s, address: '%s', via: agent}\n", name, to.Address)
	}
	file := `
name: clocks
hosts:
` + hosts + `
trials:
  - {name: put, store: etcd, members: 1, members-on: [db], workers: 2, workers-on: [gen1, gen2], operation: put, clients: 4, connections: 2, key-space: 100, warmup: 0s, duration: 4s}
`
	s, err := scenario.Parse("clocks.yaml", []byte(file), registry.Catalog{}, scenario.Options{})
	if err != nil {
		t.Fatal(err)
	}
	dir, err := Run(t.Context(), Options{
		Scenario: s, Out: filepath.Join(t.TempDir(), "run"), Lookup: registry.Lookup,
		Agent: func(ctx context.Context, h *scenario.Host) (*agent.Remote, error) {
			return agent.Dial(ctx, targets[h.Name])
		},
		OnSecond: func(_ *scenario.Trial, s *measure.Second) {
			if s.Phase == measure.Measured && s.Index == second {
				at()
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
	figures.ReadTrialFiles(run, dir)
	return run
}

// rightFigures checks that a trial has the same figures as on machines with correct clocks, and
// that the times in its rows are within the run.
func rightFigures(t *testing.T, run *record.Run) {
	t.Helper()
	trial := &run.Trials[0]
	if trial.State != record.Complete || trial.Errors != 0 || trial.Seconds < 4 || trial.Seconds > 8 || len(trial.ByWorker) != 2 || len(trial.ByHost) != 3 {
		t.Fatalf("the trial's state is %s, with %d errors in %v s, the workers %+v and the hosts %+v", trial.State, trial.Errors, trial.Seconds, trial.ByWorker, trial.ByHost)
	}
	if math.Abs(trial.PerSecond-float64(trial.Completed)/trial.Seconds) > 1 || trial.ByWorker[0].Operations+trial.ByWorker[1].Operations != trial.Operations {
		t.Errorf("the rate is %v/s, but %d operations completed in %v s; the trial has %d operations, and the workers have %+v", trial.PerSecond, trial.Completed, trial.Seconds, trial.Operations, trial.ByWorker)
	}
	if cpu := trial.StoreCPUSeconds; cpu == nil || *cpu <= 0 || *cpu > 2*trial.Seconds*float64(trial.Machine.CPUs) {
		t.Errorf("the store's processor time is %v", measure.OrZero(cpu))
	}
	if trial.Opened.Before(run.Started) || trial.Opened.After(*run.Finished) {
		t.Errorf("the window opened at %v, but the run lasted from %v to %v", trial.Opened, run.Started, run.Finished)
	}
	sampled := map[string]bool{}
	for _, r := range trial.Machines {
		if sampled[r.Name] = true; r.Time.Before(run.Started.Add(-time.Minute)) || r.Time.After(run.Finished.Add(time.Minute)) {
			t.Errorf("%s was sampled at %v, but the run lasted from %v to %v", r.Name, r.Time, run.Started, run.Finished)
		}
	}
	for _, name := range []string{"generator", "generator gen1", "generator gen2", "machine", "m1"} {
		if !sampled[name] {
			t.Errorf("%s was not sampled: %v", name, sampled)
		}
	}
	if sampled["generator db"] {
		t.Error("a process that generated no load has a row")
	}
	for i := range trial.ByHost {
		h := &trial.ByHost[i]
		if h.Clock == nil || h.Clock.WidestBoundNS <= 0 || h.CPUs < 1 || h.BusyShare == nil || h.ForeignShare == nil || h.SamplingCPUSeconds == nil || h.GeneratesLoad == h.HasMembers {
			t.Errorf("%+v, clock %+v", h, h.Clock)
		}
		if c := run.Hosts[i].Clock; c == nil || c.Before.At.After(*trial.Opened) || c.After.At.Before(*trial.Opened) {
			t.Errorf("the readings of the clock of %s before and after the run are %+v", h.Name, c)
		}
	}
}

func r32(trial *record.Trial) string {
	i := slices.IndexFunc(trial.Verdict.Reasons, func(r verdict.Reason) bool { return r.Rule == 32 })
	if i < 0 {
		return ""
	}
	return trial.Verdict.Reasons[i].Text
}

// Constant clock errors are corrected and cause no note.
func TestCorrectsConstantClockErrors(t *testing.T) {
	ahead := map[string]*settable{"gen1": {}, "gen2": {}}
	ahead["gen1"].ahead.Store(int64(time.Hour))
	ahead["gen2"].ahead.Store(int64(-time.Minute))
	run := onAgents(t, ahead, -1, nil)
	rightFigures(t, run)
	trial := &run.Trials[0]
	for i, want := range []time.Duration{0, time.Hour, -time.Minute} {
		c := trial.ByHost[i].Clock
		for _, is := range []measure.ClockReading{c.Before, c.After, run.Hosts[i].Clock.Before, run.Hosts[i].Clock.After} {
			if (time.Duration(is.AheadNS) - want).Abs() > time.Duration(is.BoundNS) {
				t.Errorf("the clock of %s is %v ahead, but the reading is %+v", trial.ByHost[i].Name, want, is)
			}
		}
		if c.Jumps != 0 {
			t.Errorf("the recorded clock of %s has jumps: %+v", trial.ByHost[i].Name, c)
		}
	}
	if why := r32(trial); strings.Contains(why, "was set") {
		t.Error(why)
	}
}

// If the clocks of a worker's host and of the member's host are set forward or back by an hour
// during a load, the figures are still correct and the verdict names both hosts.
func TestCorrectsClocksSetDuringALoad(t *testing.T) {
	clocks := map[string]*settable{"db": {}, "gen1": {}}
	run := onAgents(t, clocks, 0, func() {
		clocks["gen1"].ahead.Store(int64(time.Hour))
		clocks["db"].ahead.Store(int64(-time.Hour))
	})
	rightFigures(t, run)
	trial := &run.Trials[0]
	set := map[string]time.Duration{"db": -time.Hour, "gen1": time.Hour}
	for i := range trial.ByHost {
		h := &trial.ByHost[i]
		by, is := set[h.Name]
		if (h.Clock.Jumps > 0) != is || (time.Duration(h.Clock.ClockChangeNS)-by).Abs() > time.Minute {
			t.Errorf("the clock of %s was set by %v, but the record is %+v", h.Name, by, h.Clock)
		}
		said := slices.ContainsFunc(trial.Events, func(e record.Event) bool {
			return e.Kind == "clock_set" && strings.Contains(e.Text, "host "+h.Name+" ")
		})
		if said != is || strings.Contains(r32(trial), "the clock of host "+h.Name+" was set during the trial (1 change, 3600 s in total)") != is {
			t.Errorf("host %s: the clock was set: %v; the reason of R32 is %q; the events are %+v", h.Name, is, r32(trial), trial.Events)
		}
	}
	if trial.Verdict.State == verdict.Valid {
		t.Error("the trial is valid although clocks were set")
	}
}

package runner

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The remaining time is the sum over the trials that have not ended. It is 0 once the run has
// stopped, even if the run was interrupted.
func TestRemainingTimeIsTheSumOverTrials(t *testing.T) {
	one := scenario.Trial{Load: scenario.Load{Duration: 10 * time.Second}}
	r := run{plan: []scenario.Trial{one, one}}
	each := 10*time.Second + defaultOverhead
	for _, test := range []struct {
		at, ended int
		want      time.Duration
	}{{0, 0, 2*each + defaultStartTime}, {1, 0, 2 * each}, {1, 1, each}, {2, 1, each}, {2, 2, 0}, {1, 2, 0}} {
		r.begunTrials, r.endedTrials = test.at, test.ended
		e := r.estimate()
		if _, _, got := e.times(); got != test.want {
			t.Errorf("with %d trials begun and %d ended, the remaining time is %v, want %v", test.at, test.ended, got, test.want)
		}
	}
}

// If trials end after a given number of operations, their remaining time is estimated from the rate
// so far.
func TestRemainingTimeOfTrialsWithATotal(t *testing.T) {
	total := scenario.Trial{Name: "a", Load: scenario.Load{Total: 10_000}}
	other := scenario.Trial{Name: "b", Load: scenario.Load{Total: 20_000, Warmup: time.Second}}
	began := time.Unix(1000, 0)
	p := &pace{}
	e := estimate{trials: []scenario.Trial{total, other, total}, begunTrials: 1, running: time.Second, pace: p}
	if share, one, all := e.times(); share != 0 || one != 0 || all != 0 {
		t.Errorf("without a rate, the share and the remaining times are %v, %v and %v", share, one, all)
	}
	p.record(1, began)
	p.record(2500, began.Add(2500*time.Millisecond))
	share, one, all := e.times()
	if share != 0.25 || one != 7500*time.Millisecond || all != 39_400*time.Millisecond {
		t.Errorf("at 1000/s, the share and the remaining times are %v, %v and %v", share, one, all)
	}
	p.ended(&e.trials[0], &record.Trial{Seconds: 10, Counts: record.Counts{Due: 10_000}})
	p.begin()
	e.endedTrials, e.begunTrials, e.running = 1, 2, time.Second
	if share, one, all = e.times(); share != 0 || one != 21*time.Second || all != 31_600*time.Millisecond {
		t.Errorf("after a trial at 1000/s, the share and the remaining times are %v, %v and %v", share, one, all)
	}
	p.byName["a"] = 100
	if _, _, all = e.times(); all != 121_600*time.Millisecond {
		t.Errorf("with a repeat at 100/s, the remaining time is %v", all)
	}
	e.endedTrials = 3
	if share, one, all = e.times(); share != 0 || one != 0 || all != 0 {
		t.Errorf("at the end, the share and the remaining times are %v, %v and %v", share, one, all)
	}
}

// Once a trial has ended, the estimate includes the times before and after loads (for a start, a
// preload and a check). Until then, the estimate is a lower bound.
func TestRemainingTimeIncludesTimeBetweenLoads(t *testing.T) {
	one := scenario.Trial{Name: "put", Load: scenario.Load{Warmup: time.Second, Duration: 4 * time.Second}}
	var said Progress
	r := run{plan: []scenario.Trial{one, one, one}, Options: Options{Scenario: &scenario.Scenario{}, Progress: func(p Progress) { said = p }}}
	r.begunTrials = 1
	r.report(Progress{})
	if !said.IsMinimum || said.Remaining != 3*(5*time.Second+defaultOverhead) {
		t.Errorf("before the end of the first trial, the estimate is %v, and IsMinimum is %v", said.Remaining, said.IsMinimum)
	}
	turn := time.Unix(1000, 0)
	load := turn.Add(7 * time.Second)                                                // 7 s for starting and preloading
	r.overhead.add(turn, load, load.Add(5*time.Second+3*time.Second), 5*time.Second) // the check takes 3 s
	r.endedTrials = 1
	r.report(Progress{})
	if want := 2 * (7 + 5 + 3) * time.Second; said.IsMinimum || said.Remaining != want {
		t.Errorf("after a trial that took 15 s, the estimate is %v, and IsMinimum is %v", said.Remaining, said.IsMinimum)
	}
	// The remaining time of the current trial is the rest of its load and the time after the load.
	e := estimate{trials: r.plan, endedTrials: 1, begunTrials: 2, running: 2 * time.Second, pace: &r.pace, overhead: r.overhead}
	if _, trial, all := e.times(); trial != 3*time.Second || all != (3+3+15)*time.Second {
		t.Errorf("while a trial runs, the remaining times of the trial and the run are %v and %v", trial, all)
	}
}

// If the window ends when watchers have caught up, the finished share and the remaining time are
// unknown.
func TestRemainingTimeOfWatchersThatCatchUp(t *testing.T) {
	watch := scenario.Trial{Load: scenario.Load{Duration: time.Minute, Watch: &scenario.Watch{EarlierEvents: 10}}}
	p := &pace{}
	p.record(1, time.Unix(1000, 0))
	p.record(1000, time.Unix(1010, 0))
	for what, with := range map[string]*pace{"without a rate": {}, "with a rate": p} {
		e := estimate{trials: []scenario.Trial{watch}, begunTrials: 1, running: 10 * time.Second, pace: with}
		if share, one, all := e.times(); share != 0 || one != 0 || all != 0 {
			t.Errorf("%s: the share and the remaining times are %v, %v and %v, want 0", what, share, one, all)
		}
	}
}

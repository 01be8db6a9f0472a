package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Times that are assumed until the first trial has ended. defaultOverhead is the time that a trial
// takes in addition to its warm-up and window. defaultStartTime is the time for starting a cluster.
const (
	defaultOverhead  = 300 * time.Millisecond
	defaultStartTime = 3 * time.Second
)

// trialOverhead adds up the time that finished trials took in addition to their warm-up and window.
// `before` is the time before the loads: for starting clusters, preloading and connecting. `after`
// is the time after the loads: for draining, cleaning up and checking.
type trialOverhead struct {
	trials        int
	before, after time.Duration // sums for all trials
}

// add adds a finished trial. The parameters `turn` and `ended` are the times at which the trial
// began and ended. The load began at the time `load`, and its duration was `length`.
func (a *trialOverhead) add(turn, load, ended time.Time, length time.Duration) {
	a.trials++
	a.before += max(load.Sub(turn), 0)
	a.after += max(ended.Sub(load)-length, 0)
}

// mean returns the mean times that trials take before and after their loads.
func (a *trialOverhead) mean() (before, after time.Duration) {
	if a.trials == 0 {
		return 0, defaultOverhead
	}
	n := time.Duration(a.trials)
	return a.before / n, a.after / n
}

// minPaceTime is the time after which a window is long enough to determine the trial's rate.
const minPaceTime = 500 * time.Millisecond

// pace estimates the rates of trials whose loads end after a given number of operations.
type pace struct {
	byName    map[string]float64 // operations per second in finished trials, by trial name
	last      float64            // operations per second in the last finished trial
	opened    time.Time          // time at which the current trial's window opened; zero if it is not open yet
	count     uint64             // number of operations that have ended in the window
	countedAt time.Time          // time at which count was updated
}

// begin resets the state for the next trial.
func (p *pace) begin() { p.opened, p.count = time.Time{}, 0 }

// record records the number of operations that have ended since the window opened.
func (p *pace) record(count uint64, at time.Time) {
	p.count, p.countedAt = count, at
	if p.opened.IsZero() && count > 0 {
		p.opened = at
	}
}

// rate returns the current trial's rate, or 0 if it is unknown.
func (p *pace) rate() float64 {
	if took := p.countedAt.Sub(p.opened); !p.opened.IsZero() && took >= minPaceTime {
		return float64(p.count) / took.Seconds()
	}
	return 0
}

func (p *pace) ended(t *scenario.Trial, result *record.Trial) {
	if p.byName == nil {
		p.byName = map[string]float64{}
	}
	if result.Seconds > 0 && result.Due > 0 {
		p.last = float64(result.Due) / result.Seconds
		p.byName[t.Name] = p.last
	}
}

// estimate contains the data from which the remaining time of a run is estimated.
type estimate struct {
	trials      []scenario.Trial // all trials in order
	endedTrials int              // number of finished trials
	begunTrials int              // number of trials that have begun
	running     time.Duration    // time since the current trial's load began; 0 if no load is running
	starting    bool             // whether the first cluster still has to be started
	pace        *pace
	overhead    trialOverhead
}

// times estimates the finished share of the current trial, and the remaining time of the trial and
// of the whole run. A result is 0 if it is unknown.
//
// A trial that has not begun is assumed to take the time that its load requests. If its load ends
// after a given number of operations, the time is computed from the rate of an earlier repeat, of
// the current trial or of the last trial. The times before and after loads are assumed to be the
// means of the finished trials. The time for stopping the last cluster is ignored.
func (e *estimate) times() (share float64, trial, run time.Duration) {
	known := true
	for i := range e.trials {
		if i < e.endedTrials {
			continue
		}
		t := &e.trials[i]
		if i+1 == e.begunTrials && e.running > 0 {
			var ok bool
			share, trial, ok = e.remaining(t)
			known = known && ok
			_, after := e.overhead.mean()
			run += trial + after
			continue
		}
		d, ok := e.estimateTrial(t)
		known = known && ok
		run += d
	}
	if !known {
		run = 0
	}
	if known && e.starting && e.overhead.trials == 0 {
		run += defaultStartTime
	}
	return share, trial, run
}

// remaining returns the finished share and the remaining time of the current trial's load.
func (e *estimate) remaining(t *scenario.Trial) (share float64, remainingTime time.Duration, ok bool) {
	if d, known := t.Load.EstimatedDuration(); known && t.Load.Total == 0 {
		remainingTime = d - min(e.running, d)
		return 1 - remainingTime.Seconds()/max(d.Seconds(), 1e-9), remainingTime, true
	}
	if t.Load.Total == 0 {
		return 0, 0, false // the window ends when watchers have caught up
	}
	total, done := float64(t.Load.Total), float64(e.pace.count)
	rate := e.pace.rate()
	if rate == 0 {
		d, known := e.load(t)
		return min(done/total, 1), d, known
	}
	rest := max(total-done, 0) / rate
	return min(done/total, 1), seconds(rest), true
}

// estimateTrial returns the estimated duration of a trial that has not begun.
func (e *estimate) estimateTrial(t *scenario.Trial) (time.Duration, bool) {
	d, known := e.load(t)
	if !known {
		return 0, false
	}
	before, after := e.overhead.mean()
	return before + d + after, true
}

// load returns the estimated duration of a trial's warm-up and window.
func (e *estimate) load(t *scenario.Trial) (time.Duration, bool) {
	d, known := t.Load.EstimatedDuration()
	if known {
		return d, true
	}
	rate := e.pace.byName[t.Name]
	if rate == 0 {
		rate = e.pace.rate()
	}
	if rate == 0 {
		rate = e.pace.last
	}
	if rate == 0 || t.Load.Total == 0 {
		return 0, false
	}
	return d + seconds(float64(t.Load.Total)/rate), true
}

// seconds converts a number of seconds to a Duration. Large numbers do not overflow.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, float64(1<<62)/1e9) * 1e9)
}

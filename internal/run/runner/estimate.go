package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// How long a trial and a cluster take in addition to warm-up and window, until a trial has
// ended.
const (
	aroundTrial = 300 * time.Millisecond
	toStart     = 3 * time.Second
)

// around holds how long the ended trials took in addition to warm-up and window: before
// these, to start clusters, preload and connect; after them, to drain, clean up and check.
type around struct {
	trials        int
	before, after time.Duration // of all trials
}

// add adds a trial that has ended, with the beginnings of its turn and its load and the
// load's length.
func (a *around) add(turn, load, ended time.Time, length time.Duration) {
	a.trials++
	a.before += max(load.Sub(turn), 0)
	a.after += max(ended.Sub(load)-length, 0)
}

// mean returns the average time before a trial's load and after it.
func (a *around) mean() (before, after time.Duration) {
	if a.trials == 0 {
		return 0, aroundTrial
	}
	n := time.Duration(a.trials)
	return a.before / n, a.after / n
}

// paceFrom is how much of a window must have passed before its rate is known.
const paceFrom = 500 * time.Millisecond

// pace knows the rates of trials that are bounded by a total.
type pace struct {
	byName map[string]float64 // operations per second of ended trials
	last   float64            // of the last ended trial
	opened time.Time          // when the running trial's window opened; zero: not yet
	count  uint64             // operations ended in the window
	at     time.Time          // time of count
}

// begin forgets the previous trial.
func (p *pace) begin() { p.opened, p.count = time.Time{}, 0 }

// now records how many operations have ended since the window opened.
func (p *pace) now(count uint64, at time.Time) {
	p.count, p.at = count, at
	if p.opened.IsZero() && count > 0 {
		p.opened = at
	}
}

// rate returns the running trial's rate, or 0 if it is unknown.
func (p *pace) rate() float64 {
	if took := p.at.Sub(p.opened); !p.opened.IsZero() && took >= paceFrom {
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

// estimate holds what is needed to estimate how long a run still takes.
type estimate struct {
	trials   []scenario.Trial // in order
	ended    int              // number of ended trials
	at       int              // number of trials begun
	running  time.Duration    // since the running trial's load began; 0: none is running
	starting bool             // the first cluster has not been started yet
	pace     *pace
	around   around
}

// times estimates how much of the running trial is over, and how long it and the whole run
// still take. A trial that has not begun takes the time that it requests, or that follows
// from the rate of its earlier repeat or of the last trial. The time around loads is that
// of the ended trials. Stopping the last cluster counts as nothing. An unknown result is 0.
func (e *estimate) times() (share float64, trial, run time.Duration) {
	known := true
	for i := range e.trials {
		if i < e.ended {
			continue
		}
		t := &e.trials[i]
		if i+1 == e.at && e.running > 0 {
			var ok bool
			share, trial, ok = e.now(t)
			known = known && ok
			_, after := e.around.mean()
			run += trial + after
			continue
		}
		d, ok := e.takes(t)
		known = known && ok
		run += d
	}
	if !known {
		run = 0
	}
	if known && e.starting && e.around.trials == 0 {
		run += toStart
	}
	return share, trial, run
}

// now returns how much of the running load is over, and how long it still takes.
func (e *estimate) now(t *scenario.Trial) (share float64, left time.Duration, ok bool) {
	if d, known := t.Load.EstimatedDuration(); known && t.Load.Total == 0 {
		left = d - min(e.running, d)
		return 1 - left.Seconds()/max(d.Seconds(), 1e-9), left, true
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

// takes returns how long a trial that has not begun takes.
func (e *estimate) takes(t *scenario.Trial) (time.Duration, bool) {
	d, known := e.load(t)
	if !known {
		return 0, false
	}
	before, after := e.around.mean()
	return before + d + after, true
}

// load returns how long a trial's warm-up and window take.
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

// seconds converts seconds to a Duration without overflow.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, float64(1<<62)/1e9) * 1e9)
}

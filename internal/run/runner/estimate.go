package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// The time that a trial and a cluster take in addition to warm-up and window, as long as
// no trial has ended.
const (
	aroundTrial = 300 * time.Millisecond
	toStart     = 3 * time.Second
)

// around is what the trials that ended took in addition to warm-up and window: before, to
// start clusters, preload and connect; after, to drain, clean up and check.
type around struct {
	trials        int
	before, after time.Duration // of all
}

// add takes a trial that began its turn, and then its load of a length, and has ended.
func (a *around) add(turn, load, ended time.Time, length time.Duration) {
	a.trials++
	a.before += max(load.Sub(turn), 0)
	a.after += max(ended.Sub(load)-length, 0)
}

// mean returns what a trial took before its load and after it.
func (a *around) mean() (before, after time.Duration) {
	if a.trials == 0 {
		return 0, aroundTrial
	}
	n := time.Duration(a.trials)
	return a.before / n, a.after / n
}

// paceFrom is how much of a window must have been seen to know its rate.
const paceFrom = 500 * time.Millisecond

// pace knows how fast trials that a total bounds went.
type pace struct {
	byName map[string]float64 // operations a second of trials that ended
	last   float64            // of the last that did
	opened time.Time          // of the window that runs; zero: not yet
	count  uint64             // operations ended in it
	at     time.Time          // when that was so
}

// begin forgets the trial before.
func (p *pace) begin() { p.opened, p.count = time.Time{}, 0 }

// now takes how many operations have ended since the window opened.
func (p *pace) now(count uint64, at time.Time) {
	p.count, p.at = count, at
	if p.opened.IsZero() && count > 0 {
		p.opened = at
	}
}

// rate is that of the trial that runs; 0 if it is not known yet.
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

// estimate is what is needed to say how long a run still takes.
type estimate struct {
	trials   []scenario.Trial // in their order
	ended    int              // of those
	at       int              // begun
	running  time.Duration    // how long the one that runs has; 0: none does
	starting bool             // the first cluster is still to start
	pace     *pace
	around   around
}

// times estimates how far the trial that runs is, how long it still takes, and
// the whole run: the trials not begun by what they ask for, or by the rate of
// their earlier repeat, or else of what ran last, and what surrounds their loads by the
// trials that ended. Stopping the last cluster takes no time worth mentioning. What is
// not known is 0.
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

// now returns how far the load that runs is, and how long it still takes.
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

// takes returns how long a trial takes that has not begun.
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

// seconds is a time that no estimate makes overflow.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, float64(1<<62)/1e9) * 1e9)
}

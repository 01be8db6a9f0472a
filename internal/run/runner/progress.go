package runner

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/trial"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Stage is what a run is doing.
type Stage string

// The stages.
const (
	Starting   Stage = "starting" // a cluster
	Preloading Stage = "preloading"
	Connecting Stage = "connecting"
	WarmingUp  Stage = "warming up"
	Measuring  Stage = "measuring"
	Draining   Stage = "draining" // what is in flight is awaited
	CleaningUp Stage = "cleaning up"
	// The answers of a load are checked: each member is read whole, then all is judged.
	ReadingBack Stage = "reading the members"
	Checking    Stage = "checking the answers"
	Stopping    Stage = "stopping" // a cluster
	TrialDone   Stage = "done"     // Result is set
)

// Progress is how a run goes.
type Progress struct {
	Stage  Stage
	Trial  int    // from 1, in the order in which they run; 0 before the first
	Trials int    // repeats included; 0 where precision ends the repeating
	Name   string // of the trial, with its repeat, or of the cluster that starts or stops
	// Successes in the last second, and the response time at p99 in the last
	// second of which every operation has ended, in nanoseconds (0 when that
	// second does not support it, or is long past).
	PerSecond float64
	P99       float64
	Errors    uint64 // of the trial so far, warm-up included
	InFlight  int64
	// Done is how many succeeded since the window opened, and InWindow how long
	// it has been, or was, open.
	Done     uint64
	InWindow time.Duration
	// Share is how much of the trial's warm-up and window is over, from 0 to 1,
	// and TrialLeft how long they still take; 0 when that is not known.
	Share     float64
	TrialLeft time.Duration
	// Elapsed and Left are of the whole run; Left is 0 when it is not known.
	// Where totals bound trials it is an estimate from the rates so far. What surrounds
	// loads (starts, preloads, drains, clean-ups, checks) is in it as it took in the trials
	// that ended; until one has, AtLeast says that it is not in it.
	Elapsed, Left time.Duration
	AtLeast       bool
	// Result is the trial that has just ended, with TrialDone.
	Result *record.Trial
}

// reportTrial passes on how a trial goes.
func (r *run) reportTrial(spec *scenario.Trial, p trial.Progress) {
	r.pace.now(p.Ended, measure.Now())
	if p.Stage == string(Preloading) || p.Stage == string(Connecting) {
		r.trialBegan = measure.Now() // what comes before the warm-up takes what it takes
	}
	r.report(Progress{
		Stage: stageOf(p.Stage), Name: title(spec),
		PerSecond: p.PerSecond, P99: p.P99, Errors: p.Errors, InFlight: p.InFlight,
		Done: p.Done, InWindow: p.InWindow,
	})
}

func stageOf(s string) Stage {
	switch s {
	case measure.Warmup.String():
		return WarmingUp
	case measure.Measured.String():
		return Measuring
	}
	return Stage(s)
}

func (r *run) report(p Progress) {
	if r.Progress == nil {
		return
	}
	p.Trial = r.at
	open := r.Scenario.Until != nil || r.Next != nil // nobody knows how many trials there will be
	if !open {
		p.Trials = len(r.plan)
	}
	p.Elapsed = time.Since(r.began)
	e := r.estimate()
	p.Share, p.TrialLeft, p.Left = e.times()
	p.AtLeast = e.around.trials == 0
	if open {
		p.Left = 0
	}
	r.Progress(p)
}

func (r *run) estimate() estimate {
	e := estimate{trials: r.plan, ended: r.ended, at: r.at, pace: &r.pace, around: r.around, starting: r.now == nil && r.at == 0}
	if !r.trialBegan.IsZero() {
		e.running = time.Since(r.trialBegan)
	}
	return e
}

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

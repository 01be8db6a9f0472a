package search

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// seeker plans the trials of a single search.
type seeker struct {
	*Options
	search       *capacity.Search
	load         scenario.Trial
	name         string // prefix of the trials' names
	warmUp       *warmUpPlanner
	found        record.Capacity
	plan         capacity.Plan // plan of the trial that is running
	planned      int           // number of planned trials
	began        time.Time     // start of the first trial; zero if no trial has started
	plannedAt    time.Time     // time at which the current trial was planned
	intervalText string        // text about the interval found so far, which is added to a displayed line
}

// newSeeker returns a seeker that searches for the capacity of a load within the given time limit.
func newSeeker(options *Options, load scenario.Trial, limit time.Duration) *seeker {
	o := capacity.Options{Goals: options.Objective.Goals(), TimeLimit: limit.Seconds(), Width: options.Width, InitialRate: FirstRate, MinRate: MinRate, MaxRate: options.MaxRate, Overhead: 0.5}
	if options.InitialRate != nil {
		o.InitialRate = *options.InitialRate
	}
	own := load.Cluster.RunningCluster == nil
	if options.Parameter != nil {
		o = options.Parameter.options(o, own)
	}
	s := &seeker{Options: options, search: capacity.New(o), load: load}
	s.found = record.Capacity{Objective: options.Objective.Text, UntilNS: limit.Nanoseconds(), Width: options.Width, Level: capacity.DefaultLevel, Status: record.CapacitySearching}
	if s.load.Load.Arrival == scenario.Closed {
		s.load.Load.Arrival = scenario.Poisson
	}
	s.load.Load.Total, s.load.Repeat, s.load.Repeats = 0, 1, 1
	switch {
	case s.Parameter != nil:
		s.found.Parameter = s.Parameter.Key
		return s
	case own && s.WarmUp != nil:
		s.warmUp = newWarmUpPlanner(*s.WarmUp)
	case own:
		s.warmUp = newWarmUpPlanner(min(MaxWarmUp, limit/5))
	}
	if s.warmUp == nil && s.InitialRate == nil {
		s.search.InitialRate = min(informativeRate(o.Goals), o.MaxRate)
	}
	return s
}

// informativeRate returns the first rate to try if nothing is known about the store. At this rate,
// a window of firstWindow seconds contains enough operations to compute the percentiles in goals.
func informativeRate(goals []capacity.Goal) float64 {
	rate := float64(FirstRate)
	for _, g := range goals {
		if g.Percentile {
			rate = max(rate, 10/(g.Limit*firstWindow))
		}
	}
	return rate
}

// firstWindow is the maximum duration of the first window, in seconds.
const firstWindow = 10

// next adds the result of the previous trial, if previous is not nil, and returns the next trial.
// number is the next trial's number in the run. next returns nil when the search is over.
func (s *seeker) next(previous *record.Trial, number int) (*scenario.Trial, error) {
	at := 0.0
	if s.found.Status != record.CapacitySearching {
		return nil, nil
	}
	if s.Parameter != nil && s.began.IsZero() {
		s.began = s.Now() // includes the time to prepare the first trial
	}
	if !s.began.IsZero() {
		at = s.Now().Sub(s.began).Seconds()
	}
	if previous != nil {
		if s.began.IsZero() {
			s.began = previous.Started
		}
		at = s.Now().Sub(s.began).Seconds()
		if err := s.addTrial(previous); err != nil {
			return nil, err
		}
	}
	t := s.load
	t.Number = number
	t.Load.Seed = (s.load.Load.Seed + uint64(number-1)) & (1<<63 - 1)
	if length, n := s.warmUp.next(); length > 0 {
		t.Name = fmt.Sprintf("%swarm-up-%d", s.name, n)
		t.Load.Arrival, t.Load.Rate = scenario.Closed, scenario.Rate{}
		t.Load.Clients = max(t.Load.Clients, t.Load.Connections)
		t.Load.Warmup, t.Load.Duration = 0, length
		s.planned++
		return &t, nil
	}
	plan, more := s.search.Next(at)
	s.recordProgress(more)
	if !more {
		return nil, nil
	}
	s.plan, s.plannedAt = plan, s.Now()
	s.planned++
	if s.Parameter != nil {
		return s.parameterTrial(number)
	}
	t.Name = fmt.Sprintf("%s%s-%s", s.name, plan.Purpose, nameRate(plan.Rate))
	t.Load.Rate = scenario.Rate{PerSecond: plan.Rate}
	t.Load.Warmup, t.Load.Duration = seconds(plan.Warmup), seconds(plan.Window)
	return &t, nil
}

// nameRate returns a rate with five significant digits and without an exponent.
func nameRate(rate float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 5, 64), 64) // cannot fail, because the text was just formatted
	return text.FormatNumber(rounded)
}

// parameterTrial returns the trial for the parameter's value in the current plan. number is the
// trial's number in the run.
func (s *seeker) parameterTrial(number int) (*scenario.Trial, error) {
	t, err := s.Parameter.trial(s.plan.Rate)
	if err != nil {
		return nil, err
	}
	t.Name, t.Number, t.Repeat, t.Repeats = s.Parameter.name(&s.plan), number, 1, 1
	t.Load.Seed = (s.load.Load.Seed + uint64(number-1)) & (1<<63 - 1)
	t.Load.Duration = seconds(s.plan.Window)
	return t, nil
}

// handlePreloadFailure handles a store that could not be prepared for a value. If the store ran out
// of space, the search ends. After any other failure, such as a lost connection, the search tries
// the value again a few times. handlePreloadFailure returns false if no trial has ended yet; the
// failure then ends the run.
func (s *seeker) handlePreloadFailure(why error) bool {
	if len(s.found.Trials) == 0 {
		return false
	}
	words := fmt.Sprintf("the store could not be prepared for %s: %s", s.planText(), text.Line(why.Error(), text.MaxOutput))
	var full *load.NoSpaceError
	if !errors.As(why, &full) {
		s.search.Add(capacity.Trial{Plan: s.plan, StartTime: s.Now().Sub(s.began).Seconds(), VoidReason: words}, 0)
		s.Display.Line(words)
		return true
	}
	s.search.EndWithoutSpace(words)
	s.recordProgress(false)
	return true
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// planText returns the rate or the parameter's value that the current plan tries.
func (s *seeker) planText() string {
	if s.Parameter != nil {
		return s.Parameter.Key + "=" + text.Number(s.plan.Rate)
	}
	return text.PerSecond(s.plan.Rate)
}

// addTrial adds the result of a trial.
func (s *seeker) addTrial(t *record.Trial) error {
	if s.warmUp.isRunning() {
		s.addWarmUpTrial(t)
		return nil
	}
	opened := t.Started
	if t.Opened != nil {
		opened = *t.Opened
	}
	tried, err := s.Objective.TrialResult(t, s.plan, opened.Sub(s.began).Seconds())
	if err != nil {
		return err
	}
	began := t.Started
	if s.Parameter != nil {
		began = s.plannedAt // includes the time to start its cluster and create its objects
	}
	s.search.Add(tried, s.Now().Sub(began).Seconds())
	if why := size.OutOfSpace(t); why != "" {
		s.search.EndWithoutSpace(fmt.Sprintf("the store ran out of space at %s: %s", s.planText(), why))
	}
	result := record.CapacityTrial{Rate: s.plan.Rate, Purpose: string(s.plan.Purpose), VoidReason: tried.VoidReason, BadShares: []*float64{}}
	if p := s.Parameter; p != nil {
		result.Value, result.Rate = s.plan.Rate, p.offeredRate(s.plan.Rate)
	}
	if tried.Due > 0 && len(tried.Seconds) > 0 {
		for g := range s.search.Goals {
			result.BadShares = append(result.BadShares, new(tried.Share(g)))
		}
	}
	if tried.VoidReason == "" {
		result.Holds, result.Overloaded = tried.Holds(s.search.Goals), tried.Overloaded(s.search.Goals)
	}
	s.found.Trials = append(s.found.Trials, result)
	s.Display.Line(fmt.Sprintf("[%d] %s %s: %s", t.Number, s.plan.Purpose, s.planText(), triedText(&result, t)))
	return nil
}

// addWarmUpTrial adds the result of a warm-up trial. After the warm-up, the first rate is a
// fraction of the closed loop's throughput, unless the options set the first rate.
func (s *seeker) addWarmUpTrial(t *record.Trial) {
	s.found.WarmUp = s.warmUp.addTrial(t.PerSecond, s.SlowStartReason(s.load.Cluster.Store))
	s.found.Trials = append(s.found.Trials, record.CapacityTrial{Purpose: record.PurposeWarmUp, BadShares: []*float64{}})
	s.search.KnownThroughput = max(s.search.KnownThroughput, t.PerSecond)
	if first := t.PerSecond * warmUpShare; s.InitialRate == nil {
		s.search.InitialRate = min(max(first, FirstRate), s.search.MaxRate)
	}
	s.Display.Line(fmt.Sprintf("[%d] warm-up with a closed loop: %s done", t.Number, text.PerSecond(t.PerSecond)))
}

// triedText describes the result of a trial on one line.
func triedText(c *record.CapacityTrial, t *record.Trial) string {
	words := fmt.Sprintf("%s done, p50 %s, p99 %s", text.PerSecond(t.PerSecond), t.ResponseTime.Percentile(50).Text(), t.ResponseTime.Percentile(99).Text())
	switch {
	case c.VoidReason != "":
		return words + "; void: " + c.VoidReason
	case c.Overloaded:
		return words + "; overloaded"
	case c.Holds:
		return words + "; met"
	}
	return words + "; missed"
}

// recordProgress records the progress of the search. more is set if another trial follows.
func (s *seeker) recordProgress(more bool) {
	r := s.search.Result()
	f, is := &s.found, s.recordInterval(r.Interval)
	f.Lower, f.Upper, f.Estimate = is.Lower, is.Upper, is.Estimate
	f.LowerPerSecond, f.UpperPerSecond, f.EstimatePerSecond = is.LowerPerSecond, is.UpperPerSecond, is.EstimatePerSecond
	s.intervalText = "" // a new period may have no upper end yet
	if p := s.Parameter; p != nil && f.Upper != nil {
		s.intervalText = fmt.Sprintf("; so far %s=%s", p.Key, text.JoinRange(text.Number(*f.Lower), text.Number(*f.Upper)))
	} else if f.UpperPerSecond != nil {
		s.intervalText = fmt.Sprintf("; capacity so far %s", text.JoinRange(text.PerSecond(f.LowerPerSecond), text.PerSecond(*f.UpperPerSecond)))
	}
	f.Periods = nil
	for _, p := range r.Periods {
		one := s.recordInterval(p.Interval)
		one.FromSeconds, one.ToSeconds = p.From, p.To
		f.Periods = append(f.Periods, one)
	}
	f.Status, f.Reason = string(r.Status), r.Reason
	if more {
		f.Status, f.Reason = record.CapacitySearching, ""
	}
}

// recordInterval returns an interval in the form that records use: in operations per second and, if
// the search is for a parameter's value, also in values of the parameter.
func (s *seeker) recordInterval(i capacity.Interval) (period record.CapacityPeriod) {
	isMet := i.Estimate > 0 // no estimate unless at least one rate met the objective
	p := s.Parameter
	if p == nil {
		if period.LowerPerSecond = i.Lower; i.Closed() {
			period.UpperPerSecond = new(i.Upper)
		}
		if i.Closed() && isMet {
			period.EstimatePerSecond = new(i.Estimate)
		}
		return period
	}
	if period.Lower = new(p.floor(i.Lower)); *period.Lower > 0 {
		period.LowerPerSecond = p.offeredRate(*period.Lower)
	}
	if !i.Closed() {
		return period
	}
	period.Upper = new(p.floor(i.Upper))
	period.UpperPerSecond = new(p.offeredRate(*period.Upper))
	if !isMet {
		return period
	}
	if period.Estimate = new(min(max(p.floor(i.Estimate), *period.Lower), *period.Upper)); *period.Estimate > 0 {
		period.EstimatePerSecond = new(p.offeredRate(*period.Estimate))
	}
	return period
}

// show displays the progress of a trial.
func (s *seeker) show(p runner.Progress) {
	words := fmt.Sprintf("[%d] %s: %s", p.Trial, p.Name, p.Stage)
	switch p.Stage {
	case runner.TrialDone:
		return // addTrial shows its result
	case runner.Starting, runner.Stopping:
		words = fmt.Sprintf("%s the %s", p.Stage, p.Name)
	case runner.Measuring, runner.Draining:
		words += ", " + text.PerSecond(p.PerSecond)
	}
	s.Display.Update(fmt.Sprint(p.Stage, p.Trial), p.Elapsed, words+s.intervalText)
}

package cli

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/analyze/size"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/runner"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// seeker has the runner do what a search asks for.
type seeker struct {
	objective *size.Objective
	search    *capacity.Search
	load      scenario.Trial
	name      string // before the names of its trials
	reason    string // why the store is slower at first; empty: not known
	warm      *warming
	from      bool // the first rate was asked for
	until     time.Duration
	parameter *searchedParameter // that is searched in place of the rate; nil: the rate is
	found     record.Capacity
	plan      capacity.Plan // of the trial that runs
	planned   int           // trials
	began     time.Time     // when the first did; zero: none has
	asked     time.Time     // when the one that runs was planned
	now       func() time.Time
	display   *command.Display
	soFar     string // the interval
}

// newSeeker begins a search that may take so long.
func newSeeker(f *capacityFlags, load scenario.Trial, until time.Duration, now func() time.Time, d *command.Display, p *searchedParameter) *seeker {
	o := capacity.Options{Goals: f.objective.Goals(), Until: until.Seconds(), Width: f.width, From: f.from, Least: leastRate, Most: f.most, Overhead: 0.5}
	if p != nil {
		o = p.options(o, load.Cluster.Attach == nil)
	}
	s := &seeker{objective: &f.objective, search: capacity.New(o), load: load, from: f.given("from"), parameter: p, until: until, now: now, display: d}
	s.found = record.Capacity{Objective: f.objective.Text, UntilNS: until.Nanoseconds(), Width: f.width, Level: capacity.DefaultLevel, Status: record.CapacitySearching}
	if s.load.Load.Arrival == scenario.Closed {
		s.load.Load.Arrival = scenario.Poisson
	}
	s.load.Load.Total, s.load.Repeat, s.load.Repeats = 0, 1, 1
	if p != nil {
		s.found.Parameter = p.key
		return s
	}
	if load.Cluster.Attach == nil {
		atMost := f.warmUp
		if !f.given("warm-up") {
			atMost = min(atMost, until/5)
		}
		s.warm = newWarming(atMost)
	}
	if s.warm == nil && !s.from {
		s.search.From = min(firstTelling(o.Goals), o.Most)
	}
	return s
}

// firstTelling returns the first rate that is tried where nothing is known of the store:
// one at which a window of firstWindow seconds shows the percentiles that goals bound.
func firstTelling(goals []capacity.Goal) float64 {
	rate := float64(firstRate)
	for _, g := range goals {
		if g.Percentile {
			rate = max(rate, 10/(g.Limit*firstWindow))
		}
	}
	return rate
}

// firstWindow is how long the first window is at most, in seconds.
const firstWindow = 10

// ended ends the search without any trial.
func (s *seeker) ended(status capacity.Status, why string) {
	s.found.Status, s.found.Why = string(status), why
}

// next takes what a trial came to, and returns the next, whose number in the run is
// given; nil when the search is over.
func (s *seeker) next(before *record.Trial, number int) (*scenario.Trial, error) {
	at := 0.0
	if s.found.Status != record.CapacitySearching {
		return nil, nil
	}
	if s.parameter != nil && s.began.IsZero() {
		s.began = s.now() // what is prepared for the first trial takes time, too
	}
	if !s.began.IsZero() {
		at = s.now().Sub(s.began).Seconds()
	}
	if before != nil {
		if s.began.IsZero() {
			s.began = before.Started
		}
		at = s.now().Sub(s.began).Seconds()
		if err := s.take(before); err != nil {
			return nil, err
		}
	}
	t := s.load
	t.Number = number
	t.Load.Seed = (s.load.Load.Seed + uint64(number-1)) & (1<<63 - 1)
	if length, n := s.warm.next(); length > 0 {
		t.Name = fmt.Sprintf("%swarm-up-%d", s.name, n)
		t.Load.Arrival, t.Load.Rate = scenario.Closed, scenario.Rate{}
		t.Load.Clients = max(t.Load.Clients, t.Load.Connections)
		t.Load.Warmup, t.Load.Duration = 0, length
		s.planned++
		return &t, nil
	}
	plan, more := s.search.Next(at)
	s.tell(more)
	if !more {
		return nil, nil
	}
	s.plan, s.asked = plan, s.now()
	s.planned++
	if s.parameter != nil {
		return s.valued(number)
	}
	t.Name = fmt.Sprintf("%s%s-%s", s.name, plan.Purpose, nameRate(plan.Rate))
	t.Load.Rate = scenario.Rate{PerSecond: plan.Rate}
	t.Load.Warmup, t.Load.Duration = seconds(plan.Warmup), seconds(plan.Window)
	return &t, nil
}

// nameRate returns a rate with five significant digits and without an exponent.
func nameRate(rate float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(rate, 'g', 5, 64), 64) // it reads what it wrote
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// valued is the planned trial of a parameter's value.
func (s *seeker) valued(number int) (*scenario.Trial, error) {
	t, err := s.parameter.trial(s.plan.Rate)
	if err != nil {
		return nil, err
	}
	t.Name, t.Number, t.Repeat, t.Repeats = s.parameter.name(&s.plan), number, 1, 1
	t.Load.Seed = (s.load.Load.Seed + uint64(number-1)) & (1<<63 - 1)
	t.Load.Duration = seconds(s.plan.Window)
	return t, nil
}

// unprepared takes that the store could not be prepared for a value. Where it has no room
// the search ends with what is known. Anything else, such as a connection that was lost,
// tells nothing of the value, which is tried again some times. false where nothing is
// known: the first failure is of the run.
func (s *seeker) unprepared(why error) bool {
	if len(s.found.Trials) == 0 {
		return false
	}
	words := fmt.Sprintf("the store could not be prepared for %s: %s", s.shown(), text.Line(why.Error(), text.OfOutput))
	var full *load.NoSpaceError
	if !errors.As(why, &full) {
		s.search.Add(capacity.Trial{Plan: s.plan, Began: s.now().Sub(s.began).Seconds(), Void: words}, 0)
		s.display.Line(words)
		return true
	}
	s.search.NoRoom(words)
	s.tell(false)
	return true
}

func seconds(s float64) time.Duration {
	return time.Duration(s * float64(time.Second)).Round(time.Millisecond)
}

// shown returns the rate, or the value of the parameter, that the plan tries.
func (s *seeker) shown() string {
	if s.parameter != nil {
		return s.parameter.key + "=" + text.Number(s.plan.Rate)
	}
	return text.PerSecond(s.plan.Rate)
}

// take adds what a trial came to.
func (s *seeker) take(t *record.Trial) error {
	if s.warm.runs() {
		s.warmed(t)
		return nil
	}
	opened := t.Started
	if t.Opened != nil {
		opened = *t.Opened
	}
	tried, err := s.objective.Tried(t, s.plan, opened.Sub(s.began).Seconds())
	if err != nil {
		return err
	}
	began := t.Started
	if s.parameter != nil {
		began = s.asked // its cluster was started, and its objects were made
	}
	s.search.Add(tried, s.now().Sub(began).Seconds())
	if why := size.OutOfSpace(t); why != "" {
		s.search.NoRoom(fmt.Sprintf("the store ran out of space at %s: %s", s.shown(), why))
	}
	one := record.CapacityTrial{Rate: s.plan.Rate, Purpose: string(s.plan.Purpose), Void: tried.Void, Bad: []*float64{}}
	if p := s.parameter; p != nil {
		one.Value, one.Rate = s.plan.Rate, p.offered(s.plan.Rate)
	}
	if tried.Due > 0 && len(tried.Seconds) > 0 {
		for g := range s.search.Goals {
			one.Bad = append(one.Bad, new(tried.Share(g)))
		}
	}
	if tried.Void == "" {
		one.Holds, one.Overloaded = tried.Holds(s.search.Goals), tried.Overloaded(s.search.Goals)
	}
	s.found.Trials = append(s.found.Trials, one)
	s.display.Line(fmt.Sprintf("[%d] %s %s: %s", t.Number, s.plan.Purpose, s.shown(), triedText(&one, t)))
	return nil
}

// warmed takes what a trial that warms up came to. A store that is warm is searched from
// a part of what a closed loop has of it, unless a first rate was asked for.
func (s *seeker) warmed(t *record.Trial) {
	s.found.WarmUp = s.warm.take(t.PerSecond, s.reason)
	s.found.Trials = append(s.found.Trials, record.CapacityTrial{Purpose: record.PurposeWarmUp, Bad: []*float64{}})
	s.search.Seen = max(s.search.Seen, t.PerSecond)
	if first := t.PerSecond * warmShare; !s.from {
		s.search.From = min(max(first, firstRate), s.search.Most)
	}
	s.display.Line(fmt.Sprintf("[%d] warm-up: %s done by a closed loop", t.Number, text.PerSecond(t.PerSecond)))
}

// triedText is what a trial came to, in a line.
func triedText(c *record.CapacityTrial, t *record.Trial) string {
	words := fmt.Sprintf("%s done, p50 %s, p99 %s", text.PerSecond(t.PerSecond), t.ResponseTime.At(50).Text(), t.ResponseTime.At(99).Text())
	switch {
	case c.Void != "":
		return words + "; void: " + c.Void
	case c.Overloaded:
		return words + "; overloaded"
	case c.Holds:
		return words + "; kept"
	}
	return words + "; missed"
}

// tell writes down how far the search has come.
func (s *seeker) tell(more bool) {
	r := s.search.Result()
	f, is := &s.found, s.recorded(r.Interval)
	f.Lower, f.Upper, f.Estimate = is.Lower, is.Upper, is.Estimate
	f.LowerPerSecond, f.UpperPerSecond, f.EstimatePerSecond = is.LowerPerSecond, is.UpperPerSecond, is.EstimatePerSecond
	if p := s.parameter; p != nil && f.Upper != nil {
		s.soFar = fmt.Sprintf("; so far it is %s of %s", text.Between(text.Number(*f.Lower), text.Number(*f.Upper)), p.key)
	} else if f.UpperPerSecond != nil {
		s.soFar = fmt.Sprintf("; so far it is %s", text.Between(text.PerSecond(f.LowerPerSecond), text.PerSecond(*f.UpperPerSecond)))
	}
	f.Periods = nil
	for _, p := range r.Periods {
		one := s.recorded(p.Interval)
		one.FromSeconds, one.ToSeconds = p.From, p.To
		f.Periods = append(f.Periods, one)
	}
	f.Status, f.Why = string(r.Status), r.Why
	if more {
		f.Status, f.Why = record.CapacitySearching, ""
	}
}

// recorded returns an interval as the record has it: in operations a second and, where a
// parameter is searched, in its values.
func (s *seeker) recorded(i capacity.Interval) (is record.CapacityPeriod) {
	held := i.Estimate > 0 // where none did, there is nothing to be estimated
	p := s.parameter
	if p == nil {
		if is.LowerPerSecond = i.Lower; i.Closed() {
			is.UpperPerSecond = new(i.Upper)
		}
		if i.Closed() && held {
			is.EstimatePerSecond = new(i.Estimate)
		}
		return is
	}
	if is.Lower = new(p.floor(i.Lower)); *is.Lower > 0 {
		is.LowerPerSecond = p.offered(*is.Lower)
	}
	if !i.Closed() {
		return is
	}
	is.Upper = new(p.floor(i.Upper))
	is.UpperPerSecond = new(p.offered(*is.Upper))
	if !held {
		return is
	}
	if is.Estimate = new(min(max(p.floor(i.Estimate), *is.Lower), *is.Upper)); *is.Estimate > 0 {
		is.EstimatePerSecond = new(p.offered(*is.Estimate))
	}
	return is
}

// show takes how a trial goes.
func (s *seeker) show(p runner.Progress) {
	words := fmt.Sprintf("[%d] %s: %s", p.Trial, p.Name, p.Stage)
	switch p.Stage {
	case runner.TrialDone:
		return // next says what it came to
	case runner.Starting, runner.Stopping:
		words = fmt.Sprintf("%s the %s", p.Stage, p.Name)
	case runner.Measuring, runner.Draining:
		words += ", " + text.PerSecond(p.PerSecond)
	}
	s.display.Update(fmt.Sprint(p.Stage, p.Trial), p.Elapsed, words+s.soFar)
}

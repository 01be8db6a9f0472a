package capacity

import (
	"math"
)

// Plan is what is to be tried next.
type Plan struct {
	Rate    float64 `json:"rate_per_second"`
	Warmup  float64 `json:"warmup_seconds"`
	Window  float64 `json:"window_seconds"`
	Purpose Purpose `json:"purpose"`
}

// Purpose is what a trial is for.
type Purpose string

// The purposes.
const (
	Explore Purpose = "explore" // until one holds and one does not
	Narrow  Purpose = "narrow"  // between these
	Refine  Purpose = "refine"  // both ends of the interval
	Settle  Purpose = "settle"  // wait until a light load is as it was
	Confirm Purpose = "confirm" // both ends once more, at the end
)

// Status is how a search ended.
type Status string

// The statuses.
const (
	Found         Status = "found"          // as narrow as asked for
	TimeOver      Status = "time_over"      // wider than that
	Disturbed     Status = "disturbed"      // trials contradict each other: the capacity moved
	HoldsNowhere  Status = "holds_nowhere"  // not even at the lowest rate
	AtLeast       Status = "at_least"       // still at the highest rate that could be tried
	Interrupted   Status = "interrupted"    // by the user
	NothingTested Status = "nothing_tested" // no trial told anything
)

// Options are what a search is for.
type Options struct {
	Goals []Goal
	// Until bounds the search, in seconds; it begins no trial that would end later.
	Until float64
	// Width is how wide an interval is narrow enough, as a share; Level how sure.
	Width, Level float64
	// From is the first rate, and Least and Most the bounds of all.
	From, Least, Most float64
	// Overhead is what a trial takes beside its warm-up and window, in seconds.
	Overhead float64
}

// DefaultWidth and DefaultLevel are those of Options.
const (
	DefaultWidth = 0.02
	DefaultLevel = 0.95
)

// The lengths of windows, in seconds.
const (
	exploring = 2
	narrowing = 3
	refining  = 6
	longest   = 20
	settling  = 1
)

// Search is one under way. It belongs to one goroutine.
type Search struct {
	Options
	Trials []Trial

	overhead    float64 // seen so far, the longest
	light       *Trial  // the first that held: how it is under a light load
	heavy       bool    // the last trial overloaded the store
	unsettled   int     // trials in a row in which it had not settled
	void        int     // trials in a row that told nothing
	confirming  int     // trials of the confirmation that were asked for
	confirmed   bool
	moved       bool
	ceiling     float64 // the highest rate that the generator reaches; 0: not known
	ended       Status
	why         string
	interval    Interval // the last
	interrupted bool
}

// New begins a search.
func New(o Options) *Search {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	return &Search{Options: o, overhead: o.Overhead}
}

// mostVoid is how many trials in a row may tell nothing, and mostUnsettled in how
// many a store may not have settled.
const (
	mostVoid      = 3
	mostUnsettled = 8
)

// Next says what to try next, at so many seconds of the search; false when it is
// over.
func (s *Search) Next(now float64) (Plan, bool) {
	if s.ended != "" {
		return Plan{}, false
	}
	p, ok := s.choose()
	if !ok {
		return Plan{}, false
	}
	if now+p.Warmup+p.Window+s.overhead > s.Until && len(s.Trials) > 0 {
		s.end(TimeOver, "the time was over")
		return Plan{}, false
	}
	return p, true
}

func (s *Search) end(status Status, why string) { s.ended, s.why = status, why }

// Add takes what a trial came to. took is how long all of it was, in seconds.
func (s *Search) Add(t Trial, took float64) {
	s.overhead = math.Max(s.overhead, took-t.Warmup-t.Window)
	s.Trials = append(s.Trials, t)
	switch {
	case t.Void != "":
		if s.void++; s.void >= mostVoid && s.ended == "" {
			s.end(AtLeast, t.Void)
		}
		return
	case t.Purpose == Settle:
		if s.heavy = !s.settled(&t); s.heavy {
			if s.unsettled++; s.unsettled >= mostUnsettled {
				s.end(Disturbed, "the store did not settle after an overload")
			}
		} else {
			s.unsettled = 0
		}
		return
	}
	s.void = 0
	if s.heavy = t.Overloaded(); !s.heavy && s.light == nil && t.Holds(s.Goals) {
		s.light = &s.Trials[len(s.Trials)-1]
	}
}

// settled reports whether a light load is as it was: within the objective.
func (s *Search) settled(t *Trial) bool { return t.Holds(s.Goals) }

// choose decides what is next without regard to time.
func (s *Search) choose() (Plan, bool) {
	pass, fail := s.bracket()
	if s.heavy && s.light != nil {
		return s.plan(math.Max(s.light.Rate, math.Min(pass, fail)/4), Settle, settling), true
	}
	switch {
	case pass == 0 && math.IsInf(fail, 1):
		return s.plan(s.From, Explore, exploring), true
	case pass == 0 && fail <= s.Least:
		s.end(HoldsNowhere, "the objective does not hold even at the lowest rate tried")
		return Plan{}, false
	case pass == 0:
		return s.plan(math.Max(fail/8, s.Least), Explore, exploring), true
	case math.IsInf(fail, 1) && pass >= s.Most:
		s.end(AtLeast, "the objective holds at the highest rate allowed")
		return Plan{}, false
	case math.IsInf(fail, 1):
		return s.plan(math.Min(pass*4, s.Most), Explore, exploring), true
	case fail/pass > 1.12:
		return s.plan(s.between(pass, fail), Narrow, narrowing), true
	}
	return s.refine()
}

func (s *Search) plan(rate float64, purpose Purpose, window float64) Plan {
	p := Plan{Rate: rate, Window: window, Purpose: purpose, Warmup: math.Max(0.5, window/6)}
	if purpose == Settle {
		p.Warmup = 0.5
	}
	return p
}

// bracket are the highest rate that held below all that failed, and the lowest that
// failed; 0 and +Inf for none. What contradicts itself near the capacity is left to
// the estimate.
func (s *Search) bracket() (pass, fail float64) {
	fail = math.Inf(1)
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && !t.Holds(s.Goals) {
			fail = math.Min(fail, t.Rate)
		}
	}
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate < fail && t.Holds(s.Goals) {
			pass = math.Max(pass, t.Rate)
		}
	}
	return pass, fail
}

func (s *Search) counts(t *Trial) bool { return t.Void == "" && t.Purpose != Settle }

// between chooses a rate between one that held and one that failed. What a store
// completes in an overload is near what it can: that is tried first, a little below.
func (s *Search) between(pass, fail float64) float64 {
	for i := len(s.Trials) - 1; i >= 0; i-- {
		t := &s.Trials[i]
		if !s.counts(t) || !t.Overloaded() || t.Rate != fail {
			continue
		}
		served := t.Done / t.Length
		for _, share := range []float64{0.97, 1.015} {
			if r := share * served; r > pass*1.01 && r < fail/1.01 {
				return r
			}
		}
	}
	return math.Sqrt(pass * fail)
}

// Estimate is the interval as the trials so far have it.
func (s *Search) Estimate() Interval {
	pass, fail := s.bracket()
	if pass == 0 || math.IsInf(fail, 1) {
		return Interval{Lower: pass, Estimate: pass, Upper: fail}
	}
	low, high := math.Log(pass)-0.08, math.Log(fail)+0.08
	for i := range s.Trials { // a trial that held above one that failed
		if t := &s.Trials[i]; s.counts(t) && t.Rate > fail && t.Holds(s.Goals) {
			high = math.Max(high, math.Log(t.Rate)+0.08)
		}
	}
	out := Interval{Lower: math.Inf(1), Estimate: math.Inf(1), Upper: math.Inf(1)}
	hidden := mostGrowth
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed {
			continue // nothing was bad: another goal is the bound
		}
		from, best, to := profile(points, goal, low, high, s.Level)
		out.Lower, out.Estimate, out.Upper = math.Min(out.Lower, math.Exp(from)), math.Min(out.Estimate, math.Exp(best)), math.Min(out.Upper, math.Exp(to))
		hidden = math.Min(hidden, goal.Span/refining)
	}
	out.Lower *= 1 - hidden // an overload so small shows in no window
	return out
}

// points are those of a goal near the crossing, and whether the goal failed.
func (s *Search) points(goal int, low, high float64) (points []point, crossed bool) {
	for i := range s.Trials {
		t := &s.Trials[i]
		if x := math.Log(t.Rate); !s.counts(t) || x < low-0.1 || x > high+0.1 {
			continue
		}
		points = append(points, pointOf(t, s.Goals[goal], goal))
		crossed = crossed || t.Overloaded() || t.Share(goal) > s.Goals[goal].Limit
	}
	return points, crossed
}

// refine narrows the interval from both ends, and has them confirmed.
func (s *Search) refine() (Plan, bool) {
	s.interval = s.Estimate()
	i := s.interval
	if i.Width() <= s.Width && s.confirming == 0 && s.bothSides(i) {
		s.confirming = 1
		return s.plan(i.Lower, Confirm, refining), true
	}
	if s.confirming == 1 {
		s.confirming = 2
		return s.plan(i.Upper, Confirm, refining), true
	}
	if i.Width() <= s.Width && s.bothSides(i) {
		s.end(Found, "the interval is as narrow as asked for, and both its ends were measured again")
		return Plan{}, false
	}
	below, above := i.Estimate-i.Lower, i.Upper-i.Estimate
	n, nb, na := 0, 0.0, 0.0
	for k := range s.Trials {
		if t := &s.Trials[k]; s.counts(t) && (t.Purpose == Refine || t.Purpose == Confirm) {
			n++
			if t.Rate < i.Estimate {
				nb += t.Length
			} else {
				na += t.Length
			}
		}
	}
	window := math.Min(refining+float64(n), longest)
	least, most := 0.35*s.Width*i.Estimate, 0.6*below
	rate := i.Estimate - math.Max(least, most)
	if above*(1+nb) > below*(1+na) {
		rate = i.Estimate + math.Max(least, 0.6*above)
	}
	return s.plan(rate, Refine, window), true
}

// bothSides reports whether longer trials were made on both sides of the estimate.
func (s *Search) bothSides(i Interval) bool {
	below, above := false, false
	for k := range s.Trials {
		t := &s.Trials[k]
		if !s.counts(t) || t.Length < narrowing || t.Rate < i.Lower*(1-s.Width) || t.Rate > i.Upper*(1+s.Width) {
			continue
		}
		below, above = below || t.Rate <= i.Estimate, above || t.Rate >= i.Estimate
	}
	return below && above
}

// Result is how a search ended, or stands.
type Result struct {
	Interval
	Status Status
	Why    string // a sentence without its end
}

// Interrupt ends a search before it is over.
func (s *Search) Interrupt() {
	if s.ended == "" {
		s.end(Interrupted, "it was interrupted")
	}
}

// Result says what the trials so far prove.
func (s *Search) Result() Result {
	r := Result{Interval: s.Estimate(), Status: s.ended, Why: s.why}
	return r
}

package capacity

import (
	"math"
	"slices"
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
	Found        Status = "found"         // as narrow as asked for
	TimeOver     Status = "time_over"     // wider than that
	Disturbed    Status = "disturbed"     // trials contradict each other: the capacity moved
	HoldsNowhere Status = "holds_nowhere" // not even at the lowest rate
	AtLeast      Status = "at_least"      // still at the highest rate that could be tried
	NoSpace      Status = "no_space"      // wider than that: the store has no space for more trials
	Interrupted  Status = "interrupted"   // by the user
	NotKnown     Status = "not_known"     // no trial told anything, or too little
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
	// Seen is how many operations a second the store has done before the search, as in a
	// closed loop that warmed it up; 0: not known.
	Seen float64
	// Parameter is what is searched in place of a rate; nil for a rate.
	Parameter *Parameter
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

	beside    beside
	light     float64  // the first rate that held; 0: none has
	heavy     bool     // the last trial overloaded the store
	unsettled int      // trials in a row in which it had not settled
	void      int      // trials in a row that told nothing
	periods   []Period // those that are over
	start     float64  // of the period that is under way, whose trials are Trials
	ended     Status
	found     Interval // where it ended so
	why       string
}

// New begins a search.
func New(o Options) *Search {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	return &Search{Options: o, beside: beside{longest: o.Overhead}}
}

// mostUnsettled is in how many trials in a row a store may not have settled.
const mostUnsettled = 8

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
	if now+p.Warmup+p.Window+s.takes(p.Rate) > s.Until && len(s.Trials) > 0 {
		s.end(TimeOver, "the time was over")
		return Plan{}, false
	}
	return p, true
}

func (s *Search) end(status Status, why string) { s.ended, s.why = status, why }

// Add takes what a trial came to. took is how long all of it was, in seconds. One that is
// void and has no Length did not begin.
func (s *Search) Add(t Trial, took float64) {
	if t.Length > 0 && !t.Overloaded(s.Goals) { // after an overload the drain is long
		value := 0.0
		if s.Parameter != nil {
			value = t.Rate
		}
		s.beside.add(value, took-t.Warmup-t.Window)
	}
	s.Trials = append(s.Trials, t)
	switch {
	case t.Void != "":
		s.void++
		s.heavy = t.Purpose != Settle && t.Overloaded(s.Goals)
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
	if s.heavy = t.Overloaded(s.Goals) || t.heavily(s.Goals); s.light == 0 && !s.failsAt(t.Rate) {
		s.light = t.Rate
	}
	s.split()
}

// settled reports whether a light load is as it was: within the objective.
func (s *Search) settled(t *Trial) bool { return s.evidence([]*Trial{t}) < failing }

// choose decides what is next without regard to time.
func (s *Search) choose() (Plan, bool) {
	pass, fail := s.bracket()
	if s.heavy && s.light > 0 && (s.Parameter == nil || !s.Parameter.Fresh) {
		return s.plan(math.Max(s.light, math.Min(pass, fail)/4), Settle, settling), true
	}
	if again := s.at(fail); fail/math.Max(pass, 1) > nearEnough && len(again) == 1 && s.evidence(again) < certain {
		return s.plan(fail, Narrow, refining), true // a machine that stands still for once makes any rate fail
	}
	switch {
	case pass == 0 && math.IsInf(fail, 1):
		return s.first()
	case pass == 0 && fail <= s.Least:
		s.end(HoldsNowhere, "the objective does not hold even at the lowest "+s.called()+" tried")
		return Plan{}, false
	case pass == 0:
		return s.lower(fail)
	case math.IsInf(fail, 1):
		return s.higher(pass)
	case fail/pass > nearEnough && fail-pass > s.step():
		more := float64(1 + s.contradictions())
		rate := s.between(pass, fail)
		if s.void%2 == 1 && rate/pass > nearEnough && rate-pass > s.step() { // that one is tried again, later
			rate = math.Sqrt(pass * rate)
		}
		return s.plan(rate, Narrow, math.Min(narrowing*more*more+float64(s.void), longest)), true
	}
	return s.refine()
}

func (s *Search) plan(rate float64, purpose Purpose, window float64) Plan {
	if s.step() > 0 {
		rate = math.Max(math.Round(rate), s.Least)
	}
	p := Plan{Rate: rate, Window: window, Purpose: purpose, Warmup: 0.5}
	if purpose != Settle {
		p.Window = s.window(rate, window)
		p.Warmup = math.Min(math.Max(0.5, p.Window/6), longest/6)
	}
	if s.Parameter != nil {
		p.Warmup, p.Window = 0, math.Max(p.Window, s.Parameter.Window)
	}
	return p
}

// mostServed is after how many overloads what a store serves in one tells no more.
const mostServed = 2

// between chooses a rate between one that held and one that failed. What a store
// serves in its first overload is often near what it can: that is tried first, a
// little below and above. From a rate that failed without an overload it is not far
// down: steps begin small and double. What overloads again is halved.
func (s *Search) between(pass, fail float64) float64 {
	inside := func(r float64) bool {
		return r > pass*1.01 && r < fail/1.01 && r >= pass+s.step() && r <= fail-s.step()
	}
	soft, heavy := 0, 0
	served := 0.0
	for i := range s.Trials {
		switch t := &s.Trials[i]; {
		case !s.counts(t):
		case t.Overloaded(s.Goals) || t.heavily(s.Goals):
			if heavy++; t.Rate == fail || served == 0 {
				served = t.Served / t.Length
			}
		case !t.Holds(s.Goals):
			soft++
		}
	}
	if heavy <= mostServed {
		for _, share := range []float64{0.985, 1.01} {
			if r := s.carrying(share*served, pass, fail); inside(r) {
				return r
			}
		}
	}
	if at := s.at(fail); heavy == 0 || !at[len(at)-1].heavily(s.Goals) {
		if r := fail * (1 - math.Min(0.02*math.Pow(2, float64(soft)), 0.5)); inside(r) {
			return r
		}
	}
	if s.step() > 0 {
		return math.Min(math.Max(math.Sqrt(pass*fail), pass+1), fail-1)
	}
	return math.Sqrt(pass * fail)
}

// Estimate is the interval as the trials so far have it.
func (s *Search) Estimate() Interval {
	pass, fail := s.bracket()
	if pass == 0 || math.IsInf(fail, 1) {
		held := s.held(fail)
		return Interval{Lower: held, Estimate: held, Upper: fail}
	}
	low, high := s.around(pass, fail)
	out := Interval{Lower: math.Inf(1), Estimate: math.Inf(1), Upper: math.Inf(1)}
	for g, goal := range s.Goals {
		points, crossed := s.points(g, low, high)
		if !crossed {
			continue // nothing was bad: another goal is the bound
		}
		from, best, to := profile(points, goal, low, high, s.Level)
		out.Lower, out.Estimate, out.Upper = math.Min(out.Lower, math.Exp(from)), math.Min(out.Estimate, math.Exp(best)), math.Min(out.Upper, math.Exp(to))
	}
	if math.IsInf(out.Lower, 1) {
		return Interval{Lower: pass, Estimate: math.Sqrt(pass * fail), Upper: fail}
	}
	out.Lower *= 1 - s.hidden()
	return out
}

// hidden is an overload so small that it shows in no window, as a share.
func (s *Search) hidden() float64 {
	hidden := mostGrowth
	for _, goal := range s.Goals {
		hidden = math.Min(hidden, goal.Span/refining)
	}
	return hidden
}

// around is where the capacity may be, in logarithms: beside the bracket, and as far
// as a trial held above one that failed, or missed the objective below one that did not.
func (s *Search) around(pass, fail float64) (low, high float64) {
	low, high = math.Log(pass)-0.4, math.Log(fail)+0.2
	for i := range s.Trials {
		if t := &s.Trials[i]; s.counts(t) && t.Rate > fail && !s.failsAt(t.Rate) {
			high = math.Max(high, math.Log(t.Rate)+0.2)
		} else if s.counts(t) && t.Rate < pass && !t.pointing() && !t.Holds(s.Goals) {
			low = math.Min(low, math.Log(t.Rate)-0.4)
		}
	}
	return low, high
}

// points are those of a goal near the crossing, and whether the goal failed. Trials
// that only point out where to look are among them where no other shows a failure.
func (s *Search) points(goal int, low, high float64) (points []point, crossed bool) {
	for _, pointing := range []bool{false, true} {
		points = points[:0]
		for i := range s.Trials {
			t := &s.Trials[i]
			if x := math.Log(t.Rate); !s.describes(t) || t.pointing() && !pointing || x < low-0.1 || x > high+0.1 {
				continue
			}
			points = append(points, pointOf(t, s.Goals, goal))
			due, _ := t.counts(goal)
			crossed = crossed || s.counts(t) && (t.surelyOverloaded(s.Goals) || t.surelyBad(goal) > s.Goals[goal].Limit*due)
		}
		if crossed {
			break
		}
	}
	return points, crossed
}

// Result is how a search ended, or stands.
type Result struct {
	Interval
	Status Status
	Why    string // a sentence without its end
	// Periods are the parts of the search between which the capacity changed, the last
	// with what it is now; nil where it did not change.
	Periods []Period
}

// Interrupt ends a search before it is over.
func (s *Search) Interrupt() {
	if s.ended == "" {
		s.end(Interrupted, "it was interrupted")
	}
}

// NoRoom ends a search because the store has no space for the next trial. The result is what
// the earlier trials prove.
func (s *Search) NoRoom(why string) { s.end(NoSpace, why) }

// Result says what the trials so far prove. Where they contradict each other under
// one capacity, but not under one that moves or changed, the interval is of all that it
// was, and the estimate is of what it is now.
func (s *Search) Result() Result {
	r := s.sinceChange()
	r.Interval = s.supported(r.Interval)
	if len(s.periods) == 0 {
		return r
	}
	last := Period{From: s.start, To: s.start, Interval: r.Interval}
	for i := range s.Trials {
		last.To = math.Max(last.To, s.Trials[i].Began+s.Trials[i].Length)
	}
	r.Periods = append(slices.Clone(s.periods), last)
	for _, p := range s.periods {
		r.include(p.Interval)
	}
	if s.ended != "" && s.ended != Interrupted {
		r.Status, r.Why = Disturbed, s.why+", and the capacity changed while it ran"
	}
	return r
}

// sinceChange is the result of the trials of the period that is under way.
func (s *Search) sinceChange() Result {
	r := Result{Interval: s.Estimate(), Status: s.ended, Why: s.why}
	if s.ended == Found {
		r.Interval = s.found
	}
	pass, fail := s.bracket()
	switch {
	case len(s.Trials) == 0:
		r.Status, r.Why = NotKnown, "no trial was made"
		return r
	case s.ended == NotKnown:
		return r
	case pass == 0 && math.IsInf(fail, 1) && s.ended == NoSpace:
		r.Status = NotKnown
		return r
	case math.IsInf(fail, 1) && s.ended == NoSpace:
		r.Status = AtLeast
		return r
	case pass == 0 && math.IsInf(fail, 1):
		r.Status, r.Why = NotKnown, noTrialTold
		return r
	case math.IsInf(fail, 1) && (s.ended == AtLeast || s.ended == TimeOver) && s.voidAbove(pass) && !s.known(pass):
		r.Status, r.Why = NotKnown, "the objective holds at a rate far below what the store has done already, and above that "+noTrialTold
		return r
	case s.ended == "" || s.ended == Interrupted || !r.Closed() || pass == 0:
		return r
	}
	if moved := s.moved(); moved.surely || s.ended != Found {
		s.mayHaveChanged(&r.Interval)
		r.include(moved.all)
		if moved.surely {
			r.Status, r.Why = Disturbed, "the trials contradict each other under one capacity: it moved while they ran"
		}
	}
	return r
}

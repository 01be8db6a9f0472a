package capacity

import "math"

// mostUnsettled is the number of consecutive trials after which the search ends if the store did
// not settle in any of them.
const mostUnsettled = 8

// Next returns the plan of the next trial. The parameter `now` is the time since the start of the
// search, in seconds. Next returns false if the search has ended.
func (s *Search) Next(now float64) (Plan, bool) {
	if s.ended != "" {
		return Plan{}, false
	}
	p, ok := s.choose()
	if !ok {
		return Plan{}, false
	}
	if now+p.Warmup+p.Window+s.takes(p.Rate) > s.Until && len(s.Trials) > 0 {
		s.end(TimeOver, "the time limit was reached; search for longer with --until")
		return Plan{}, false
	}
	return p, true
}

// Add adds the result of a trial. The parameter `took` is the duration of the whole trial, in
// seconds. A void trial whose Length is 0 never began.
func (s *Search) Add(t Trial, took float64) {
	// the overhead of an overloaded trial is not typical, because it includes a long drain
	if t.Length > 0 && !t.Overloaded(s.Goals) {
		value := 0.0
		if s.Parameter != nil {
			value = t.Rate
		}
		s.overheads.add(value, took-t.Warmup-t.Window)
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
				s.end(Disturbed, "the store did not recover from an overload")
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

// settled reports whether the store meets the objective again under a light load.
func (s *Search) settled(t *Trial) bool { return s.evidence([]*Trial{t}) < failing }

// choose returns the next plan. It ignores the time limit.
func (s *Search) choose() (Plan, bool) {
	pass, fail := s.bracket()
	if s.heavy && s.light > 0 && (s.Parameter == nil || !s.Parameter.Fresh) {
		return s.plan(math.Max(s.light, math.Min(pass, fail)/4), Settle, settling), true
	}
	if again := s.trialsAt(fail); fail/math.Max(pass, 1) > nearEnough && len(again) == 1 && s.evidence(again) < certain {
		// repeat the trial, because a single pause of the machine is enough to make any rate fail
		return s.plan(fail, Narrow, refining), true
	}
	switch {
	case pass == 0 && math.IsInf(fail, 1):
		return s.first()
	case pass == 0 && fail <= s.Least:
		s.end(HoldsNowhere, "the objective is missed even at the lowest "+s.called()+" tried")
		return Plan{}, false
	case pass == 0:
		return s.lower(fail)
	case math.IsInf(fail, 1):
		return s.higher(pass)
	case fail/pass > nearEnough && fail-pass > s.step():
		more := float64(1 + s.contradictions())
		rate := s.between(pass, fail)
		// after a void trial, try a lower rate first, and the void rate later
		if s.void%2 == 1 && rate/pass > nearEnough && rate-pass > s.step() {
			rate = math.Sqrt(pass * rate)
		}
		return s.plan(rate, Narrow, math.Min(narrowing*more*more+float64(s.void), longest)), true
	}
	return s.refine()
}

// mostServed is the number of overloaded trials after which their throughput provides no more
// information about the capacity.
const mostServed = 2

// between chooses a rate between a rate that held (pass) and a rate that failed (fail). The
// throughput during the first overload is often near the capacity, so rates slightly below and
// slightly above it are tried first. If a rate failed without a heavy overload, the capacity is
// close to it. So between tries rates below it, in steps that start small and double each time.
// Otherwise, between chooses the geometric mean of `pass` and `fail`.
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
	if at := s.trialsAt(fail); heavy == 0 || !at[len(at)-1].heavily(s.Goals) {
		if r := fail * (1 - math.Min(0.02*math.Pow(2, float64(soft)), 0.5)); inside(r) {
			return r
		}
	}
	if s.step() > 0 {
		return math.Min(math.Max(math.Sqrt(pass*fail), pass+1), fail-1)
	}
	return math.Sqrt(pass * fail)
}

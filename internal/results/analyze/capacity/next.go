package capacity

import "math"

// maxUnsettled is the number of consecutive trials after which the search ends if the store did
// not settle in any of them.
const maxUnsettled = 8

// Next returns the plan of the next trial. The parameter `now` is the time since the start of the
// search, in seconds. Next returns false if the search has ended.
func (s *Search) Next(now float64) (Plan, bool) {
	if s.finalStatus != "" {
		return Plan{}, false
	}
	p, ok := s.choosePlan()
	if !ok {
		return Plan{}, false
	}
	if now+p.Warmup+p.Window+s.expectedOverhead(p.Rate) > s.TimeLimit && len(s.Trials) > 0 {
		s.end(TimeOver, "the time limit was reached; search for longer with --until")
		return Plan{}, false
	}
	return p, true
}

// Add adds the result of a trial. The parameter `duration` is the duration of the whole trial, in
// seconds. A void trial whose Length is 0 never began.
func (s *Search) Add(t Trial, duration float64) {
	// the overhead of an overloaded trial is not typical, because it includes a long drain
	if t.Length > 0 && !t.Overloaded(s.Goals) {
		value := 0.0
		if s.Parameter != nil {
			value = t.Rate
		}
		s.overheads.add(value, duration-t.Warmup-t.Window)
	}
	s.Trials = append(s.Trials, t)
	switch {
	case t.VoidReason != "":
		s.consecutiveVoid++
		s.lastOverloaded = t.Purpose != Settle && t.Overloaded(s.Goals)
		return
	case t.Purpose == Settle:
		if s.lastOverloaded = !s.hasSettled(&t); s.lastOverloaded {
			if s.consecutiveUnsettled++; s.consecutiveUnsettled >= maxUnsettled {
				s.end(Disturbed, "the store did not recover from an overload")
			}
		} else {
			s.consecutiveUnsettled = 0
		}
		return
	}
	s.consecutiveVoid = 0
	if s.lastOverloaded = t.Overloaded(s.Goals) || t.heavilyOverloaded(s.Goals); s.firstHeldRate == 0 && !s.failsAt(t.Rate) {
		s.firstHeldRate = t.Rate
	}
	s.endPeriodOnChange()
}

// hasSettled reports whether the store meets the objective again under a light load.
func (s *Search) hasSettled(t *Trial) bool { return s.evidence([]*Trial{t}) < failing }

// choosePlan returns the next plan. It ignores the time limit.
func (s *Search) choosePlan() (Plan, bool) {
	pass, fail := s.bracket()
	if s.lastOverloaded && s.firstHeldRate > 0 && (s.Parameter == nil || !s.Parameter.FreshCluster) {
		return s.plan(math.Max(s.firstHeldRate, math.Min(pass, fail)/4), Settle, settling), true
	}
	if again := s.trialsAt(fail); fail/math.Max(pass, 1) > closeBracketRatio && len(again) == 1 && s.evidence(again) < certain {
		// repeat the trial, because a single pause of the machine is enough to make any rate fail
		return s.plan(fail, Narrow, refining), true
	}
	switch {
	case pass == 0 && math.IsInf(fail, 1):
		return s.planFirst()
	case pass == 0 && fail <= s.MinRate:
		s.end(HoldsNowhere, "the objective is missed even at the lowest "+s.rateNoun()+" tried")
		return Plan{}, false
	case pass == 0:
		return s.planLower(fail)
	case math.IsInf(fail, 1):
		return s.planHigher(pass)
	case fail/pass > closeBracketRatio && fail-pass > s.smallestStep():
		more := float64(1 + s.contradictions())
		rate := s.rateBetween(pass, fail)
		// after a void trial, try a lower rate first, and the void rate later
		if s.consecutiveVoid%2 == 1 && rate/pass > closeBracketRatio && rate-pass > s.smallestStep() {
			rate = math.Sqrt(pass * rate)
		}
		return s.plan(rate, Narrow, math.Min(narrowing*more*more+float64(s.consecutiveVoid), longestWindow)), true
	}
	return s.refine()
}

// maxServedTrials limits the use of the throughput under overload. After more overloaded trials
// than this, their throughput provides no new information about the capacity.
const maxServedTrials = 2

// rateBetween chooses a rate between a rate that held (pass) and a rate that failed (fail). The
// throughput during the first overload is often near the capacity, so rates slightly below and
// slightly above it are tried first. If a rate failed without a heavy overload, the capacity is
// close to it. So rateBetween tries rates below it, in steps that start small and double each time.
// Otherwise, rateBetween chooses the geometric mean of `pass` and `fail`.
func (s *Search) rateBetween(pass, fail float64) float64 {
	inside := func(r float64) bool {
		return r > pass*1.01 && r < fail/1.01 && r >= pass+s.smallestStep() && r <= fail-s.smallestStep()
	}
	soft, heavy := 0, 0
	served := 0.0
	for i := range s.Trials {
		switch t := &s.Trials[i]; {
		case !s.counts(t):
		case t.Overloaded(s.Goals) || t.heavilyOverloaded(s.Goals):
			if heavy++; t.Rate == fail || served == 0 {
				served = t.Served / t.Length
			}
		case !t.Holds(s.Goals):
			soft++
		}
	}
	if heavy <= maxServedTrials {
		for _, share := range []float64{0.985, 1.01} {
			if r := s.valueAtRate(share*served, pass, fail); inside(r) {
				return r
			}
		}
	}
	if at := s.trialsAt(fail); heavy == 0 || !at[len(at)-1].heavilyOverloaded(s.Goals) {
		if r := fail * (1 - math.Min(0.02*math.Pow(2, float64(soft)), 0.5)); inside(r) {
			return r
		}
	}
	if s.smallestStep() > 0 {
		return math.Min(math.Max(math.Sqrt(pass*fail), pass+1), fail-1)
	}
	return math.Sqrt(pass * fail)
}

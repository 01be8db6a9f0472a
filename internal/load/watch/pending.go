package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// An event without a value belongs to the write whose response has the same revision of the store.
// An event that arrives before the response waits for it, and is then identified and timed.

// pending is an event that waits for the response to its write.
type pending struct {
	revision, at int64
	reordered    bool
}

// timeOrKeep returns what such an event is, or keeps it until Resolve.
func (s *Sink) timeOrKeep(p pending) (seen Seen) {
	if seen, ok := s.identify(&p); ok {
		return seen
	}
	s.pending = append(s.pending, p)
	return seen
}

func (s *Sink) identify(p *pending) (seen Seen, ok bool) {
	phase, number, ok := s.cfg.Board.Answers.Lookup(p.revision)
	if !ok {
		return seen, false
	}
	seen = Seen{Counts: true, Phase: phase, Reordered: p.reordered}
	s.time(&seen, number, p.at)
	return seen, true
}

// Resolve calls found for each pending event whose write has a response by now, with the event's
// arrival time. An event that has waited for Config.Patience belongs to a write of another program.
func (s *Sink) Resolve(now int64, found func(seen Seen, at int64)) {
	if len(s.pending) == 0 {
		return
	}
	answers := s.cfg.Board.Answers.Count()
	if answers == s.answers && now-s.pending[0].at < s.cfg.Patience {
		return
	}
	s.answers = answers
	kept := s.pending[:0]
	for i := range s.pending {
		p := &s.pending[i]
		switch seen, ok := s.identify(p); {
		case ok:
			found(seen, p.at)
		case now-p.at >= s.cfg.Patience:
			s.total.Untimed++
			s.total.Foreign++
			found(Seen{Counts: true, Phase: measure.Measured, Reordered: p.reordered}, p.at)
		default:
			kept = append(kept, *p)
		}
	}
	s.pending = kept
}

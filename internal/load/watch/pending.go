package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// If an event has no value, it is matched with the write whose response contains the same revision
// of the store. If the event arrives before the response, it is stored until the response arrives.
// Only then is it identified and timed.

// pending is an event that waits for the response to its write.
type pending struct {
	revision, at int64
	reordered    bool
}

// timeOrKeep identifies and times the event if the response to its write has arrived. Otherwise it
// stores the event until Resolve is called.
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

// Resolve identifies the stored events whose writes have responses by now. For each of them it
// calls found, with the time at which the event arrived. An event that has waited for
// Config.Patience is considered to belong to a write by another program.
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

package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// An event without a value is matched with the write whose response contains the same revision of
// the store. If the event arrives before this response, the sink stores the event until the
// response arrives. Then the sink identifies the event's write and times the event.

// pending is an event that waits for the response to its write.
type pending struct {
	revision, at int64
	reordered    bool
}

// timeOrKeep identifies the event's write and times the event, if the response to the write has
// arrived. Otherwise it stores the event until Resolve is called.
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

// Resolve handles the stored events whose writes have a response by now: it identifies each event's
// write, and calls `found` with the event's arrival time. If an event has waited for
// Config.Patience, Resolve assumes that its write was made by another program, and calls `found`
// for this event, too.
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

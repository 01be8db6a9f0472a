package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// An event without a value is matched with the write whose response contains the same revision of
// the store. If the event arrives before this response, the sink stores the event until the
// response arrives. Then the sink identifies the event's write and times the event.

// pending is an event that waits for the response to its write.
type pending struct {
	revision, arrival int64
	reordered         bool
}

// timeOrStore identifies the event's write and times the event, if the response to the write has
// arrived. Otherwise it stores the event until Resolve is called.
func (s *Sink) timeOrStore(p pending) (seen EventReport) {
	if seen, ok := s.identify(&p); ok {
		return seen
	}
	s.pending = append(s.pending, p)
	return seen
}

func (s *Sink) identify(p *pending) (seen EventReport, ok bool) {
	phase, number, ok := s.cfg.Board.RevisionWriters.Lookup(p.revision)
	if !ok {
		return seen, false
	}
	seen = EventReport{Counts: true, Phase: phase, Reordered: p.reordered}
	s.time(&seen, number, p.arrival)
	return seen, true
}

// Resolve handles the stored events whose writes have a response by now: it identifies each event's
// write, and calls `handle` with the event's arrival time. If an event has waited for
// Config.MaxWait, Resolve assumes that its write was made by another program, and calls `handle`
// for this event, too.
func (s *Sink) Resolve(now int64, handle func(seen EventReport, at int64)) {
	if len(s.pending) == 0 {
		return
	}
	count := s.cfg.Board.RevisionWriters.Count()
	if count == s.resolvedCount && now-s.pending[0].arrival < s.cfg.MaxWait {
		return
	}
	s.resolvedCount = count
	remaining := s.pending[:0]
	for i := range s.pending {
		p := &s.pending[i]
		switch seen, ok := s.identify(p); {
		case ok:
			handle(seen, p.arrival)
		case now-p.arrival >= s.cfg.MaxWait:
			s.total.Untimed++
			s.total.Foreign++
			handle(EventReport{Counts: true, Phase: measure.Measured, Reordered: p.reordered}, p.arrival)
		default:
			remaining = append(remaining, *p)
		}
	}
	s.pending = remaining
}

package watch

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// Summarize returns the totals for the watchers of all event loops. It must be called after the
// loops have ended.
func (b *Board) Summarize(sinks []*Sink) *measure.WatchTotals {
	t := &measure.WatchTotals{}
	for i := range b.acknowledged {
		t.Acknowledged += uint64(b.acknowledged[i].Load())
	}
	var first, last int64
	for _, s := range sinks {
		s.addTotals(t)
		if s.last != nil {
			if t.Last == nil {
				t.Last = measure.NewHistogram()
			}
			t.Last.Merge(s.last)
		}
		switch {
		case s.created == nil:
			continue
		case t.Created == nil:
			t.Created, first = measure.NewHistogram(), s.firstRequest
		}
		t.Created.Merge(s.created)
		first, last = min(first, s.firstRequest), max(last, s.lastCreation)
	}
	t.CreatedSeconds = float64(last-first) / 1e9
	return t
}

// countMissing returns how many of the expected events for a key did not arrive: `lost` events were
// lost, and `coalesced` events were replaced by a later event.
func (s *Sink) countMissing(i int, k uint64, due uint32) (lost, coalesced uint32) {
	place := s.firstEntry[i] + int(k)
	switch {
	case s.cfg.Coalesced:
		return s.tracks[place].countMissing(due)
	case !s.cfg.States:
		return s.tracks[place].lost(due), 0
	case !s.settled && s.lacksEvents(i, k):
		lost = 1
	}
	if got := s.states[place].received + lost; due > got {
		coalesced = due - got
	}
	return lost, coalesced
}

func (s *Sink) addTotals(t *measure.WatchTotals) {
	for i := range s.cfg.Watchers {
		for k := range s.cfg.Watchers[i].Keys {
			due := s.expectedEvents(i, k)
			t.Expected += uint64(due)
			lost, coalesced := s.countMissing(i, k, due)
			t.Lost += uint64(lost)
			t.Coalesced += uint64(coalesced)
		}
	}
	o := &s.total
	t.Watchers += o.Watchers
	t.Delivered += o.Delivered
	t.Duplicated += o.Duplicated
	t.Reordered += o.Reordered
	t.Untimed += o.Untimed
	t.Untimed += uint64(len(s.pending))
	t.Foreign += o.Foreign + uint64(len(s.pending))
	t.Wrong += o.Wrong
	t.Impossible += o.Impossible
	t.Resubscribed += o.Resubscribed
	t.Ended += o.Ended
	if t.EndedText == "" {
		t.EndedText = o.EndedText
	}
}

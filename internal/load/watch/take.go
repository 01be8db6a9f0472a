package watch

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Receive handles an event that arrived at the given time. ev.Watcher must be the watcher's number
// in this event loop.
func (s *Sink) Receive(ev *store.Event, at int64) (seen EventReport) {
	entry, key := s.find(ev)
	if entry < 0 {
		s.total.Wrong++
		return seen
	}
	seen = s.noteArrival(entry, key, ev, at)
	if s.cfg.ByRevision {
		if !seen.Duplicate {
			return s.timeOrStore(pending{revision: ev.Revision, arrival: at, reordered: seen.Reordered})
		}
		seen.Phase, seen.Counts = measure.Measured, true
		return seen
	}
	number, own := uint64(0), false
	switch {
	case s.cfg.Identifier != nil:
		number, own = s.cfg.Identifier.WriteNumber(ev)
	case ev.Version == 0: // deleted
	default:
		number, own = s.cfg.Values.Number(ev.Key, ev.Value)
	}
	if !own && s.cfg.Identifier != nil && ev.Version == 0 {
		// The store itself, and not a client, deleted the key because a lease expired.
		return EventReport{NewlyMissing: seen.NewlyMissing, NoLongerMissing: seen.NoLongerMissing, ShowsMissing: seen.ShowsMissing}
	}
	if !own {
		if !seen.Duplicate {
			s.total.Untimed++
			if ev.Version != 0 { // a deletion may be the load's own: its event names no write
				s.total.Foreign++
			}
		}
		seen.Phase, seen.Counts = measure.Measured, true
		return seen
	}
	if number&s.cfg.WarmupMark != 0 {
		number &^= s.cfg.WarmupMark
	} else {
		seen.Phase = measure.Measured
	}
	seen.Counts = true
	if seen.Duplicate {
		return seen
	}
	if s.cfg.States {
		s.states[entry].noteWrite(ev.Revision, seen.Phase, number)
	}
	s.time(&seen, number, at)
	return seen
}

// noteArrival counts an event for the event's watcher and key. The result describes what the event
// shows about earlier events.
func (s *Sink) noteArrival(entry int, key uint64, ev *store.Event, at int64) (seen EventReport) {
	s.checked = false
	previous := s.skippedAt(entry)
	switch s.classify(entry, key, ev, at) {
	case duplicate:
		s.total.Duplicated++
		seen.Duplicate = true
	case outOfOrder:
		s.total.Reordered++
		seen.Reordered = true
		s.countDelivered(entry)
	case inOrder:
		s.countDelivered(entry)
	}
	if now := s.skippedAt(entry); now > previous {
		seen.NewlyMissing = now - previous
	} else {
		seen.NoLongerMissing = previous - now
	}
	// If an event does not contain the version of its key, it shows nothing about earlier events.
	// The event for a deletion never contains a version.
	seen.ShowsMissing = s.showsMissing() && (ev.Version > 0 || seen.NewlyMissing+seen.NoLongerMissing > 0)
	return seen
}

// skippedAt returns how many events are known to be missing for a watcher and key. It returns 0 if
// missing events do not count as lost.
func (s *Sink) skippedAt(entry int) uint32 {
	if !s.showsMissing() {
		return 0
	}
	return s.tracks[entry].skipped()
}

// showsMissing reports whether an event can show that earlier events are missing. This is possible
// if events contain the versions of their keys and watchers should receive every version.
func (s *Sink) showsMissing() bool { return !s.cfg.States && !s.cfg.Coalesced && !s.cfg.ByRevision }

// find returns the number of the event's key, and the index `entry`, in tracks or states, of the
// element for the event's watcher and key. entry is -1 if the watcher does not watch the key.
func (s *Sink) find(ev *store.Event) (entry int, key uint64) {
	if int(ev.Watcher) >= len(s.cfg.Watchers) {
		return -1, 0
	}
	at := s.firstEntry[ev.Watcher]
	if len(s.cfg.Key) > 0 {
		if !bytes.Equal(ev.Key, s.cfg.Key) {
			return -1, 0
		}
		return at, noKey
	}
	w := &s.cfg.Watchers[ev.Watcher]
	var number uint64
	var ok bool
	if s.cfg.Identifier != nil {
		number, ok = s.cfg.Identifier.Number(ev.Watcher, ev.Key)
	} else {
		number, ok = s.cfg.Space.Number(ev.Key)
	}
	if !ok || number-w.First >= w.Keys {
		return -1, 0
	}
	return at + int(number-w.First), number
}

// noKey stands for the number of a key outside the load's key space.
const noKey = ^uint64(0)

// classify classifies an event.
func (s *Sink) classify(entry int, key uint64, ev *store.Event, at int64) arrivalOrder {
	if !s.cfg.States {
		return s.tracks[entry].receive(ev.Version, ev.Revision)
	}
	s.cfg.Board.noteRevision(key, ev.Revision, ev.Version)
	return s.states[entry].receive(ev.Revision, at)
}

func (s *Sink) countDelivered(entry int) {
	s.total.Delivered++
	if s.receivedEvents(entry) <= s.cfg.Expect {
		s.missingEarlier--
	}
}

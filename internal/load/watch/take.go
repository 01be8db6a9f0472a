package watch

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Take handles an event that arrived at the given time. ev.Watcher must be the watcher's number in
// this event loop.
func (s *Sink) Take(ev *store.Event, at int64) (seen Seen) {
	place, key := s.find(ev)
	if place < 0 {
		s.total.Wrong++
		return seen
	}
	seen = s.noteArrival(place, key, ev, at)
	if s.cfg.ByRevision {
		if !seen.Duplicate {
			return s.timeOrKeep(pending{revision: ev.Revision, at: at, reordered: seen.Reordered})
		}
		seen.Phase, seen.Counts = measure.Measured, true
		return seen
	}
	number, ours := uint64(0), false
	switch {
	case s.cfg.Names != nil:
		number, ours = s.cfg.Names.Written(ev)
	case ev.Version == 0: // deleted
	default:
		number, ours = s.cfg.Values.Number(ev.Key, ev.Value)
	}
	if !ours && s.cfg.Names != nil && ev.Version == 0 {
		// The store itself, and not a client, deleted the key because a lease expired.
		return Seen{Passed: seen.Passed, MadeUp: seen.MadeUp, ShowsPassed: seen.ShowsPassed}
	}
	if !ours {
		if !seen.Duplicate {
			s.total.Untimed++
			s.total.Foreign++
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
		s.states[place].noteWrite(ev.Revision, seen.Phase, number)
	}
	s.time(&seen, number, at)
	return seen
}

// noteArrival counts an event for the event's watcher and key. The result describes what the event
// shows about earlier events.
func (s *Sink) noteArrival(place int, key uint64, ev *store.Event, at int64) (seen Seen) {
	s.checked = false
	before := s.skippedAt(place)
	switch s.judge(place, key, ev, at) {
	case duplicate:
		s.total.Duplicated++
		seen.Duplicate = true
	case late:
		s.total.Reordered++
		seen.Reordered = true
		s.countDelivered(place)
	case fresh:
		s.countDelivered(place)
	}
	if now := s.skippedAt(place); now > before {
		seen.Passed = now - before
	} else {
		seen.MadeUp = before - now
	}
	// If an event does not contain the version of its key, it shows nothing about earlier events.
	// The event for a deletion never contains a version.
	seen.ShowsPassed = s.showsPassed() && (ev.Version > 0 || seen.Passed+seen.MadeUp > 0)
	return seen
}

// skippedAt returns how many events are known to be missing for a watcher and key. It returns 0 if
// missing events do not count as lost.
func (s *Sink) skippedAt(place int) uint32 {
	if !s.showsPassed() {
		return 0
	}
	return s.tracks[place].skipped()
}

// showsPassed reports whether an event can show that earlier events are missing. This is possible
// if events contain the versions of their keys and watchers should receive every version.
func (s *Sink) showsPassed() bool { return !s.cfg.States && !s.cfg.Coalesced && !s.cfg.ByRevision }

// find returns the number of the event's key, and the index `place`, in tracks or states, of the
// entry for the event's watcher and key. place is -1 if the watcher does not watch the key.
func (s *Sink) find(ev *store.Event) (place int, key uint64) {
	if int(ev.Watcher) >= len(s.cfg.Watchers) {
		return -1, 0
	}
	at := s.place[ev.Watcher]
	if len(s.cfg.Key) > 0 {
		if !bytes.Equal(ev.Key, s.cfg.Key) {
			return -1, 0
		}
		return at, noKey
	}
	w := &s.cfg.Watchers[ev.Watcher]
	var number uint64
	var ok bool
	if s.cfg.Names != nil {
		number, ok = s.cfg.Names.Number(ev.Watcher, ev.Key)
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

// judge classifies an event.
func (s *Sink) judge(place int, key uint64, ev *store.Event, at int64) verdict {
	if !s.cfg.States {
		return s.tracks[place].take(ev.Version, ev.Revision)
	}
	s.cfg.Board.noteRevision(key, ev.Revision, ev.Version)
	return s.states[place].take(ev.Revision, at)
}

func (s *Sink) countDelivered(place int) {
	s.total.Delivered++
	if s.got(place) <= s.cfg.Expect {
		s.awaited--
	}
}

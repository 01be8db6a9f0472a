package watch

// CaughtUp reports whether every watcher has received the number of events in Config.Expect. It
// returns false if Config.Expect is 0.
func (s *Sink) CaughtUp() bool { return s.cfg.Expect > 0 && s.missingEarlier == 0 }

// Settled reports whether all expected events have arrived. If an event has arrived since the last
// call, the cost of a call is proportional to the number of watchers times the number of keys per
// watcher. Otherwise a call is cheap.
func (s *Sink) Settled() bool {
	if s.checked {
		return false
	}
	s.checked = true
	for i := range s.cfg.Watchers {
		for k := range s.cfg.Watchers[i].Keys {
			if s.lacksEvents(i, k) {
				return false
			}
		}
	}
	s.checked, s.settled = false, true
	return true
}

// lacksEvents reports whether some expected events for key k of watcher i have not arrived. k is an
// index in the watcher's range of keys.
func (s *Sink) lacksEvents(i int, k uint64) bool {
	place := s.firstEntry[i] + int(k)
	if !s.cfg.States {
		t := &s.tracks[place]
		return s.expectedEvents(i, k) > t.received && (!s.cfg.Coalesced || s.expectedEvents(i, k) > t.received+t.skipped())
	}
	return len(s.cfg.Key) == 0 && s.cfg.Board.superseded(s.cfg.Watchers[i].First+k, &s.states[place])
}

// expectedEvents returns how many events watcher i should receive for its key k.
func (s *Sink) expectedEvents(i int, k uint64) uint32 {
	if len(s.cfg.Key) > 0 {
		return s.cfg.Expect
	}
	return s.cfg.Expect + s.cfg.Board.Acknowledged(s.cfg.Watchers[i].First+k)
}

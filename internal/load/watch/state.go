package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// state holds what one watcher has received for one key from a store that reports states. A state
// is the current value of the key; it does not show each write that led to it. A state that is
// skipped does not count as lost. If the latest state is missing, however, that state counts as
// lost.
type state struct {
	rev  int64  // highest revision received; 0: none
	at   int64  // when it was received
	from uint64 // key (in Times) of the write that led to the state; 0: unknown
	got  uint32 // number of different events
}

// take classifies and counts a state that the watcher received at the given time.
func (s *state) take(revision, at int64) verdict {
	switch {
	case revision == s.rev && s.got > 0:
		return duplicate
	case revision < s.rev:
		s.got++
		return late
	}
	s.rev, s.at, s.from = revision, at, 0
	s.got++
	return fresh
}

// noteWrite records which write led to a state that was received.
func (s *state) noteWrite(revision int64, phase measure.Phase, number uint64) {
	if revision == s.rev {
		s.from = key(phase, number)
	}
}

// noteRevision records that a watcher received a revision of a key that exists. If the key does not
// exist, the revision is only the revision in the response, which other watchers need not receive.
// So it is not recorded.
func (b *Board) noteRevision(key uint64, revision, version int64) {
	if key < uint64(len(b.newest)) && version > 0 {
		raise(&b.newest[key], revision)
	}
}

// superseded reports whether the key is known to have been written after the write that led to the
// state. This is known in two cases: another watcher received a higher revision, or an acknowledged
// write was sent after the state's write had certainly been executed. The order of concurrent
// writes is unknown unless a watcher received the last of them. After a delete the order is
// unknown, too, because a key that exists only between two queries is never reported.
func (b *Board) superseded(key uint64, s *state) bool {
	switch {
	case key >= uint64(len(b.latest)):
		return false
	case s.rev < b.newest[key].Load():
		return true
	case b.deleted[key].Load():
		return false
	case s.got == 0:
		return b.latest[key].Load() > 0
	}
	done := s.at
	if acked := b.Times.ackedAt(s.from); acked > 0 {
		done = min(done, acked)
	}
	return b.latest[key].Load() > done
}

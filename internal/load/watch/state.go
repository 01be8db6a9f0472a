package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// state is what one watcher was told of one key by a store that tells states: what
// the key is now, and not each write that made it so. That one was passed over is no
// loss; that the newest was not told is one.
type state struct {
	rev  int64  // the highest revision told; 0: nothing was
	at   int64  // when that was told
	from uint64 // the name of its write in Times; 0: not known
	got  uint32 // distinct events
}

// take takes what the watcher was told at the given time.
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

// name says which write made the state that was told.
func (s *state) name(revision int64, phase measure.Phase, number uint64) {
	if revision == s.rev {
		s.from = key(phase, number)
	}
}

// seen notes that a watcher was told a revision of a key that is there. Of one that is
// not, the revision is that of the answer, which others need not be told.
func (b *Board) seen(key uint64, revision, version int64) {
	if key < uint64(len(b.newest)) && version > 0 {
		raise(&b.newest[key], revision)
	}
}

// superseded reports whether the key is known to have been written after the write
// that made the state: another watcher was told a higher revision, or an
// acknowledged write was sent when that one had certainly been done. Of several
// writes at the same time, which nobody was told to be the last, that is not known,
// nor of what was deleted: a key that comes and goes between two queries does not show.
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

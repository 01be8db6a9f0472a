package watch

import "github.com/quorumbench/quorumbench/internal/measure"

// state holds what one watcher has received for one key from a store that reports states. A state
// is the current value of the key; it does not show each write that led to this value. A skipped
// state does not count as lost. However, if the latest state is missing, it counts as lost.
type state struct {
	rev      int64  // highest revision received; 0: none
	at       int64  // when it was received
	writeKey uint64 // key (in Times) of the write that led to the state; 0: unknown
	received uint32 // number of different events
}

// receive classifies and counts a state that the watcher received at the given time.
func (s *state) receive(revision, at int64) arrivalOrder {
	switch {
	case revision == s.rev && s.received > 0:
		return duplicate
	case revision < s.rev:
		s.received++
		return outOfOrder
	}
	s.rev, s.at, s.writeKey = revision, at, 0
	s.received++
	return inOrder
}

// noteWrite records which write led to the received state.
func (s *state) noteWrite(revision int64, phase measure.Phase, number uint64) {
	if revision == s.rev {
		s.writeKey = encodeWrite(phase, number)
	}
}

// noteRevision records that a watcher received a revision of an existing key. If the key does not
// exist (version 0), noteRevision ignores the revision. In that case, the revision is the one in
// the response and does not belong to a write of the key, so other watchers need not receive it.
func (b *Board) noteRevision(key uint64, revision, version int64) {
	if key < uint64(len(b.latestRevision)) && version > 0 {
		raise(&b.latestRevision[key], revision)
	}
}

// superseded reports whether the key is known to have been written after the write that led to the
// state. This is known in two cases: if another watcher received a higher revision, or if an
// acknowledged write was sent at a time when the store had certainly executed the state's write.
// The order of concurrent writes is unknown unless a watcher received the last of them. The order
// is also unknown after a delete, because a watcher never receives a key that exists only between
// two of its queries.
func (b *Board) superseded(key uint64, s *state) bool {
	switch {
	case key >= uint64(len(b.latestSend)):
		return false
	case s.rev < b.latestRevision[key].Load():
		return true
	case b.maybeDeleted[key].Load():
		return false
	case s.received == 0:
		return b.latestSend[key].Load() > 0
	}
	done := s.at
	if acked := b.Times.acknowledgedAt(s.writeKey); acked > 0 {
		done = min(done, acked)
	}
	return b.latestSend[key].Load() > done
}

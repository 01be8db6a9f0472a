package watch

import (
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Board is what the loops of one generator share about the writes that are
// watched. It is used without locks.
type Board struct {
	Times *Times
	acked []atomic.Uint32 // by key number: acknowledged writes
	busy  atomic.Int32    // loops whose operations have not all ended
	fan   *fanOut         // nil unless all watch all keys
}

// NewBoard returns a board for the keys from 0 to keys-1, the given number of
// loops and, as far as it is known, the number of writes to come (else 0).
func NewBoard(keys uint64, loops int, writes uint64) *Board {
	b := &Board{Times: NewTimes(writes), acked: make([]atomic.Uint32, keys)}
	b.busy.Store(int32(loops))
	return b
}

// Acknowledge counts a write of the key with the given number.
func (b *Board) Acknowledge(key uint64) {
	if key < uint64(len(b.acked)) {
		b.acked[key].Add(1)
	}
}

// Acknowledged is how many writes of the key were acknowledged.
func (b *Board) Acknowledged(key uint64) uint32 {
	if key < uint64(len(b.acked)) {
		return b.acked[key].Load()
	}
	return 0
}

// Done says that all operations of one loop have ended.
func (b *Board) Done() { b.busy.Add(-1) }

// Quiet reports whether those of all loops have, so that no more writes can be
// acknowledged.
func (b *Board) Quiet() bool { return b.busy.Load() <= 0 }

// Summarize counts what all loops' watchers got; the loops have ended.
func (b *Board) Summarize(sinks []*Sink) *measure.WatchTotals {
	t := &measure.WatchTotals{}
	for i := range b.acked {
		t.Acknowledged += uint64(b.acked[i].Load())
	}
	var first, last int64
	for _, s := range sinks {
		s.addTo(t)
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
			t.Created, first = measure.NewHistogram(), s.firstAsked
		}
		t.Created.Merge(s.created)
		first, last = min(first, s.firstAsked), max(last, s.lastKnown)
	}
	t.CreatedSeconds = float64(last-first) / 1e9
	return t
}

package engine

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// leases maps the number of a lease to its state, as far as this loop's keep-alives have
// established that state.
type leases map[int64]lease

type lease struct {
	// The lease is valid at least until this time on the loop's clock. 0 means that this loop has
	// not renewed the lease.
	validUntil int64
	ended      bool
}

// noteReply processes the reply to a keep-alive. The keep-alive was sent at the time `sent`, and
// the reply arrived at the time `at`. A successful keep-alive guarantees that the lease lives for
// its TTL after `sent`. If the reply reports that the lease no longer exists, noteReply records
// this once, in second s.
func (l leases) noteReply(number, sent, at int64, ev *store.Event, s *second) {
	state := l[number]
	switch {
	case ev.Outcome == kv.OK && ev.Count > 0:
		state.validUntil = max(state.validUntil, sent+min(ev.Count, math.MaxInt32)*secondNS)
	// The reply reports that the lease does not exist.
	case ev.Outcome == kv.BadRequest && ev.StoreRevision > 0 && !state.ended:
		state.ended = true
		if s != nil {
			s.slotDetail().AddLeaseEnd(number, at < state.validUntil, at-s.start)
		}
	default:
		return
	}
	l[number] = state
}

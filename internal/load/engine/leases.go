package engine

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// leases maps a lease's number to what this loop's keep-alives guarantee about the lease.
type leases map[int64]lease

type lease struct {
	// The lease is valid at least until this time, on the loop's clock; 0: this loop has not
	// renewed it.
	until int64
	gone  bool
}

// noteReply processes the reply to a keep-alive. sent is when the keep-alive was sent, and at is
// when the reply arrived. A successful keep-alive guarantees that the lease lives for its TTL after
// sent. If the reply reports that the lease no longer exists, noteReply records this once, in
// second s.
func (l leases) noteReply(number, sent, at int64, ev *store.Event, s *second) {
	one := l[number]
	switch {
	case ev.Outcome == kv.OK && ev.Count > 0:
		one.until = max(one.until, sent+min(ev.Count, math.MaxInt32)*secondNS)
	// The reply reports that the lease does not exist.
	case ev.Outcome == kv.BadRequest && ev.At > 0 && !one.gone:
		one.gone = true
		if s != nil {
			s.fine().LeaseEnded(number, at < one.until, at-s.start)
		}
	default:
		return
	}
	l[number] = one
}

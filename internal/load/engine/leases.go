package engine

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// leases holds the times until which leases must live, by their numbers, as far as this
// loop's keep-alives guarantee it.
type leases map[int64]lease

type lease struct {
	until int64 // on the loop's clock; 0: this loop has not kept it alive
	gone  bool
}

// noteReply processes the reply, received at `at`, to a keep-alive that was sent at sent.
// A successful keep-alive guarantees the lease's time to live after sent. If the reply
// reports that the lease has ended, noteReply records this once in the second.
func (l leases) noteReply(number, sent, at int64, ev *store.Event, s *second) {
	one := l[number]
	switch {
	case ev.Outcome == kv.OK && ev.Count > 0:
		one.until = max(one.until, sent+min(ev.Count, math.MaxInt32)*secondNS)
	case ev.Outcome == kv.BadRequest && ev.At > 0 && !one.gone: // the store reports that the lease does not exist
		one.gone = true
		if s != nil {
			s.fine().LeaseEnded(number, at < one.until, at-s.start)
		}
	default:
		return
	}
	l[number] = one
}

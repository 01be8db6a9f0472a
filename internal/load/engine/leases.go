package engine

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// leases is until when the leases of a load must live, by their numbers, as far as
// this loop kept them alive.
type leases map[int64]lease

type lease struct {
	until int64 // on the loop's clock; 0: it was not kept alive
	gone  bool
}

// answered takes an answer to a keep-alive that was sent at one time and answered at
// another: the lease lives from when it was sent, at least. Those that are found to have
// ended are noted in the second, once.
func (l leases) answered(number, sent, at int64, ev *store.Event, s *second) {
	one := l[number]
	switch {
	case ev.Outcome == kv.OK && ev.Count > 0:
		one.until = max(one.until, sent+min(ev.Count, math.MaxInt32)*secondNS)
	case ev.Outcome == kv.BadRequest && ev.At > 0 && !one.gone: // the store says that it is gone
		one.gone = true
		if s != nil {
			s.fine().LeaseEnded(number, at < one.until, at-s.start)
		}
	default:
		return
	}
	l[number] = one
}

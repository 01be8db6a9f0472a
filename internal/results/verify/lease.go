package verify

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Leases counts the leases that clients kept alive, and the leases that ended.
type Leases struct {
	Leases, KeptAlive uint64
	Gone              uint64 // number of leases that the store reported as expired or revoked
	// Late is the distribution, in nanoseconds, of the times from the end of a lease's time to live
	// until a response reported that the lease had ended. Such a time is an upper bound of how late
	// the lease ended.
	Late Distribution
}

// leases holds the leases of a history, by their numbers.
type leases struct {
	of   map[uint64]*lease
	kept uint64
	// withoutRevisions is set if responses contain no revision of the whole store. The check then
	// accepts every response that reports a missing lease. Otherwise, it accepts such a response
	// only if the response contains a revision.
	withoutRevisions bool
}

// lease holds the time until which a lease must exist, and the time at which a response reported
// that the lease had ended.
type lease struct {
	sent, until     int64 // when the last successful keep-alive was sent, and until when the lease must exist because of it
	gone            int64 // when a response reported the end of the lease; -1: no such response
	keptBy, foundBy uint32
	reported        bool // the early end of the lease has already been added as a finding
}

// mostSeconds limits the time to live that the check accepts in a response.
const mostSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

// keptAlive processes the response to a keep-alive. The store renews a lease after the request was
// sent, so a renewed lease must exist for at least its TTL from that time. If the response reports
// that the lease does not exist, the lease ended before the response.
func (l *leases) keptAlive(f *findings, o *history.Op, ord uint32) {
	if l.of == nil {
		l.of = map[uint64]*lease{}
	}
	one := l.of[o.Written]
	if one == nil {
		one = &lease{sent: -1, gone: -1}
		l.of[o.Written] = one
	}
	switch {
	case o.Outcome == kv.OK:
		l.kept++
		if o.Invoked > one.sent {
			one.sent, one.until, one.keptBy = o.Invoked, o.Invoked+min(o.Mod, mostSeconds)*int64(time.Second), ord
		}
	case o.Outcome == kv.BadRequest && (o.At > 0 || l.withoutRevisions) && one.gone < 0:
		one.gone, one.foundBy = o.Done, ord
	}
	if one.gone < 0 || one.sent < 0 || one.gone >= one.until || one.reported {
		return
	}
	one.reported = true
	x := finding{kind: EarlyEnd, promise: history.Lease, n: 2, ords: [3]uint32{one.keptBy, one.foundBy}}
	if one.keptBy > one.foundBy {
		x.ords = [3]uint32{one.foundBy, one.keptBy}
	}
	f.add(x)
}

func (l *leases) total() *Leases {
	t := &Leases{Leases: uint64(len(l.of)), KeptAlive: l.kept}
	late, known := hdrhistogram.New(1000, 1<<43, 2), uint64(0)
	for _, one := range l.of {
		if one.gone < 0 {
			continue
		}
		t.Gone++
		switch by := one.gone - one.until; {
		case one.sent < 0:
		case by > 0:
			_ = late.RecordValue(min(by, 1<<43)) // capped at the upper limit of the histogram
			known++
		case by == 0:
			known++
		}
	}
	t.Late = distribution(late, known)
	return t
}

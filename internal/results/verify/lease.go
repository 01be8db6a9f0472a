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
	Gone              uint64 // leases that the store reported as expired or revoked
	// Late is a distribution, in nanoseconds, of upper bounds for the time by which renewed leases
	// outlived their minimum lifetime.
	Late Distribution
}

// leases holds the leases of a history, by their numbers.
type leases struct {
	of   map[uint64]*lease
	kept uint64
	// withoutRevisions is set if responses contain no revision of the whole store. In this case,
	// each response that reports a missing lease is taken as correct.
	withoutRevisions bool
}

// lease holds the time until which a lease must exist, and the time at which a response reported
// that it had ended.
type lease struct {
	sent, until     int64 // when the last keep-alive was sent, and until when the lease must exist after it
	gone            int64 // when a response reported the end of the lease; -1: no such response
	keptBy, foundBy uint32
	reported        bool // its early end has already been added as a finding
}

// mostSeconds is the longest lifetime of a lease that is accepted from a store.
const mostSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

// keptAlive processes the response to a keep-alive. If the lease was renewed, this happened after
// the request was sent, so the lease must exist for at least its TTL after that time. If the lease
// does not exist, it ended before the response.
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
			_ = late.RecordValue(min(by, 1<<43)) // limited to the range of the histogram
			known++
		case by == 0:
			known++
		}
	}
	t.Late = distribution(late, known)
	return t
}

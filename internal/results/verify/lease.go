package verify

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Leases counts the leases that were kept alive, and their ends.
type Leases struct {
	Leases, KeptAlive uint64
	Gone              uint64 // leases that the store reported as expired or revoked
	// Late is the distribution, in nanoseconds, of how long renewed leases outlived their
	// minimum lifetime, at most.
	Late Distribution
}

// leases holds the leases of a history by their numbers.
type leases struct {
	of   map[uint64]*lease
	kept uint64
	// withoutRevisions reports that responses carry no revision of the whole store: every refusal for a
	// missing lease is then believed.
	withoutRevisions bool
}

// lease holds the time until which a lease must live, and the time at which it was found to have
// ended.
type lease struct {
	sent, until     int64 // of the last keep-alive
	gone            int64 // -1: it did not end
	keptBy, foundBy uint32
	reported        bool // its early end was reported
}

// mostSeconds limits the lifetime that a store can report for a lease.
const mostSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

// keptAlive processes the response to a keep-alive. The lease was renewed after the request was
// sent, so it must live at least its TTL from then; a lease that does not exist had expired
// before the response.
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
			_ = late.RecordValue(min(by, 1<<43)) // within the histogram's range
			known++
		case by == 0:
			known++
		}
	}
	t.Late = distribution(late, known)
	return t
}

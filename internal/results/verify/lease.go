package verify

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
)

// Leases is what became of the leases that were kept alive.
type Leases struct {
	Leases, KeptAlive uint64
	Gone              uint64 // leases of which it was said that they are gone
	// Late is of those of them that had been kept alive, in nanoseconds: at most so
	// long after the time for which they were to live at least.
	Late Distribution
}

// leases are those of a history, by their numbers.
type leases struct {
	of   map[uint64]*lease
	kept uint64
	// untold reports that responses carry no revision of the whole store: every refusal for a
	// missing lease is then believed.
	untold bool
}

// lease is what is known of one: until when it must live, as far as it was kept
// alive, and when it was found gone.
type lease struct {
	sent, until     int64 // of the keep-alive that was sent last
	gone            int64 // -1: it was not
	keptBy, foundBy uint32
	told            bool // that it ended early
}

// mostSeconds bounds what a store can say of a lease's time.
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
	case o.Outcome == kv.BadRequest && (o.At > 0 || l.untold) && one.gone < 0:
		one.gone, one.foundBy = o.Done, ord
	}
	if one.gone < 0 || one.sent < 0 || one.gone >= one.until || one.told {
		return
	}
	one.told = true
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
			_ = late.RecordValue(min(by, 1<<43)) // in its range
			known++
		case by == 0:
			known++
		}
	}
	t.Late = distribution(late, known)
	return t
}

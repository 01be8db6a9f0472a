package verify

import (
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// leases holds the leases of a history, by their numbers.
type leases struct {
	byNumber map[uint64]*lease
	renewals uint64
	// withoutRevisions is set if responses contain no revision of the whole store. The check then
	// accepts every response that reports a missing lease. Otherwise, it accepts such a response
	// only if the response contains a revision.
	withoutRevisions bool
}

// lease holds the time until which a lease must exist, and the time at which a response reported
// that the lease had ended.
type lease struct {
	sent, validUntil         int64 // when the last successful keep-alive was sent, and the time until which this keep-alive extended the lease
	endReportedAt            int64 // when a response reported the end of the lease; -1: no such response
	renewedBy, endReportedBy uint32
	alreadyFound             bool // the early end of the lease has already been added as a finding
}

// maxTTLSeconds limits the time to live that the check accepts in a response.
const maxTTLSeconds = int64(100 * 365 * 24 * time.Hour / time.Second)

// processKeepAlive processes the response to a keep-alive. The store renews a lease after the
// request was sent, so a renewed lease must exist for at least its TTL from that time. If the
// response reports that the lease does not exist, the lease ended before the response.
func (l *leases) processKeepAlive(f *findings, o *history.Op, ord uint32) {
	if l.byNumber == nil {
		l.byNumber = map[uint64]*lease{}
	}
	one := l.byNumber[o.Written]
	if one == nil {
		one = &lease{sent: -1, endReportedAt: -1}
		l.byNumber[o.Written] = one
	}
	switch {
	case o.Outcome == kv.OK:
		l.renewals++
		if o.Invoked > one.sent {
			one.sent, one.validUntil, one.renewedBy = o.Invoked, o.Invoked+min(o.ModRevision, maxTTLSeconds)*int64(time.Second), ord
		}
	case o.Outcome == kv.BadRequest && (o.Revision > 0 || l.withoutRevisions) && one.endReportedAt < 0:
		one.endReportedAt, one.endReportedBy = o.Done, ord
	}
	if one.endReportedAt < 0 || one.sent < 0 || one.endReportedAt >= one.validUntil || one.alreadyFound {
		return
	}
	one.alreadyFound = true
	x := finding{kind: EarlyLeaseEnd, guarantee: history.Lease, operationCount: 2, ords: [3]uint32{one.renewedBy, one.endReportedBy}}
	if one.renewedBy > one.endReportedBy {
		x.ords = [3]uint32{one.endReportedBy, one.renewedBy}
	}
	f.add(x)
}

// total counts the leases. The delay of an expiry is the time from the end of the lease's time to
// live until a response reported that the lease had ended.
func (l *leases) total() *record.LeaseVerification {
	t := &record.LeaseVerification{Leases: uint64(len(l.byNumber)), Renewals: l.renewals}
	late, known := hdrhistogram.New(1000, 1<<43, 2), uint64(0)
	for _, one := range l.byNumber {
		if one.endReportedAt < 0 {
			continue
		}
		t.EndedLeases++
		switch by := one.endReportedAt - one.validUntil; {
		case one.sent < 0:
		case by > 0:
			_ = late.RecordValue(min(by, 1<<43)) // capped at the upper limit of the histogram
			known++
		case by == 0:
			known++
		}
	}
	if delay := distribution(late, known); delay.Max > 0 {
		t.ExpiryDelay = &delay
	}
	return t
}

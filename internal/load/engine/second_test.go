package engine

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

// If a server reports a different member or term in every reply, the loop uses no more memory than
// with a normal cluster.
func TestInventedMembersCostNoMemory(t *testing.T) {
	made := 0
	q := newSecondQueue(&Config{Recycle: func() *measure.Histogram { made++; return measure.NewHistogram() }, Shared: NewShared(1, 0, 1)})
	const operations, seconds = 10_000, 3
	for i := range seconds {
		s := q.beginSecond(measure.Measured, i, int64(i)*secondNS)
		for n := range uint64(operations) {
			series := measure.Series{Kind: kv.Put, Member: n*seconds + uint64(i) + 1, Term: n}
			if n%2 == 0 {
				q.recordSuccess(s, &series, 1000, 1000)
			} else {
				q.recordFailure(s, &series, kv.NotSent+kv.Outcome(n)%kv.Outcome(measure.NumErrors), 1000)
			}
		}
		if len(s.Cells) > measure.MaxReportedInSecond+1 || s.Unattributed < operations-2*measure.MaxReported {
			t.Errorf("second %d: %d cells, %d unreported", i, len(s.Cells), s.Unattributed)
		}
		s.FlushLive()
		counted := int64(0)
		for _, c := range s.Cells {
			for _, h := range append(c.Failed[:], c.Response) {
				if h != nil {
					counted += h.TotalCount()
				}
			}
		}
		if counted != operations {
			t.Errorf("second %d: %d operations are in histograms", i, counted)
		}
	}
	if most := seconds * (2*measure.MaxReportedInSecond + measure.MaxReportedFailed + 2 + measure.NumErrors); made > most {
		t.Errorf("%d histograms were allocated, want at most %d", made, most)
	}
}

// The figures of a cluster's members are kept apart by member and term, even after several
// elections.
func TestTermsAreKeptApart(t *testing.T) {
	q := newSecondQueue(&Config{Shared: NewShared(1, 0, 1)})
	for term := range uint64(6) {
		s := q.beginSecond(measure.Measured, int(term), int64(term)*secondNS)
		for member := range uint64(5) {
			q.recordSuccess(s, &measure.Series{Kind: kv.Get, Member: member + 1, Term: term + 1}, 1, 1)
			q.recordSuccess(s, &measure.Series{Kind: kv.Put, Member: member + 1, Term: term + 1}, 1, 1)
		}
		if len(s.Cells) != 10 || s.Unattributed != 0 {
			t.Errorf("term %d: %d cells, %d unreported", term, len(s.Cells), s.Unattributed)
		}
	}
}

// dropEmpty returns the second that is the last one after the call.
func TestDropEmptyReturnsTheLastSecond(t *testing.T) {
	q := secondQueue{}
	first := q.beginSecond(measure.Measured, 0, 0)
	q.beginSecond(measure.Measured, 1, secondNS)
	if got := q.dropEmpty(); got != first || len(q.queue) != 1 {
		t.Errorf("after an empty second was dropped, %d seconds are left and the last one is %+v; want 1 and %+v", len(q.queue), got, first)
	}
	second := q.beginSecond(measure.Measured, 1, secondNS)
	second.Due = 1
	if got := q.dropEmpty(); got != second || len(q.queue) != 2 {
		t.Errorf("if the last second is not empty, %d seconds are left and the last one is %+v; want 2 and %+v", len(q.queue), got, second)
	}
}

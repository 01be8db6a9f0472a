package measure

import (
	"math/rand/v2"
	"testing"
)

// Merging the one-second watch counts of several shards preserves all counts and times.
func TestWatchMergesToTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	const shards, seconds = 3, 20
	c := NewCollector(shards)
	var each, want Watch
	c.OnSecond = func(s *Second) {
		each.Delivered += s.Watch.Delivered
		each.Duplicated += s.Watch.Duplicated
		if s.Watch.FromDue != nil && uint64(s.Watch.FromDue.TotalCount()) != s.Watch.Delivered-s.Watch.Untimed {
			t.Errorf("second %d has %d latencies for %d events", s.Index, s.Watch.FromDue.TotalCount(), s.Watch.Delivered)
		}
	}
	var spare []*Histogram
	c.Recycle = func(h *Histogram) { spare = append(spare, h) }
	var sum, longest int64
	for i := range seconds {
		for shard := range shards {
			s := &Second{Phase: Measured, Index: i}
			if shard > 0 || i%2 == 0 {
				s.Watch = Watch{Duplicated: uint64(r.IntN(3)), Reordered: uint64(r.IntN(3)), Untimed: uint64(r.IntN(3))}
				s.Watch.FromDue, s.Watch.FromSent = NewHistogram(), NewHistogram()
				for range r.IntN(50) {
					ns := int64(1000 + r.IntN(1_000_000))
					Record(s.Watch.FromDue, ns)
					Record(s.Watch.FromSent, ns/2)
					sum, longest = sum+ns, max(longest, ns)
				}
				s.Watch.Delivered = uint64(s.Watch.FromDue.TotalCount()) + s.Watch.Untimed
			}
			want.Delivered += s.Watch.Delivered
			want.Duplicated += s.Watch.Duplicated
			want.Reordered += s.Watch.Reordered
			want.Untimed += s.Watch.Untimed
			c.Add(shard, s)
		}
	}
	for shard := range shards {
		c.End(shard)
	}
	m, _ := c.Close(seconds)
	got := m.Watch
	if got.Delivered != want.Delivered || got.Duplicated != want.Duplicated || got.Reordered != want.Reordered || got.Untimed != want.Untimed {
		t.Errorf("the merged events are %+v, want %+v", got, want)
	}
	if each.Delivered != want.Delivered || each.Duplicated != want.Duplicated {
		t.Errorf("the sums over the seconds are %+v, want %+v", each, want)
	}
	timed := want.Delivered - want.Untimed
	if uint64(got.FromDue.TotalCount()) != timed || uint64(got.FromSent.TotalCount()) != timed {
		t.Errorf("%d latencies from due and %d from sent, want %d", got.FromDue.TotalCount(), got.FromSent.TotalCount(), timed)
	}
	if mean := float64(sum) / float64(timed); got.FromDue.Mean() < 0.999*mean || got.FromDue.Mean() > 1.001*mean || !got.FromDue.ValuesAreEquivalent(got.FromDue.Max(), longest) {
		t.Errorf("the mean latency is %v and the longest %d; want %v and %d", got.FromDue.Mean(), got.FromDue.Max(), mean, longest)
	}
	for _, h := range spare {
		if h.TotalCount() != 0 {
			t.Fatal("a histogram was returned without being reset")
		}
	}
}

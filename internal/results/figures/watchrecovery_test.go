package figures

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Watch events and expired leases are attributed to the fault during which they occurred. The first
// of the two faults delays events by 800 ms, and two events are lost.
func TestWatchRecovery(t *testing.T) {
	p := play(1, 12, func(int, int) float64 { return 4000 }, never)
	c := &p.course
	for i := range 12 {
		s := &measure.Second{Phase: measure.Measured, Index: i, SlotDetail: &measure.SlotDetail{}}
		for ms := range 1000 {
			at, after := 1000*i+ms, int64(3_000_000)
			switch {
			case at >= 3000 && at < 3800:
				continue
			case at >= 3800 && at < 3810: // delayed events
				after = 800_000_000
			case at == 1500:
				after = 130_000_000 // a delay that can also occur without a fault
			case at == 7500:
				after = 150_000_000
			}
			s.SlotDetail.CountEvent(after, int64(ms)*1_000_000)
		}
		switch i {
		case 3:
			s.SlotDetail.CountMissing(3, 0, 900_000_000)
			s.SlotDetail.CountWatcherEnd(true, 100_000_000)
		case 4:
			s.SlotDetail.CountMissing(0, 1, 0)
			s.SlotDetail.AddLeaseEnd(7, true, 500_000_000)
			s.SlotDetail.AddLeaseEnd(9, false, 500_000_000)
		case 5:
			s.SlotDetail.AddLeaseEnd(7, true, 500_000_000) // another event loop noticed the end of the same lease later; this lease must not count twice
		case 8:
			s.SlotDetail.CountWatcherEnd(false, 0)
		}
		other := *s
		other.SlotDetail = &measure.SlotDetail{Watch: s.SlotDetail.Watch}
		q := measure.WindowTimeline{WatchTimeline: c.WatchTimeline}
		q.Add(measure.NewWindowSecond(&other, measure.Figure{}))
		c.WatchTimeline = q.WatchTimeline
	}
	all := p.faults(false, done(3, 4), done(7, 8))
	w := all[0].Watch
	if w == nil || w.Outage == nil || *w.Outage < 0.79 || *w.Outage > 0.81 || w.Unfinished || w.MaxDelay == nil || *w.MaxDelay != 0.8 || w.MaxDelayBefore == nil || *w.MaxDelayBefore != 0.13 {
		t.Fatalf("the first fault has %+v", w)
	}
	if w.Late != 10 || *w.Lost != 2 || w.Resubscribed != 1 || w.EndedWatchers != 0 {
		t.Errorf("the first fault has %+v", w)
	}
	if l := all[0].Leases; l == nil || l.Ended != 2 || l.EndedEarly != 1 {
		t.Errorf("the leases are %+v", l)
	}
	w = all[1].Watch
	if w == nil || w.Outage != nil || w.Late != 1 || *w.Lost != 0 || w.EndedWatchers != 1 || all[1].Leases != nil {
		t.Errorf("the second fault has %+v and %+v", w, all[1].Leases)
	}
	c.WatchTimeline.ShowsMissing = false // simulate a store whose events have no version
	if w = p.faults(false, done(3, 4))[0].Watch; w == nil || w.Lost != nil {
		t.Errorf("lost events are %+v, although events do not reveal them", w)
	}
	if p = play(1, 12, func(int, int) float64 { return 4000 }, never); p.faults(false, done(3, 4))[0].Watch != nil {
		t.Error("watch events are reported without watchers")
	}
}

// A late event is attributed to the fault during which its write was sent, even if it arrives after
// the next fault began.
func TestLateEventsAreAttributedToTheirFault(t *testing.T) {
	watched := func(began float64) *record.Fault {
		return &record.Fault{BeganAt: &began, Recovery: record.Recovery{Watch: &record.WatchRecovery{}}}
	}
	all := []injectedFault{{watched(2), 200, 0, 0}, {watched(6), 600, 400, 400}}
	w := &measure.WatchTimeline{MaxDelays: make([]uint32, 1000), Late: []measure.WindowLateEvents{
		{Slot: 100, Class: 0, Count: 9}, // before the first fault
		{Slot: 300, Class: 0, Count: 7}, // such delays also occurred before the fault
		{Slot: 350, Class: 2, Count: 1},
		{Slot: 650, Class: 5, Count: 2}, // sent at least 3.2 s earlier, during the first fault
		{Slot: 650, Class: 1, Count: 4},
	}}
	w.MaxDelays[350], w.MaxDelays[650], w.MaxDelays[700] = 500, 3500, 250
	attributeLateEvents(all, w)
	for i, want := range []struct {
		late  uint64
		delay float64
	}{{3, 3.5}, {4, 0.25}} {
		if got := all[i].Watch; got.Late != want.late || got.MaxDelay == nil || *got.MaxDelay != want.delay {
			t.Errorf("fault %d has %+v with the delay %v, not %+v", i+1, got, orNaN(got.MaxDelay), want)
		}
	}
}

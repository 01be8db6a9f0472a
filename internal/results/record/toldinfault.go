package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
)

// findWatchEffects records how the fault affected watch events and leases.
func (f *Fault) findWatchEffects(w *measure.WatchTimeline, since, until float64) {
	if w == nil {
		return
	}
	ms := func(s float64) int { return int(s * 1000) }
	if w.Events.HasCompletion(ms(since), ms(until)) {
		f.Watch = watchRecovery(w, since, *f.BeganAt, until)
	}
	var ended EndedLeases
	for _, gone := range w.Leases {
		if gone.At >= ms(*f.BeganAt) && gone.At < ms(until) {
			ended.Ended++
			if gone.Early {
				ended.EndedEarly++
			}
		}
	}
	if ended.Ended > 0 {
		f.Leases = &ended
	}
}

func watchRecovery(w *measure.WatchTimeline, since, began, until float64) *WatchRecovery {
	ms := func(s float64) int { return int(s * 1000) }
	r := &WatchRecovery{}
	if w.Events.HasCompletion(ms(since), ms(began)) { // otherwise, no gap before the fault can be compared with the outage
		if outage, _, ok := w.Events.Outage(ms(since), ms(began), ms(until)); ok {
			r.Outage, r.OutageStart = new(float64(outage.Length())/1000), new(float64(outage.From)/1000)
			r.Unfinished = outage.To >= ms(until)
		}
	}
	first, from, behind := slot(since), int(began*slotsPerSecond), int(until*slotsPerSecond)
	r.MaxDelayBefore, r.MaxDelay = maxDelay(w.MaxDelays, first, from), maxDelay(w.MaxDelays, from, behind)
	before := -1 // highest class of a delay before the fault
	for _, l := range w.Late {
		if l.Slot >= first && l.Slot < from {
			before = max(before, l.Class)
		}
	}
	for _, l := range w.Late {
		if l.Slot >= from && l.Slot < behind && l.Class > before {
			r.Late += uint64(l.Count)
		}
	}
	if w.ShowsMissing {
		passed, madeUp := sum(w.NewlyMissing, from, behind), sum(w.NoLongerMissing, from, behind)
		r.Lost = new(passed - min(passed, madeUp))
	}
	r.EndedWatchers, r.Resubscribed = sum(w.Ended, from, behind), sum(w.Resubscribed, from, behind)
	return r
}

func maxDelay(all []uint32, from, to int) *float64 {
	most := uint32(0)
	for i := from; i < min(to, len(all)); i++ {
		most = max(most, all[i])
	}
	if most == 0 {
		return nil
	}
	return new(float64(most) / 1000)
}

package figures

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// findWatchEffects records how the fault affected watch events and leases.
func findWatchEffects(f *record.Fault, w *measure.WatchTimeline, since, until, window float64) {
	if w == nil {
		return
	}
	if w.Events.HasCompletion(0, ms(window)) {
		f.Watch = watchRecovery(w, since, *f.BeganAt, until)
	}
	var ended record.EndedLeases
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

func watchRecovery(w *measure.WatchTimeline, since, began, until float64) *record.WatchRecovery {
	r := &record.WatchRecovery{}
	if w.Events.HasCompletion(ms(since), ms(began)) { // otherwise, no gap before the fault can be compared with the outage
		if outage, _, ok := w.Events.Outage(ms(since), ms(began), ms(until)); ok {
			r.Outage, r.OutageStart = new(float64(outage.Length())/1000), new(float64(outage.From)/1000)
			r.Unfinished = outage.To >= ms(until)
		}
	}
	first, from, behind := slot(since), int(began*slotsPerSecond), int(until*slotsPerSecond)
	r.MaxDelayBefore = maxDelay(w.MaxDelays, first, from)
	if w.ShowsMissing {
		passed, madeUp := measure.SumBetween(w.NewlyMissing, from, behind), measure.SumBetween(w.NoLongerMissing, from, behind)
		r.Lost = new(passed - min(passed, madeUp))
	}
	r.EndedWatchers, r.Resubscribed = measure.SumBetween(w.Ended, from, behind), measure.SumBetween(w.Resubscribed, from, behind)
	return r
}

// attributeLateEvents attributes each late event to the fault that caused it, and sets MaxDelay. It
// computes the time at which an event's write was sent from the event's delay. For a late event,
// only the class of its delay is known, so the write may have been sent earlier than computed.
func attributeLateEvents(all []injectedFault, w *measure.WatchTimeline) {
	if w == nil {
		return
	}
	for end, delay := range w.MaxDelays {
		if delay == 0 {
			continue
		}
		sent := end - (int(delay)+measure.SlotLength-1)/measure.SlotLength
		if f := findCause(all, sent, end); f != nil && f.Watch != nil {
			f.Watch.MaxDelay = new(max(float64(delay)/1000, measure.OrZero(f.Watch.MaxDelay)))
		}
	}
	before := map[*record.Fault]int{} // highest class of a delay before the fault, counted from 1
	for i := range all {
		for _, l := range w.Late {
			if l.Slot >= all[i].since && l.Slot < all[i].began {
				before[all[i].Fault] = max(before[all[i].Fault], l.Class+1)
			}
		}
	}
	for _, l := range w.Late {
		sent := l.Slot - measure.MinWait<<min(l.Class, 16)/measure.SlotLength
		if f := findCause(all, sent, l.Slot); f != nil && f.Watch != nil && l.Class >= before[f.Fault] {
			f.Watch.Late += uint64(l.Count)
		}
	}
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

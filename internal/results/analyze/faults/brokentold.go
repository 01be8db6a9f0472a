package faults

import "github.com/quorumbench/quorumbench/internal/results/record"

// EventCounts holds the numbers of watch events and leases that faults affected (see
// record.WatchRecovery and record.EndedLeases).
type EventCounts struct {
	Late, Lost, EndedWatchers, Resubscribed uint64
	Leases, EarlyLeases                     uint64
	// HasEvents is set if a fault has figures about watch events. ShowsLost is set if the received
	// events show which events were lost; otherwise, Lost is unknown.
	HasEvents, ShowsLost bool
}

// addEvents adds the watch events and the expired leases of a fault.
func (b *KindEffects) addEvents(f *record.Fault) {
	if f.Watch == nil && f.Leases == nil {
		return
	}
	if b.EventCounts == nil {
		b.EventCounts = &EventCounts{}
	}
	if w := f.Watch; w != nil {
		b.EventCounts.HasEvents = true
		b.EventCounts.Late += w.Late
		if w.Lost != nil {
			b.EventCounts.Lost, b.EventCounts.ShowsLost = b.EventCounts.Lost+*w.Lost, true
		}
		b.EventCounts.EndedWatchers += w.EndedWatchers
		b.EventCounts.Resubscribed += w.Resubscribed
	}
	if l := f.Leases; l != nil {
		b.EventCounts.Leases += l.Ended
		b.EventCounts.EarlyLeases += l.EndedEarly
	}
}

// eventColumn is a table column with a number of watch events or leases.
type eventColumn struct {
	title string
	count func(*EventCounts) (count uint64, known bool)
}

// eventColumns returns the columns that have content: columns about watch events if a fault has
// figures about watch events, and columns about leases if a lease expired.
func eventColumns(all []*KindEffects) (out []eventColumn) {
	events, leases := false, false
	for _, b := range all {
		events = events || b.EventCounts != nil && b.EventCounts.HasEvents
		leases = leases || b.EventCounts != nil && b.EventCounts.Leases > 0
	}
	if events {
		out = append(out,
			eventColumn{"late events", func(t *EventCounts) (uint64, bool) { return t.Late, t.HasEvents }},
			eventColumn{"lost events", func(t *EventCounts) (uint64, bool) { return t.Lost, t.ShowsLost }})
	}
	if leases {
		out = append(out,
			eventColumn{"leases ended", func(t *EventCounts) (uint64, bool) { return t.Leases, true }},
			eventColumn{"ended early", func(t *EventCounts) (uint64, bool) { return t.EarlyLeases, true }})
	}
	return out
}

package faults

import "github.com/quorumbench/quorumbench/internal/results/record"

// BrokenTold are counts of watch events and leases (record.WatchRecovery, EndedLeases).
type BrokenTold struct {
	Late, Lost, EndedWatchers, Resubscribed uint64
	Leases, EarlyLeases                     uint64
	// Events reports whether watchers received any event, and ShowsLost whether events show
	// which ones were lost; otherwise Lost is unknown.
	Events, ShowsLost bool
}

// told adds the watch events of a fault, and the leases that expired.
func (b *Breaks) told(f *record.Fault) {
	if f.Watch == nil && f.Leases == nil {
		return
	}
	if b.Told == nil {
		b.Told = &BrokenTold{}
	}
	if w := f.Watch; w != nil {
		b.Told.Events = true
		b.Told.Late += w.Late
		if w.Lost != nil {
			b.Told.Lost, b.Told.ShowsLost = b.Told.Lost+*w.Lost, true
		}
		b.Told.EndedWatchers += w.Ended
		b.Told.Resubscribed += w.Again
	}
	if l := f.Leases; l != nil {
		b.Told.Leases += l.Ended
		b.Told.EarlyLeases += l.Early
	}
}

// eventColumn is a count of watch events or of leases.
type eventColumn struct {
	title string
	of    func(*BrokenTold) (count uint64, known bool)
}

// eventColumns returns the columns with content: events if any watcher received one, and leases
// if one expired.
func eventColumns(all []*Breaks) (out []eventColumn) {
	events, leases := false, false
	for _, b := range all {
		events = events || b.Told != nil && b.Told.Events
		leases = leases || b.Told != nil && b.Told.Leases > 0
	}
	if events {
		out = append(out,
			eventColumn{"late events", func(t *BrokenTold) (uint64, bool) { return t.Late, t.Events }},
			eventColumn{"lost events", func(t *BrokenTold) (uint64, bool) { return t.Lost, t.ShowsLost }})
	}
	if leases {
		out = append(out,
			eventColumn{"leases ended", func(t *BrokenTold) (uint64, bool) { return t.Leases, true }},
			eventColumn{"ended early", func(t *BrokenTold) (uint64, bool) { return t.EarlyLeases, true }})
	}
	return out
}

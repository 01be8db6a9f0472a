package faults

import "github.com/quorumbench/quorumbench/internal/results/record"

// BrokenTold are counts of watch events and leases (record.WatchRecovery, EndedLeases).
type BrokenTold struct {
	Late, Lost, EndedWatchers, Resubscribed uint64
	Leases, EarlyLeases                     uint64
	// Events says that watchers were told of any, and ShowsLost that their events show
	// which were lost; else Lost is not known.
	Events, ShowsLost bool
}

// told adds what watchers were told, and the leases that ended.
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

// toldColumn is a count of watch events or of leases.
type toldColumn struct {
	title string
	of    func(*BrokenTold) (count uint64, known bool)
}

// toldColumns are those that have something to say: of events where any watcher was told
// of one, and of leases where one ended.
func toldColumns(all []*Breaks) (out []toldColumn) {
	events, leases := false, false
	for _, b := range all {
		events = events || b.Told != nil && b.Told.Events
		leases = leases || b.Told != nil && b.Told.Leases > 0
	}
	if events {
		out = append(out,
			toldColumn{"late events", func(t *BrokenTold) (uint64, bool) { return t.Late, t.Events }},
			toldColumn{"lost events", func(t *BrokenTold) (uint64, bool) { return t.Lost, t.ShowsLost }})
	}
	if leases {
		out = append(out,
			toldColumn{"leases ended", func(t *BrokenTold) (uint64, bool) { return t.Leases, true }},
			toldColumn{"of these early", func(t *BrokenTold) (uint64, bool) { return t.EarlyLeases, true }})
	}
	return out
}

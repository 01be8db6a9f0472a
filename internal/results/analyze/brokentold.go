package analyze

import "github.com/quorumbench/quorumbench/internal/results/record"

// BrokenTold are counts of watch events and leases (record.WatchRecovery, EndedLeases).
type BrokenTold struct {
	Late, Lost, EndedWatchers, Resubscribed uint64
	Leases, EarlyLeases                     uint64
	// Events says that watchers were told of any.
	Events bool
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
		b.Told.Lost += w.Lost
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
	of    func(*BrokenTold) uint64
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
		out = append(out, toldColumn{"late events", func(t *BrokenTold) uint64 { return t.Late }}, toldColumn{"lost events", func(t *BrokenTold) uint64 { return t.Lost }})
	}
	if leases {
		out = append(out, toldColumn{"leases ended", func(t *BrokenTold) uint64 { return t.Leases }}, toldColumn{"of these early", func(t *BrokenTold) uint64 { return t.EarlyLeases }})
	}
	return out
}

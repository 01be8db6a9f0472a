package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Watched is what watchers got. Counts are of the whole load, its warm-up
// included, unless they say that they are of the window.
type Watched struct {
	Acknowledged uint64 `json:"acknowledged_writes"` // of watched keys
	Expected     uint64 `json:"expected_events"`     // that those make, one for each watcher of the key
	Delivered    uint64 `json:"delivered_events"`    // distinct ones
	Lost         uint64 `json:"lost_events"`
	Coalesced    uint64 `json:"coalesced_events"` // versions that watchers of mode once or query passed over
	Duplicated   uint64 `json:"duplicated_events"`
	Reordered    uint64 `json:"reordered_events"`  // came after a later one of their key
	Untimed      uint64 `json:"untimed_events"`    // delivered, and when their write was sent is not known
	Foreign      uint64 `json:"foreign_events"`    // of those: not written by this load
	Wrong        uint64 `json:"wrong_events"`      // of keys that the watcher does not watch
	Impossible   uint64 `json:"impossible_events"` // arrived before their write was sent
	Resubscribed uint64 `json:"resubscribed"`      // how often a watcher was created again
	Ended        uint64 `json:"ended_watchers"`    // by the store, for good
	EndedText    string `json:"ended_text,omitempty"`

	// InWindow is the distinct events of writes that were due in the window,
	// whenever they came; PerSecond divides them by the window's length.
	InWindow  uint64  `json:"events_of_window"`
	PerSecond float64 `json:"events_per_second"`
	// The arrival less when the write was due, and less when it was sent, of
	// the window's events. A lost one counts as slower than any that came.
	FromDue  Times `json:"from_due_ns"`
	FromSent Times `json:"from_sent_ns"`

	// Creation is how long it took to create each watcher, and CreationSeconds
	// from when the first was asked for until the last was there.
	Creation        Times   `json:"creation_ns"`
	CreationSeconds float64 `json:"creation_seconds"`
	// ToLast is the time from when a write of the window was due until the last of all
	// watchers had its event, where each watches all keys that are written; nil
	// otherwise. A lost event counts as slower than any that came.
	ToLast *Times `json:"to_last_ns,omitempty"`
}

// EventsPerWrite returns how many events a write of a watched key made, which are one
// sample of how late events are: as many as its watchers, by the load or by the events.
func (t *Trial) EventsPerWrite() uint64 {
	each := max(t.WatchersOfKey(), 1)
	if w := t.Watch; w != nil && w.Acknowledged > 0 {
		each = max(each, (w.Expected+w.Acknowledged-1)/w.Acknowledged)
	}
	return each
}

func newWatched(c *scenario.Watch, m *measure.Totals) *Watched {
	t := m.Watching
	if t == nil {
		return nil
	}
	w := &Watched{
		Acknowledged: t.Acknowledged, Expected: t.Expected, Delivered: t.Delivered, Lost: t.Lost, Coalesced: t.Coalesced,
		Duplicated: t.Duplicated, Reordered: t.Reordered, Untimed: t.Untimed, Foreign: t.Foreign,
		Wrong: t.Wrong, Impossible: t.Impossible, Resubscribed: t.Resubscribed, Ended: t.Ended, EndedText: t.EndedText,
		InWindow: m.Watch.Delivered, Creation: Times{measure.Summarize(t.Created, 0)}, CreationSeconds: t.CreatedSeconds,
	}
	if t.Last != nil {
		w.ToLast = &Times{measure.Summarize(t.Last, t.Lost)}
	}
	if m.Seconds > 0 {
		w.PerSecond = float64(w.InWindow) / m.Seconds
	}
	if c == nil || len(c.Key) == 0 {
		w.FromDue = Times{measure.Summarize(m.Watch.FromDue, t.Lost)}
		w.FromSent = Times{measure.Summarize(m.Watch.FromSent, t.Lost)}
	}
	return w
}

// figures is what the verdict's rules look at: of what came, the window's part;
// what did not come is known of the whole load only. Events of writes before the
// load have no times.
func (w *Watched) figures(c *scenario.Watch, window *measure.Watch) verdict.EventFigures {
	f := verdict.EventFigures{
		Expected: w.Expected, Lost: w.Lost, Duplicated: window.Duplicated, Reordered: window.Reordered, Untimed: window.Untimed,
		Wrong: w.Wrong, Impossible: w.Impossible, Ended: w.Ended, EndedText: w.EndedText, Resubscribed: w.Resubscribed,
	}
	if c != nil && len(c.Key) > 0 {
		f.Untimed = 0
	}
	return f
}

package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Watched reports on watch events. Counts cover the whole load, including its warm-up, unless the
// comment on the count mentions the window.
type Watched struct {
	measure.WatchCounts

	// InWindow is the number of distinct events of writes that were due in the window. It includes
	// events that arrived after the window. PerSecond is InWindow divided by the length of the
	// window.
	InWindow  uint64  `json:"events_in_window"`
	PerSecond float64 `json:"events_per_second"`
	// FromDue is the time from when a write was due until its event arrived. FromSent is the time
	// from when the write was sent until its event arrived. Both cover the events of writes due in
	// the window. A lost event counts as slower than every event that arrived.
	FromDue  Times `json:"from_due_ns"`
	FromSent Times `json:"from_sent_ns"`

	// Creation is the time that it took to create a watcher. CreationSeconds is the time from the
	// request for the first watcher until the last watcher existed.
	Creation        Times   `json:"creation_ns"`
	CreationSeconds float64 `json:"creation_seconds"`
	// ToLastWatcher is the time from when a write in the window was due until the last of all
	// watchers received the write's event. It is nil unless each watcher watches all written keys.
	// A lost event counts as slower than every event that arrived.
	ToLastWatcher *Times `json:"to_last_ns,omitempty"`
}

// EventsPerWrite returns the number of events that a write of a watched key causes. This is the
// number of watchers of the key. It is determined from the load, or from the numbers of events and
// writes. The events of one write count as one sample of latency.
func (t *Trial) EventsPerWrite() uint64 {
	each := max(t.WatchersPerKey(), 1)
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
		WatchCounts: t.WatchCounts,
		InWindow:    m.Watch.Delivered, Creation: Times{measure.Summarize(t.Created, 0)}, CreationSeconds: t.CreatedSeconds,
	}
	if t.Last != nil {
		w.ToLastWatcher = &Times{measure.Summarize(t.Last, t.Lost)}
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

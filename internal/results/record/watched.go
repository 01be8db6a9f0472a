package record

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Watching says what was watched beside a load.
type Watching struct {
	Watchers    int    `json:"watchers" csv:"watchers"`
	Streams     int    `json:"streams"`
	Connections int    `json:"connections"`      // for watchers alone; 0: the load's own
	Keys        uint64 `json:"watched_keys"`     // 0: the whole key space, or Key alone
	Span        uint64 `json:"keys_per_watcher"` // at least 1
	PrevKV      bool   `json:"previous_values"`
	Key         string `json:"key,omitempty"` // all watch this one
	// Earlier is how many events of writes before the load each watcher was to
	// catch up with; when all had, the window closed.
	Earlier uint32 `json:"earlier_events,omitempty"`
	// AtWindow says that the watchers were created when the window opened, and
	// not before the load.
	AtWindow bool `json:"created_in_window,omitempty"`
}

func watchingOf(w *scenario.Watch) *Watching {
	if w == nil {
		return nil
	}
	return &Watching{
		Watchers: w.Watchers, Streams: w.Streams, Connections: w.Connections, Keys: w.WatchedKeys, Span: max(w.Span, 1),
		PrevKV: w.PrevKV, Key: text(w.Key), Earlier: w.Expect, AtWindow: w.AtWindow,
	}
}

// STM says what a trial's optimistic transactions were.
type STM struct {
	Isolation    string `json:"isolation"` // c, r, s or ss
	Keys         int    `json:"keys"`      // that one transaction reads
	WritePercent int    `json:"write_percent"`
	Locker       string `json:"locker"` // stm, lock-client or lock-rpc
}

func stmOf(s *scenario.STM) *STM {
	if s == nil {
		d := scenario.DefaultSTM()
		s = &d
	}
	return &STM{Isolation: s.Isolation.String(), Keys: s.KeysPerTxn, WritePercent: s.WritePercent, Locker: s.Locker.String()}
}

// Watched is what watchers got. Counts are of the whole load, its warm-up
// included, unless they say that they are of the window.
type Watched struct {
	Acknowledged uint64 `json:"acknowledged_writes"` // of watched keys
	Expected     uint64 `json:"expected_events"`     // that those make, one for each watcher of the key
	Delivered    uint64 `json:"delivered_events"`    // distinct ones
	Lost         uint64 `json:"lost_events"`
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
}

func newWatched(c *Watching, m *measure.Totals) *Watched {
	t := m.Watching
	if t == nil {
		return nil
	}
	w := &Watched{
		Acknowledged: t.Acknowledged, Expected: t.Expected, Delivered: t.Delivered, Lost: t.Lost,
		Duplicated: t.Duplicated, Reordered: t.Reordered, Untimed: t.Untimed, Foreign: t.Foreign,
		Wrong: t.Wrong, Impossible: t.Impossible, Resubscribed: t.Resubscribed, Ended: t.Ended, EndedText: t.EndedText,
		InWindow: m.Watch.Delivered, Creation: Times{measure.Summarize(t.Created, 0)}, CreationSeconds: t.CreatedSeconds,
	}
	if m.Seconds > 0 {
		w.PerSecond = float64(w.InWindow) / m.Seconds
	}
	if c == nil || c.Key == "" {
		w.FromDue = Times{measure.Summarize(m.Watch.FromDue, t.Lost)}
		w.FromSent = Times{measure.Summarize(m.Watch.FromSent, t.Lost)}
	}
	return w
}

// figures is what the verdict's rules look at: of what came, the window's part;
// what did not come is known of the whole load only. Events of writes before the
// load have no times.
func (w *Watched) figures(c *Watching, window *measure.Watch) verdict.EventFigures {
	f := verdict.EventFigures{
		Expected: w.Expected, Lost: w.Lost, Duplicated: window.Duplicated, Reordered: window.Reordered, Untimed: window.Untimed,
		Wrong: w.Wrong, Impossible: w.Impossible, Ended: w.Ended, EndedText: w.EndedText, Resubscribed: w.Resubscribed,
	}
	if c != nil && c.Key != "" {
		f.Untimed = 0
	}
	return f
}

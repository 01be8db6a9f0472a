package report

import (
	"bytes"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// watched writes what the watchers of a trial got, and when.
func watched(b *bytes.Buffer, t *record.Trial) error {
	w := t.Watch
	if w == nil || t.Load.Watch == nil {
		return nil
	}
	b.WriteString("\nWatch events\n")
	facts := grid{indent: "  ", columns: []column{{"", true}, {"", true}}}
	facts.add("watchers", watchers(t.Load.Watch, t.KeySpace))
	facts.add("delivered", fmt.Sprintf("%s (%s in the window)", readable.PerSecond(w.PerSecond), readable.Plural(w.InWindow, "event")))
	facts.add("all in all", eventCounts(w))
	if w.Resubscribed > 0 {
		facts.add("created again", readable.Plural(w.Resubscribed, "time"))
	}
	if w.Creation.Count > 0 {
		facts.add("creation", fmt.Sprintf("%s in all; each p50 %s, p99 %s, max %s", readable.Seconds(w.CreationSeconds),
			readable.Figure(w.Creation.At(50)), readable.Figure(w.Creation.At(99)), readable.Figure(w.Creation.Max)))
	}
	if err := facts.writeRows(b); err != nil {
		return err
	}
	return section(b, analyze.WatchTimesTable(t))
}

// watchers says who watches what.
func watchers(w *scenario.Watch, keySpace uint64) string {
	text := fmt.Sprintf("%s on %s", readable.Plural(uint64(w.Watchers), "watcher"), readable.Plural(uint64(w.Streams), "stream"))
	if w.Connections > 0 {
		text += fmt.Sprintf(" over %s of their own", readable.Plural(uint64(w.Connections), "connection"))
	}
	switch {
	case len(w.Key) == 0:
		text += ", watching " + analyze.WatchedKeys(w, keySpace)
	case w.Expect == 0:
		text += fmt.Sprintf(", of the key %q", scenario.KeyText(w.Key))
	default:
		text += fmt.Sprintf(", of the key %q, with %s to catch up", scenario.KeyText(w.Key), readable.Plural(uint64(w.Expect), "earlier event"))
	}
	if w.PrevKV {
		text += ", with the values before"
	}
	return text
}

// eventCounts says how many came of those that were to come, and of which
// something was wrong.
func eventCounts(w *record.Watched) string {
	text := fmt.Sprintf("%s of %s came", readable.Count(w.Delivered), readable.Plural(w.Expected, "event"))
	for _, wrong := range []struct {
		n    uint64
		what string
	}{
		{w.Lost, "lost"}, {w.Duplicated, "twice"}, {w.Reordered, "out of order"}, {w.Wrong, "of keys not watched"},
		{w.Impossible, "before their write"}, {w.Foreign, "not of this load's writes"},
	} {
		if wrong.n > 0 {
			text += fmt.Sprintf(", %s %s", readable.Count(wrong.n), wrong.what)
		}
	}
	return text
}

// hashes writes the hashes of their data that the members reported.
func hashes(b *bytes.Buffer, t *record.Trial) {
	if t.Hashes == nil || len(t.Hashes.Members) == 0 {
		return
	}
	fmt.Fprintf(b, "\nThe members' data (hashes up to one revision, asked in %s)\n", readable.Seconds(t.Hashes.Seconds))
	for i := range t.Hashes.Members {
		m := &t.Hashes.Members[i]
		fmt.Fprintf(b, "  %s: %d at revision %d\n", m.Member(), m.Hash, m.Revision)
	}
}

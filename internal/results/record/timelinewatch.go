package record

import (
	"fmt"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// timelineWatchPercentiles are the times from due to arrival in timeline.csv.
var timelineWatchPercentiles = [...]float64{50, 99}

// watchHeader names the columns that timeline.csv has at its end where the
// trial has watchers.
func watchHeader() []string {
	return []string{"watch_events", "watch_duplicated", "watch_reordered", "watch_p50_ns", "watch_p99_ns", "watch_max_ns"}
}

// watchCells is what watchers got in a second. Which events are lost is known
// at the end alone, so none takes part in its times.
func watchCells(w *measure.Watch) []string {
	u := func(n uint64) string { return strconv.FormatUint(n, 10) }
	cells := []string{u(w.Delivered), u(w.Duplicated), u(w.Reordered)}
	for _, f := range measure.PercentilesOf(w.FromDue, 0, timelineWatchPercentiles[:]...) {
		cells = append(cells, cell(f))
	}
	return append(cells, cell(measure.Slowest(w.FromDue, 0)))
}

// RowWatch is what watchers got in a second: distinct events by when they came.
type RowWatch struct {
	Events, Duplicated, Reordered uint64
	// From due to arrival; not known where the file has nothing.
	P50, P99, Max measure.Figure
}

// hasWatchColumns reports whether a timeline has the columns of watch events.
func hasWatchColumns(r *csvRow) (bool, error) {
	found, missing := 0, ""
	for _, name := range watchHeader() {
		if r.has(name) {
			found++
		} else {
			missing = name
		}
	}
	if found > 0 && missing != "" {
		return false, fmt.Errorf("the timeline has no column %q", missing)
	}
	return found > 0, nil
}

func watchOf(r *csvRow) *RowWatch {
	return &RowWatch{
		Events: r.uint("watch_events"), Duplicated: r.uint("watch_duplicated"), Reordered: r.uint("watch_reordered"),
		P50: r.figure("watch_p50_ns"), P99: r.figure("watch_p99_ns"), Max: r.figure("watch_max_ns"),
	}
}

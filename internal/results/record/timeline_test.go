package record

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// The timeline contains the counts of each second, and percentiles that are computed with the
// nearest-rank method. Percentiles with too few samples are omitted.
func TestTimelineHasWatchEvents(t *testing.T) {
	w := newRun(t)
	tw, err := w.Trial(NewConditions(watchedSpec()), noon)
	must(t, err)
	must(t, tw.Begin(measure.Measured, noon))
	r := rand.New(rand.NewPCG(5, 6))
	const seconds = 30
	var want [seconds]measure.Watch
	var times [seconds][]int64
	for i := range seconds {
		s := &measure.Second{Phase: measure.Measured, Index: i}
		s.Watch = measure.Watch{Duplicated: uint64(r.IntN(4)), Reordered: uint64(r.IntN(4)), Untimed: uint64(r.IntN(4))}
		for range r.IntN(3000) * (i % 3) {
			ns := int64(1e5 + 1e6*r.ExpFloat64())
			times[i] = append(times[i], ns)
			add(&s.Watch.FromDue, ns)
		}
		slices.Sort(times[i])
		s.Watch.Delivered = s.Watch.Untimed + uint64(len(times[i]))
		want[i] = s.Watch
		must(t, tw.Second(s))
	}
	must(t, tw.Abort(Failed, "it was a test"))
	rows, err := OpenTimeline(w.Dir(), tw.folder)
	must(t, err)
	if len(rows) != seconds {
		t.Fatalf("%d rows", len(rows))
	}
	watched := watchedSpec()
	each := int(watched.Load.WatchersPerKey())
	if each < 2 {
		t.Fatal("each key has only one watcher")
	}
	for i, row := range rows {
		if row.Watch == nil {
			t.Fatalf("second %d has no watch events", i)
		}
		if row.Watch.Events != want[i].Delivered || row.Watch.Duplicated != want[i].Duplicated || row.Watch.Reordered != want[i].Reordered {
			t.Errorf("second %d has %+v, want %+v", i, *row.Watch, want[i])
		}
		n := len(times[i])
		ranked(t, row.Watch.P50, times[i], (n+1)/2, each)
		ranked(t, row.Watch.P99, times[i], int(math.Ceil(0.99*float64(n))), each)
		if row.Watch.Max.Known != (n > 0) {
			t.Errorf("second %d: the maximum of %d times is %+v", i, n, row.Watch.Max)
		} else if n > 0 {
			ranked(t, row.Watch.Max, append(times[i], make([]int64, measure.MinBeyond)...), n, 1)
		}
	}
}

// ranked checks that a figure equals the value at a rank, to three digits. `each` is the number of
// values that have the same write as their cause.
func ranked(t *testing.T, f measure.Figure, sorted []int64, rank, each int) {
	t.Helper()
	if known := rank > 0 && len(sorted)-rank >= measure.MinBeyond*each; known != f.Known {
		t.Errorf("the value at rank %d of %d is reported as %+v", rank, len(sorted), f)
	} else if known && math.Abs(f.NS-float64(sorted[rank-1])) > 0.002*f.NS {
		t.Errorf("the value at rank %d of %d is %d, but the figure is %+v", rank, len(sorted), sorted[rank-1], f)
	}
}

// If a trial has no watchers, its timeline has no columns for watch events, as in earlier versions.
func TestTimelineWithoutWatchers(t *testing.T) {
	w := newRun(t)
	tw, err := w.Trial(conditions(), noon)
	must(t, err)
	must(t, tw.Begin(measure.Measured, noon))
	must(t, tw.Second(&measure.Second{Phase: measure.Measured}))
	must(t, tw.Abort(Failed, "it was a test"))
	text := readFile(t, w.Dir(), tw.folder, timelineFile)
	if head, _, _ := strings.Cut(text, "\n"); head != strings.Join(names((&Row{}).written()), ",") {
		t.Errorf("the timeline's columns are %s", head)
	}
	rows, err := OpenTimeline(w.Dir(), tw.folder)
	if err != nil || len(rows) != 1 || rows[0].Watch != nil {
		t.Errorf("%+v, %v", rows, err)
	}
}

// A file with only some of the columns for watch events causes an error.
func TestTimelineWithSomeWatchColumns(t *testing.T) {
	row := rowOf(&measure.Second{}, time.Unix(1, 0), 1, measure.NewHistogram())
	whole := strings.Join(names(row.written()), ",") + "\n" + strings.Join(cells(row.written()), ",") + "\n"
	if rows, err := readTimeline([]byte(whole)); err != nil || len(rows) != 1 || *rows[0].Watch != (RowWatch{}) {
		t.Errorf("%+v, %v", rows, err)
	}
	for _, name := range names(row.Watch.columns()) {
		if _, err := readTimeline([]byte(strings.Replace(whole, name, "other", 1))); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("without %s: %v", name, err)
		}
	}
}

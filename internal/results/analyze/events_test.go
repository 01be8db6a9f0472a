package analyze

import (
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
)

const ms = time.Millisecond

// memberEvent returns an event from a member's log. The event ended at noon plus `after`, and it
// lasted for `took`.
func memberEvent(after time.Duration, member string, kind stores.SignalKind, took time.Duration) record.Event {
	return record.Event{Time: noon.Add(after), Kind: string(kind), Member: member, Duration: took, Line: "the log's"}
}

// The start and the end of a snapshot become one event, whose duration is the time between them.
func TestSnapshotsArePaired(t *testing.T) {
	events := []record.Event{
		memberEvent(1*time.Second, "m1", stores.SnapshotStarted, 0),
		memberEvent(1100*ms, "m2", stores.SnapshotStarted, 0),
		memberEvent(1400*ms, "m1", stores.SnapshotDone, 0),
		memberEvent(1500*ms, "m2", stores.SnapshotDone, 10*ms),
		memberEvent(1600*ms, "m1", stores.SnapshotDone, 0),
		memberEvent(1700*ms, "m1", stores.SnapshotStarted, 0),
	}
	before := slices.Clone(events)
	var took []time.Duration
	for _, e := range combineSnapshotEvents(events) {
		took = append(took, e.Duration)
	}
	if want := []time.Duration{400 * ms, 400 * ms, 0, 0}; !slices.Equal(took, want) || !slices.Equal(events, before) {
		t.Errorf("they took %v, not %v", took, want)
	}
}

// The longest gap and the slowest second each list the events that happened at that time, once.
func TestGapAndSlowestSecondHaveTheirEvents(t *testing.T) {
	gapAt := 1.0
	trial := &record.Trial{State: record.Complete, Opened: &noon, Seconds: 5, Counts: record.Counts{LongestGap: 1.2, LongestGapAt: &gapAt}}
	for i, p99 := range []float64{4e6, 4e6, 4e6, 4e6, 90e6} {
		trial.Timeline = append(trial.Timeline, record.Row{Time: noon.Add(time.Duration(i) * time.Second), Phase: "measured", Second: i,
			P99: measure.Figure{NS: p99, Known: true}})
	}
	trial.Events = []record.Event{
		memberEvent(-900*ms, "m1", stores.GCPause, 20*ms), // before the window
		memberEvent(2100*ms, "m2", stores.ElectionStarted, 0), memberEvent(2110*ms, "m2", stores.Elected, 90*ms),
		memberEvent(4500*ms, "m3", stores.GCPause, 80*ms), memberEvent(4700*ms, "m3", stores.GCPause, 30*ms),
	}
	h := EventsOf(trial)
	if len(h.Counted) != 2 || h.Counted[0].Kind != stores.Elected || h.Counted[1].Occurrences != 2 || h.Counted[1].Total != 110*ms || h.TooManyToList {
		t.Errorf("counted: %+v", h.Counted)
	}
	if g := h.Gap; g == nil || len(g.Events) != 2 || !g.From.Equal(noon.Add(time.Second)) || g.Length != 1200*ms || g.OmittedEvents != 0 {
		t.Errorf("in the gap: %+v", g)
	}
	if s := h.Slowest; s == nil || len(s.Events) != 1 || s.Events[0].Longest.Duration != 80*ms || s.P99.NS != 90e6 {
		t.Errorf("in the slowest second: %+v", s)
	}
	trial.Timeline[4].P99.NS = 7e6 // no longer a spike
	trial.LongestGap = 0.09
	if h := EventsOf(trial); h.Slowest != nil || h.Gap != nil {
		t.Errorf("%+v and %+v", h.Slowest, h.Gap)
	}
	trial.Events = trial.Events[:1]
	if h := EventsOf(trial); !reflect.DeepEqual(h, WindowEvents{}) {
		t.Errorf("%+v", h)
	}
}

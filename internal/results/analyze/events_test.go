package analyze

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

const ms = time.Millisecond

// The start and the end of a snapshot become one event, whose duration is the time between them.
func TestSnapshotsArePaired(t *testing.T) {
	events := []record.Event{
		runs.MemberEvent(1*time.Second, "m1", stores.SnapshotStarted, 0),
		runs.MemberEvent(1100*ms, "m2", stores.SnapshotStarted, 0),
		runs.MemberEvent(1400*ms, "m1", stores.SnapshotDone, 0),
		runs.MemberEvent(1500*ms, "m2", stores.SnapshotDone, 10*ms),
		runs.MemberEvent(1600*ms, "m1", stores.SnapshotDone, 0),
		runs.MemberEvent(1700*ms, "m1", stores.SnapshotStarted, 0),
	}
	before := slices.Clone(events)
	var took []time.Duration
	for _, e := range CombineSnapshotEvents(events) {
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
		runs.MemberEvent(-900*ms, "m1", stores.GCPause, 20*ms), // before the window
		runs.MemberEvent(2100*ms, "m2", stores.ElectionStarted, 0), runs.MemberEvent(2110*ms, "m2", stores.Elected, 90*ms),
		runs.MemberEvent(4500*ms, "m3", stores.GCPause, 80*ms), runs.MemberEvent(4700*ms, "m3", stores.GCPause, 30*ms),
	}
	h := EventsOf(trial)
	if len(h.Counted) != 2 || h.Counted[0].Kind != stores.Elected || h.Counted[1].Occurrences != 2 || h.Counted[1].Total != 110*ms || h.TooManyToList {
		t.Errorf("the counted events are %+v", h.Counted)
	}
	if g := h.Gap; g == nil || len(g.Events) != 2 || !g.From.Equal(noon.Add(time.Second)) || g.Length != 1200*ms || g.OmittedEvents != 0 {
		t.Errorf("the gap is %+v", g)
	}
	if s := h.Slowest; s == nil || len(s.Events) != 1 || s.Events[0].Longest.Duration != 80*ms || s.P99.NS != 90e6 {
		t.Errorf("the slowest second is %+v", s)
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

// A fault that began just before the longest gap is listed with the gap.
func TestFaultIsListedWithItsGap(t *testing.T) {
	began := record.Fault{Number: 1, Description: "pause leader for 5s", Action: "pause", BeganAt: new(2.0), HealedAt: new(3.0), RecoveredAt: new(3.5), Member: "m1", Role: "leader"}
	trial := &record.Trial{State: record.Complete, Opened: &noon, Seconds: 10, Counts: record.Counts{LongestGap: 1.2, LongestGapAt: new(2.002)}, WindowSummary: record.WindowSummary{Faults: []record.Fault{began}}}
	trial.Events = []record.Event{{Time: noon.Add(2 * time.Second), Kind: record.FaultBegan, Member: "m1", Text: "fault 1: pause leader for 5s (m1, leader)"},
		{Time: noon.Add(9 * time.Second), Kind: record.FaultBegan, Member: "m2", Text: "another"}}
	h := EventsOf(trial)
	if h.Gap == nil || len(h.Gap.Events) != 1 || !strings.Contains(h.Gap.Events[0].Longest.Text, "pause leader") {
		t.Errorf("the gap is %+v", h.Gap)
	}
}

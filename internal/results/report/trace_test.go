package report

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// TestTraceHasTracksForEachTrial checks the times and tracks of a trace. Times count from the start
// of the run. The trace shows each trial as a process.
func TestTraceHasTracksForEachTrial(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	trial := made{number: 1, name: "put", kind: kv.Put, target: "all", perSecond: 2010, p50: 5e6}.trial()
	opened := start.Add(10 * time.Second)
	trial.Opened, trial.Seconds = &opened, 5
	trial.Faults = []record.Fault{
		{Number: 1, Description: "kill leader", Member: "m1", BeganAt: new(1.0), HealedAt: new(2.5), Recovery: record.Recovery{Outage: new(0.4), OutageStart: new(1.1)}},
		{Number: 2, Description: "never done"},
	}
	trial.Events = []record.Event{
		{Time: opened.Add(time.Second), Kind: "slow_fsync", Member: "m2", Text: "m2 synced slowly", Duration: 200 * time.Millisecond},
		{Time: opened, Kind: "election", Text: "an election"},
	}
	trial.Timeline = []record.Row{{Time: opened, Done: 2000, Errors: 1, P99: measure.Figure{Known: true, NS: 7e6}}, {Time: opened.Add(time.Second), P99: measure.Figure{Failed: true}}}
	other := made{number: 2, name: "get", kind: kv.Get, target: "all", perSecond: 10, p50: 1e6}.trial()
	run := &record.Run{Name: "traced", Started: start, Trials: []record.Trial{trial, other}}
	var b bytes.Buffer
	if err := Trace(&b, run); err != nil {
		t.Fatal(err)
	}
	var out struct {
		TraceEvents []overtime.TraceEvent
	}
	if err := json.Unmarshal(b.Bytes(), &out); err != nil {
		t.Fatalf("%v in %s", err, b.String())
	}
	tracks, found := map[[2]int]string{}, map[string]overtime.TraceEvent{}
	for _, e := range out.TraceEvents {
		if e.Phase == "M" {
			tracks[[2]int{e.PID, e.TID}] = e.Args["name"].(string)
			continue
		}
		if e.PID == 1 {
			found[tracks[[2]int{e.PID, e.TID}]+"/"+e.Name] = e
		}
	}
	for name, want := range map[string]overtime.TraceEvent{
		"phases/measurement window":    {Phase: "X", Time: 10e6, Duration: 5e6},
		"faults/kill leader":           {Phase: "X", Time: 11e6, Duration: 1.5e6},
		"outages/outage after fault 1": {Phase: "X", Time: 11.1e6, Duration: 0.4e6},
		"events of m2/slow_fsync":      {Phase: "X", Time: 10.8e6, Duration: 0.2e6},
		"events/election":              {Phase: "i", Time: 10e6},
		"put/operations per second":    {Phase: "C", Time: 11e6},
		"put/p99 in milliseconds":      {Phase: "C", Time: 10e6},
	} {
		got, ok := found[name]
		if !ok || got.Phase != want.Phase || got.Time != want.Time || got.Duration != want.Duration || got.PID != 1 {
			t.Errorf("%s: %+v, not %+v", name, got, want)
		}
	}
	if tracks[[2]int{2, 0}] != "get" || len(found) != 9 {
		t.Errorf("the second trial is called %q, and the first has %d kinds of events: %v", tracks[[2]int{2, 0}], len(found), found)
	}
}

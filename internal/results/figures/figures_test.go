package figures

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// fullTrial returns a trial that has every possible figure.
func fullTrial(t *testing.T) *record.Trial {
	t.Helper()
	c, x, n := conditions(), 0.25, int64(7)
	c.Watch, c.STM = &scenario.Watch{Watchers: 3}, &scenario.STM{}
	c.Mix = append(c.Mix, scenario.Operation{Kind: kv.Range, Weight: 1})
	totals := &measure.Totals{Seconds: 3, Tally: measure.Tally{Due: 9000, Done: 9000, Lateness: measure.NewHistogram()}}
	totals.Retries, totals.Keys, totals.BytesIn, totals.BytesOut = 8, 9, 3_000_000, 2_700_000
	totals.Outcomes[kv.OK], totals.Outcomes[kv.Miss] = 8900, 100
	cell := &measure.Cell{Series: measure.Series{Kind: kv.Put, Member: 1, Term: 2}, Response: measure.NewHistogram(), Service: measure.NewHistogram()}
	for i := range int64(9000) {
		measure.Record(cell.Response, 1500*i)
		measure.Record(cell.Service, 1000*i)
		measure.Record(totals.Lateness, 500*i)
	}
	for o := kv.NotSent; o < kv.NumOutcomes; o++ { // a different number of errors of each kind
		failed := measure.NewHistogram()
		for range 10 + int(o) {
			measure.Record(failed, int64(o)*1e8)
		}
		cell.Failed[measure.ErrorIndex(o)] = failed
		totals.Outcomes[o] = 10 + uint64(o)
		totals.Due += 10 + uint64(o)
	}
	totals.Cells = []*measure.Cell{cell}
	totals.Parts, totals.MergedAfter = []measure.Part{{Worker: "w1"}, {Worker: "w2", StartDelay: 5, ClockError: 3}}, 7
	totals.Watching = &measure.WatchTotals{WatchCounts: measure.WatchCounts{Expected: 100, Delivered: 99, Lost: 1}, Created: measure.NewHistogram()}
	totals.Watch.FromDue, totals.Watch.FromSent = measure.NewHistogram(), measure.NewHistogram()
	for i := range int64(3000) {
		measure.Record(totals.Watch.FromDue, 1000*i)
		measure.Record(totals.Watch.FromSent, 500*i)
	}
	o := record.Observed{WarmupSeconds: &x, ThrottledNS: &n, StolenShare: &x, BusyShare: &x, ForeignShare: &x, Store: &record.StoreUsage{CPUSeconds: 2, MaxRSSBytes: 3, GrowthRSSBytes: 4000, WrittenBytes: &n}, DatabaseGrowth: &n, SamplingCPUSeconds: &x}
	trial := record.NewTrial(c, o, totals, nil, nil)
	return &trial
}

// The value of each figure in the registry equals the number under its key in the trial's JSON
// object.
func TestFiguresEqualTheJSONObject(t *testing.T) {
	settle.SkipUnderRace(t)
	trial := fullTrial(t)
	text, err := json.Marshal(trial)
	must(t, err)
	var object map[string]any
	must(t, json.Unmarshal(text, &object))
	names, columns := map[string]bool{}, map[string]bool{}
	for _, f := range All() {
		if f.Name == "" && f.Field == "" || f.Name != "" && names[f.Name] || f.Column != "" && columns[f.Column] {
			t.Errorf("the figure %+v has no name, or a name or column that another figure has", f)
		}
		names[f.Name], columns[f.Column] = true, true
		if f.Name != "" {
			if found, ok := find(f.Name); !ok || found.Value(trial) != f.Value(trial) {
				t.Errorf("%s is not found", f.Name)
			}
		}
		v := f.Value(trial)
		if !v.Known && !v.Failed && f.Times == nil && f.MissingReason == "" && f.Name != "" {
			t.Errorf("%s is unknown, but the registry has no reason: %+v", f.Name, v)
		}
		if f.Field == "" {
			continue
		}
		at, in := object, f.Field
		whole, inner, part := strings.Cut(in, ".")
		if part {
			at, in = nil, inner
			if object[whole] != nil {
				at = object[whole].(map[string]any)
			}
		}
		got, there := at[in]
		x, known := got.(float64)
		if !there && (at != nil || v.Known) || known != v.Known || known && math.Abs(x-v.Number) > 1e-9*x {
			t.Errorf("%s is %v in the JSON object and %+v in the registry", f.Field, got, v)
		}
		if f.Meaning == "" {
			t.Errorf("%s has no meaning", f.Field)
		}
	}
}

// The figures of errors by kind, and the figures that only a closed loop has, equal the fields of
// the trial.
func TestFiguresWithoutAKey(t *testing.T) {
	trial := fullTrial(t)
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		f := Registered("errors-" + strings.ReplaceAll(o.String(), "_", "-"))
		if v := f.Value(trial); !v.Known || v.Number != float64(10+o) {
			t.Errorf("%s is %+v, want %d", f.Name, v, 10+o)
		}
	}
	c := conditions()
	c.Arrival, c.Rate, c.Clients = scenario.Closed, nil, 5
	totals := &measure.Totals{Seconds: 3, Tally: measure.Tally{Due: 101, Done: 101}}
	totals.Outcomes[kv.OK] = 101
	totals.Connections = []measure.Connection{{Endpoint: "a:1", Completed: []uint64{10, 20}}, {Endpoint: "b:2", Completed: []uint64{4}}, {Endpoint: "a:1", Completed: []uint64{60, 7}}}
	closed := record.NewTrial(c, record.Observed{}, totals, nil, nil)
	f := Registered("fairness")
	if v := f.Value(&closed); closed.ByClient == nil || closed.ByClient.FairnessIndex == nil || !v.Known || v.Number != *closed.ByClient.FairnessIndex {
		t.Errorf("fairness is %+v, and the clients are %+v", v, closed.ByClient)
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{"ops", "p50", "p99.999", "success-p0.1", "watch-sent-p97.5", "lateness", "lateness-max", "errors-connection-lost", "keys-per-op"} {
		if f, ok := find(name); !ok || f.Name != name {
			t.Errorf("%s: %+v, %t", name, f, ok)
		}
	}
	for _, name := range []string{"", "p", "p0", "p100", "p-1", "p99.9999", "pNaN", "x-p99", "99"} {
		if f, ok := find(name); ok {
			t.Errorf("%q is %+v", name, f)
		}
	}
}

// The record of a trial with watchers may lack the watchers' results. Then the shares of the
// figures about watchers are not known.
func TestSharesOfMissingFigures(t *testing.T) {
	trial := &record.Trial{State: record.Complete}
	trial.Load.Watch = &scenario.Watch{Watchers: 1}
	for _, f := range All() {
		if f.Total == nil || f.Value(trial).Known && f.Total.Count(trial) > 0 {
			continue
		}
		if v, why := f.Share(trial); v.Known || why == "" {
			t.Errorf("%s is %+v, without a reason", f.Name, v)
		}
	}
}

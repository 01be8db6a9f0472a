package faults

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

var noon = runs.Noon

func fault(began, healed, ready float64) record.Fault {
	return record.Fault{Number: 1, Description: "pause leader for 5s", Action: "pause", BeganAt: &began, HealedAt: &healed, RecoveredAt: &ready, Member: "m1", Role: "leader", Recovery: record.Recovery{LongestGapBefore: new(0.01)}}
}

// broken returns a row of trials, each with two faults. The first fault causes the given outages,
// and the second fault causes none.
func broken(number int, name string, outages ...float64) *analyze.Row {
	r := &analyze.Row{}
	for i, outage := range outages {
		t := &record.Trial{State: record.Complete, Opened: &noon, Seconds: 60, Conditions: record.Conditions{Number: number, Name: name, Repeat: i + 1, Repeats: len(outages), Store: name, Version: "1"}}
		first, second := fault(20, 25, 26), fault(40, 41, 42)
		second.Number, second.Description = 2, "kill follower for 1s"
		first.Outage, first.OutageStart = &outage, new(20.1)
		first.ThroughputRecoveredAt, first.P99RecoveredAt, first.FirstFailureAt = new(20.1+outage), new(20.0), new(20.5)
		first.Definite, first.Indefinite = 2, 3
		first.ByPart = []record.PartOutage{{Member: "m1", Outage: new(6.0)}, {Member: "m2"}, {Member: "m3", Outage: new(0.5)}, {Operation: "put", Outage: new(50.0)}, {Operation: "get", Consistency: "local", Outage: new(0.2)}, {Operation: "get", Consistency: "linearizable", Outage: new(40.0)}}
		t.Faults = []record.Fault{first, second, {Number: 3, Description: "kill follower for 1s", Failure: "not done"}}
		t.Events = []record.Event{runs.MemberEvent(19*time.Second, "m2", stores.ElectionStarted, 0), runs.MemberEvent(21200*time.Millisecond, "m2", stores.ElectionStarted, 0),
			runs.MemberEvent(21500*time.Millisecond, "m2", stores.Elected, 0), runs.MemberEvent(21900*time.Millisecond, "m3", stores.Elected, 0),
			runs.MemberEvent(22*time.Second, "m3", stores.Serving, 0), runs.MemberEvent(24*time.Second, "m1", stores.Serving, 0), runs.MemberEvent(25*time.Second, "m1", stores.Serving, 0)}
		r.Trials, r.Done = append(r.Trials, t), append(r.Done, t)
	}
	return r
}

// The entries for the same kind of fault on different stores are adjacent. Each entry has its own
// distribution.
func TestFindEffects(t *testing.T) {
	ten := []float64{1.9, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.7, 1.8, 1}
	rows := []*analyze.Row{broken(1, "a", ten...), broken(2, "b", 3, 2)}
	all := FindEffects(rows)
	got := ""
	for _, b := range all {
		got += fmt.Sprintf("%s of %s %d times; ", b.Description, b.Row.First().Name, b.Count)
	}
	if want := "pause leader for 5s of a 10 times; pause leader for 5s of b 2 times; kill follower for 1s of a 10 times; kill follower for 1s of b 2 times; "; got != want {
		t.Fatalf("the faults are %q", got)
	}
	spans := map[string]*Period{}
	for i := range all[0].Periods {
		spans[all[0].Periods[i].Name] = &all[0].Periods[i]
	}
	o := all[0].Outage()
	_, ok := o.P90() // P90 needs 100 faults
	if most, _ := o.Max(); o.Median.Value != 1.5 || !o.HasInterval || o.Median.Low != 1.1 || o.Median.High != 1.8 || ok || most != 1.9 {
		t.Errorf("the outages are %+v", o)
	}
	if _, ok := all[1].Outage().P90(); ok || all[1].Outage().HasInterval || all[1].Outage().Median.Value != 3 {
		t.Errorf("the summary of two outages is %+v", all[1].Outage())
	}
	near := func(name string, want float64) {
		t.Helper()
		if s := spans[name]; len(s.Lengths) == 0 || s.Median.Value < want-1e-9 || s.Median.Value > want+1e-9 {
			t.Errorf("%s is %+v, not %v", name, s, want)
		}
	}
	near("faulted_member", 6)
	near("other_members", 0.5)
	near("writes", 50)
	near("reads", 40)
	near("first_failure", 0.5)
	near("first_success", 1.6)
	near("throughput_recovered", 1.6)
	near("p99_recovered", 0)
	near("detected", 1.2)
	near("elected", 1.5)
	near("serving", 4)
	near("recovered", 6)
	if all[0].Definite != 20 || all[0].Indefinite != 30 {
		t.Errorf("%d definite and %d indefinite failures, want 20 and 30", all[0].Definite, all[0].Indefinite)
	}
}

func TestOutageTables(t *testing.T) {
	if tables := OutageTables([]*analyze.Row{analyze.RowOf(&record.Trial{State: record.Complete})}); tables != nil {
		t.Errorf("a trial without faults has the tables %+v", tables)
	}
	r := broken(1, "a", 1, 2, 3, 4, 5, 6)
	r.Done[0].Faults[0].OutageUnfinished, r.Done[0].Faults[0].ThroughputRecoveredAt = true, nil
	table := OutageTables([]*analyze.Row{r})[0]
	if table.Kind != analyze.FaultsKind || len(table.Rows) != 2 || len(table.Footnotes) != 3 {
		t.Fatalf("the table is %+v", table)
	}
	for _, row := range table.Rows {
		if len(row) != len(table.Columns) {
			t.Fatalf("%d cells in %d columns", len(row), len(table.Columns))
		}
	}
	cells := map[string]analyze.Cell{}
	for i, c := range table.Columns {
		cells[c.Title] = table.Rows[0][i]
	}
	if c := cells["outage p50"]; c.Value.Number != 4 {
		t.Errorf("the median is %+v", c)
	}
	if c := cells["interval"].Certainty; c == nil || c.Low.Number != 1 || c.High.Number != 6 {
		t.Errorf("the interval is %+v", c)
	}
	if c := cells["p90"]; c.Value.Known {
		t.Errorf("the p90 of six outages is known: %+v", c)
	}
	if c := cells["p99 recovered p50"]; c.Text != "at once" || len(cells["throughput recovered p50"].Notes) != 1 {
		t.Errorf("the recovery cells are %+v and %+v", c, cells["throughput recovered p50"])
	}
	if c := table.Rows[1][4]; c.Text != "none" {
		t.Errorf("no outage is %+v", c)
	}
}

// The table has columns for watch events and leases if faults affected any. For kinds of faults
// that affected none, the cells are empty.
func TestOutageTablesHaveEvents(t *testing.T) {
	r := broken(1, "a", 1, 2)
	r.Done[0].Faults[0].Watch = &record.WatchRecovery{Outage: new(0.8), MaxDelay: new(0.9), Late: 7, Lost: new(uint64(2)), Resubscribed: 3}
	r.Done[1].Faults[0].Watch = &record.WatchRecovery{MaxDelay: new(0.1), Late: 1}
	r.Done[1].Faults[0].Leases = &record.EndedLeases{Ended: 5, EndedEarly: 4}
	table := OutageTables([]*analyze.Row{r})[0]
	for i, row := range table.Rows {
		cells := map[string]analyze.Cell{}
		for k, c := range table.Columns {
			cells[c.Title] = row[k]
		}
		got := fmt.Sprintf("%g %g", cells["watch outage p50"].Value.Number, cells["latest event p50"].Value.Number)
		for _, name := range []string{"late events", "lost events", "leases ended", "ended early"} {
			got += fmt.Sprintf(" %g %v", cells[name].Value.Number, cells[name].Value.Known)
		}
		if want := []string{"0.8 0.9 8 true 2 true 5 true 4 true", "0 0 0 false 0 false 0 false 0 false"}[i]; got != want {
			t.Errorf("row %d is %q, not %q", i, got, want)
		}
	}
	lasted := broken(1, "a", 1)
	lasted.Done[0].Faults[0].Watch = &record.WatchRecovery{Outage: new(2.0), Unfinished: true, Late: 3, Lost: new(uint64(4))}
	if !slices.ContainsFunc(OutageTables([]*analyze.Row{lasted})[0].Columns, func(c analyze.Column) bool { return c.Title == "lost events" }) {
		t.Error("if no event arrives after the fault, the table has no column for lost events")
	}
	unseen := broken(1, "a", 1) // the events of these watchers do not show which events were lost
	unseen.Done[0].Faults[0].Watch = &record.WatchRecovery{MaxDelay: new(0.2), Late: 3}
	table = OutageTables([]*analyze.Row{unseen})[0]
	for k, c := range table.Columns {
		if known := table.Rows[0][k].Value.Known; c.Title == "late events" && !known || c.Title == "lost events" && known {
			t.Errorf("column %s: known is %v, although the events do not show which events were lost", c.Title, known)
		}
	}
	for _, c := range OutageTables([]*analyze.Row{broken(1, "a", 1)})[0].Columns {
		if c.Title == "late events" || c.Title == "leases ended" {
			t.Errorf("without watch events and leases, the table has the column %q", c.Title)
		}
	}
}

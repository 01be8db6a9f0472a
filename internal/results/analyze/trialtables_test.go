package analyze

import (
	"math"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// TestTimesTable checks that the first row contains the kind of time that the other tables also
// show first, and that a trial has rows only for the distributions that it recorded.
func TestTimesTable(t *testing.T) {
	h := measure.NewHistogram()
	for i := range 2000 {
		measure.Record(h, int64(1+i)*1e6)
	}
	times := func(failed uint64) record.Times { return record.Times{Summary: measure.Summarize(h, failed)} }
	trial := &record.Trial{Latencies: record.Latencies{ServiceTime: times(0), ResponseTime: times(0)}}
	names := func(table Table) (all []string) {
		for _, row := range table.Rows {
			all = append(all, row[0].Text)
		}
		return all
	}
	if got := names(TimesTable(trial)); !slices.Equal(got, []string{"service time", "response time"}) {
		t.Errorf("a closed loop: %q", got)
	}
	late := times(0)
	trial.Arrival, trial.Errors, trial.ResponseTime, trial.Lateness = scenario.Constant, 50, times(50), &late
	table := TimesTable(trial)
	if got := names(table); !slices.Equal(got, []string{"response time", "service time", "successes only", "lateness"}) {
		t.Errorf("an open loop: %q", got)
	}
	points := []string{"", "min", "mean", "stddev", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9", "max"}
	for i, c := range table.Columns {
		if c.Title != points[i] {
			t.Errorf("column %d is %q, not %q", i, c.Title, points[i])
		}
	}
	response, service := table.Rows[0], table.Rows[1]
	if p50 := response[6].Value; math.Abs(p50.Number-1.025e9) > 5e6 || !response[12].Value.Failed || !service[12].Value.Known {
		t.Errorf("response p50 %+v, max %+v; service max %+v", p50, response[12].Value, service[12].Value)
	}
	if len(WatchTimesTable(trial).Rows) != 0 || len(RolesTable(trial).Rows) != 0 || len(MembersTable(trial).Rows) != 0 {
		t.Error("a trial without watch times, roles and members has tables of them")
	}
}

func TestErrorKinds(t *testing.T) {
	h := measure.NewHistogram()
	measure.Record(h, 5e9)
	trial := &record.Trial{
		Counts:    record.Counts{ErrorsByKind: map[string]uint64{"timeout": 3, "denied": 7, "no_space": 3}, ErrorTexts: map[string]string{"denied": "no"}},
		Latencies: record.Latencies{ErrorTimes: map[string]record.Times{"timeout": {Summary: measure.Summarize(h, 0)}}},
	}
	all := ErrorKinds(trial)
	if len(all) != 3 || all[0].Kind != "denied" || all[0].Text != "no" || all[0].Slowest.Known || all[1].Kind != "no_space" || all[2].Kind != "timeout" || !all[2].Slowest.Known {
		t.Errorf("%+v", all)
	}
}

// The figures in dbtester's files are the same as in the trial's result.
func TestDbtesterOf(t *testing.T) {
	m := runs.Random{Seed: 3, Seconds: 4.5, PerSecond: 500, Failures: 0.1, Idle: 2}.Record(t)
	trial := &m.Run.Trials[0]
	d, err := DbtesterOf(trial)
	must(t, err)
	var errors, binned uint64
	for i, s := range d.Seconds {
		errors += s.Errors
		if i == 2 && (s.PerSecond.Number != 0 || !s.PerSecond.Known || s.Min.Known) {
			t.Errorf("the idle second: %+v", s)
		}
	}
	for _, b := range d.Bins {
		binned += b.Count
	}
	if len(d.Seconds) != 5 || errors != trial.Errors || d.Failed != trial.Errors || binned != trial.Operations || d.ClientCPU.Number != 1/4.5 || d.ServerUse.CPU.Known {
		t.Errorf("the report has %d seconds, %d and %d errors of %d, %d operations in bins of %d, and the client CPU use %v", len(d.Seconds), errors, d.Failed, trial.Errors, binned, trial.Operations, d.ClientCPU)
	}
	trial.Operations++
	if _, err := DbtesterOf(trial); err == nil {
		t.Error("DbtesterOf accepts a record whose seconds contradict its result")
	}
}

func ptr(x float64) *float64 { return &x }

// Members are listed only if the load was uneven. No table is needed if their shares of the load
// are equal, or are proportional to the connections.
func TestMembersAreListedWhereTheLoadWasUneven(t *testing.T) {
	even := func(shares ...float64) []record.ByMember {
		var all []record.ByMember
		for i, opened := range []int{3, 3, 2} {
			all = append(all, record.ByMember{Name: "m", Share: shares[i], Connections: &record.MemberConnections{AtOpening: opened, Fewest: opened}})
		}
		return all
	}
	for what, tt := range map[string]struct {
		members []record.ByMember
		want    bool
	}{
		"none":              {nil, false},
		"as connections":    {even(0.375, 0.375, 0.25), false},
		"a little off":      {even(0.38, 0.36, 0.26), false},
		"one has more":      {even(0.5, 0.3, 0.2), true},
		"nothing was timed": {even(0, 0, 0), false},
		"not counted":       {[]record.ByMember{{Name: "m1", Share: 1}, {Name: "m2"}}, false},
		"one that ended":    {append(even(0.375, 0.375, 0.25), record.ByMember{Name: "m4", Connections: &record.MemberConnections{LostAt: ptr(1)}}), true},
	} {
		if got := unevenMembers(&record.Trial{Parts: record.Parts{ByMember: tt.members}}); got != tt.want {
			t.Errorf("%s: %t", what, got)
		}
	}
}

// A reason that applies to several trials is listed once. Reasons are in the order of their first
// appearance.
func TestReasonsAreListedOnce(t *testing.T) {
	trial := func(name string, notes ...string) record.Trial {
		t := record.Trial{State: record.Complete}
		t.Name, t.Notes = name, notes
		return t
	}
	failed := trial("c")
	failed.State, failed.Failure = record.Failed, "It broke."
	why, notes := Reasons(&record.Run{Trials: []record.Trial{trial("a", "one", "two"), trial("b", "two"), failed}})
	if len(why) != 1 || why[0].Text != "It broke." || why[0].Trials[0] != "c" {
		t.Errorf("%+v", why)
	}
	if len(notes) != 2 || notes[0].Text != "one" || len(notes[1].Trials) != 2 || notes[1].Trials[1] != "b" {
		t.Errorf("%+v", notes)
	}
}

// The number of calls per handover is reported only if there are handovers, and only for calls that
// belong to them.
func TestCallsOfEachHandover(t *testing.T) {
	calls := []record.Calls{
		{Name: "campaign", Operations: 50, Spanned: 30},
		{Name: "renew", Operations: 50},
		{Name: measure.Handover, Operations: 20, Span: true},
		{Name: "no leader", Operations: 25, Span: true},
	}
	last := func(calls ...record.Calls) (title string, cells []string) {
		table := CallsTable(&record.Trial{Parts: record.Parts{ByCall: calls}})
		at := len(table.Columns) - 1
		for _, row := range table.Rows {
			cells = append(cells, row[at].Text)
		}
		return table.Columns[at].Title, cells
	}
	if title, cells := last(calls...); title != "per handover" || !slices.Equal(cells, []string{"1.50", "", "", ""}) {
		t.Errorf("%s: %q", title, cells)
	}
	if title, _ := last(calls[0], calls[3]); title != "max" {
		t.Errorf("without handovers the last column is %q", title)
	}
	calls[0].SpannedByFailovers = 12
	calls = append(calls, record.Calls{Name: measure.Failover, Operations: 4, Span: true})
	if title, cells := last(calls...); title != "per failover" || !slices.Equal(cells, []string{"3.00", "", "", "", ""}) {
		t.Errorf("%s: %q", title, cells)
	}
}

// In an application, calls that responses trigger also become due, but the planned rate does not
// include them.
func TestDueOfAnApplicationIsCounted(t *testing.T) {
	planned := 10.0
	trial := &record.Trial{Seconds: 20, Counts: record.Counts{Due: 530}}
	trial.Rate = &planned
	if got := dueText(trial); got != "10/s" {
		t.Errorf("an open loop's due text is %s, want the planned rate", got)
	}
	trial.ByCall = []record.Calls{{Name: "campaign"}}
	if got := dueText(trial); got != "26.5/s" {
		t.Errorf("an application's due text is %s, want the measured rate", got)
	}
}

package analyze

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

func hostsTrial() *record.Trial {
	clock := func(before, after, bound time.Duration) *measure.Clock {
		return &measure.Clock{Before: measure.ClockReading{AheadNS: int64(before)}, After: measure.ClockReading{AheadNS: int64(after)}, WidestBoundNS: int64(bound)}
	}
	t := &record.Trial{Seconds: 10, Parts: record.Parts{ByHost: []measure.Host{
		{Name: "here", Machine: "machine", CPUs: 2, HasMembers: true},
		{Name: "db", Machine: "machine a", CPUs: 4, HasMembers: true, GeneratesLoad: true, Clock: clock(-time.Millisecond, 2*time.Second, 300*time.Microsecond), BusyShare: new(0.5), SamplingCPUSeconds: new(0.05)},
		{Name: "gen", Machine: "machine b", CPUs: -1, GeneratesLoad: true, Clock: clock(math.MinInt64, 0, 70*time.Microsecond)},
	}}}
	t.Name = "put"
	return t
}

// The table has a row for each host. Cells without a known value are empty.
func TestHostsHaveALineEach(t *testing.T) {
	table := HostsTable(hostsTrial())
	if len(table.Rows) != 3 || table.Kind != HostsKind || table.CommonLoad != "put" {
		t.Fatalf("%+v", table)
	}
	for i, want := range []string{"here|members|controller|controller", "db|members, load|1.00 ms behind|2.00 s ahead"} {
		var words []string
		for _, c := range table.Rows[i][:4] {
			words = append(words, c.Text)
		}
		if got := strings.Join(words, "|"); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
	for i, row := range table.Rows {
		if len(row) != len(table.Columns) {
			t.Errorf("row %d has %d cells, want %d", i, len(row), len(table.Columns))
		}
	}
	if row := table.Rows[1]; row[4].Value.Number != 300e3 || row[6].Value.Number != 0.5 || row[7].Value.Known || row[9].Value.Number != 0.005 {
		t.Errorf("%+v", row)
	}
	if none := HostsTable(&record.Trial{}); len(none.Rows) != 0 {
		t.Errorf("%+v", none)
	}
}

// The conditions show the largest uncertainty of all clocks. The members' events show the largest
// uncertainty of the members' clocks.
func TestClocksReportTheirUncertainty(t *testing.T) {
	trial := hostsTrial()
	trial.ByHost[2].Clock.Before.AheadNS = 0
	if got, want := Clocks([]*record.Trial{trial, {}}), "the clocks of 2 hosts differ by up to 2.00 s from the controller's clock, with an uncertainty of up to 300 µs (db); all times are corrected for this difference"; got != want {
		t.Errorf("%q, not %q", got, want)
	}
	if got := Clocks([]*record.Trial{{}}); got != "" {
		t.Error(got)
	}
	if got := memberClockUncertainty(trial); got != 300*time.Microsecond {
		t.Errorf("%v", got)
	}
	trial.ByHost = slices.Delete(trial.ByHost, 1, 2)
	if got := memberClockUncertainty(trial); got != 0 {
		t.Errorf("the clock uncertainty of members on the generator's machine is %v, want 0", got)
	}
}

// A machine that only generates load has no members. The generator's own machine has members if
// some run on it. If the record does not list the hosts with members, all other machines are
// assumed to have members.
func TestMachinesWithMembers(t *testing.T) {
	trial := hostsTrial()
	for machine, want := range map[string]bool{"machine": true, "machine a": true, "machine b": false, "machine c": false} {
		if samples.HasMembers(trial, machine) != want {
			t.Errorf("%s has members: %v", machine, !want)
		}
	}
	if unsaid := (&record.Trial{}); samples.HasMembers(unsaid, "machine") || !samples.HasMembers(unsaid, "machine a") {
		t.Error("if the record does not list the hosts with members, HasMembers must be false for the generator's machine and true for others")
	}
}

package analyze

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

func TestMedian(t *testing.T) {
	k := fig
	failed, unsupported := figures.Value{Failed: true}, figures.Value{}
	for _, tt := range []struct {
		of   []figures.Value
		want figures.Value
	}{
		{nil, unsupported},
		{[]figures.Value{k(5)}, k(5)},
		{[]figures.Value{k(9), k(1), k(5)}, k(5)},
		{[]figures.Value{k(1), k(3)}, k(3)},
		{[]figures.Value{k(1), failed, k(3)}, k(3)},
		{[]figures.Value{k(1), failed}, failed},
		{[]figures.Value{k(1), unsupported, k(3)}, unsupported},
	} {
		if got := Median(tt.of, figures.LowerIsBetter); got != tt.want {
			t.Errorf("the median of %v is %v, want %v", tt.of, got, tt.want)
		}
	}
}

func TestTheWorstRepeatDecides(t *testing.T) {
	trials := []record.Trial{{State: record.Complete}, {State: record.Complete}}
	trials[0].Number, trials[1].Number = 1, 1
	trials[0].Verdict.State = verdict.Valid
	trials[1].Verdict = verdict.Verdict{State: verdict.Suspect, Reasons: []verdict.Reason{{Rule: 13, Text: "member m1 was lost"}}}
	all := Rows(&record.Run{Trials: trials})
	if len(all) != 1 || JudgeTrials(all[0].Trials).String() != "suspect R13" {
		t.Errorf("got %+v", all)
	}
	trials[0].Verdict.State = verdict.Invalid
	if got := JudgeTrials(all[0].Trials).String(); got != "invalid R13" {
		t.Errorf("got %s", got)
	}
}

// A trial that failed has a state and no verdict. Only a verdict gives a cell a colour.
func TestOnlyVerdictsAreJudged(t *testing.T) {
	for state, want := range map[string]verdict.State{"valid": verdict.Valid, "suspect": verdict.Suspect, "invalid": verdict.Invalid, string(record.Failed): "", "": ""} {
		if got := VerdictCell(CombinedVerdict{State: state}).Judged; got != want {
			t.Errorf("the verdict of the state %q is %q, not %q", state, got, want)
		}
	}
}

// The gap has a resolution of one millisecond. A gap below 1 ms is unknown, not 0.
func TestNoGapIsNotZero(t *testing.T) {
	gap := figures.Registered("gap")
	for length, known := range map[float64]bool{0: false, 0.001: true, 0.012: true} {
		row := Row{Done: []*record.Trial{{Counts: record.Counts{LongestGap: length}}}}
		if v, _ := row.Figure(&gap); v.Known != known || known && v.Number != length {
			t.Errorf("a gap of %v s is %+v", length, v)
		}
	}
}

// The p99 of fdatasync needs ten syncs above it; otherwise a dash is shown. This also applies to
// records from versions that wrote a p99 for 100 syncs.
func TestDurabilityHasOnlySupportedPercentiles(t *testing.T) {
	p99 := int64(3e6)
	for _, tt := range []struct {
		writes int
		p99    *int64
		want   string
	}{
		{1000, &p99, "fdatasync p50 1.00 ms, p99 3.00 ms on ext4; the store syncs before it acknowledges"},
		{312, nil, "fdatasync p50 1.00 ms, p99 - (312 writes) on ext4; the store syncs before it acknowledges"},
		{0, &p99, "fdatasync p50 1.00 ms, p99 - on ext4; the store syncs before it acknowledges"},
	} {
		d := &measure.Durability{FdatasyncP50NS: 1e6, FdatasyncP99NS: tt.p99, Fdatasyncs: tt.writes, FileSystem: "ext4", Synced: true}
		if got := Durability(&record.Trial{Conditions: record.Conditions{Durability: d}}); got != tt.want {
			t.Errorf("%d writes: %s", tt.writes, got)
		}
	}
}

func TestWatchedKeysAreNamed(t *testing.T) {
	for want, w := range map[string]scenario.Watch{
		"1 key":                {WatchedKeys: 1, KeysPerWatcher: 1},
		"1 of 8 keys each":     {WatchedKeys: 8, KeysPerWatcher: 1},
		"1 of 1,000 keys each": {KeysPerWatcher: 1},
		"20 keys each":         {KeysPerWatcher: 20},
		"all 1,000 keys each":  {WatchedKeys: 1, KeysPerWatcher: 1000},
		`"w"`:                  {Key: []byte("w"), KeysPerWatcher: 1},
	} {
		trial := record.Trial{Conditions: record.Conditions{Load: scenario.Load{KeySpace: 1000, Watch: &w}}}
		if got := watchedKeysText(&trial); got != want {
			t.Errorf("%+v is %q, not %q", w, got, want)
		}
	}
	// If each watcher watches all keys, the table says so.
	spec := scenario.Trial{Load: scenario.Load{KeySpace: 1000, Watch: &scenario.Watch{Watchers: 1, Streams: 1, WatchedKeys: 1, KeysPerWatcher: 1000}}}
	trial := record.Trial{Conditions: record.NewConditions(&spec)}
	if got := watchedKeysText(&trial); got != "all 1,000 keys each" {
		t.Errorf("all keys are %q", got)
	}
}

// A figure that has a title but no fixed column gets a column if at least one trial has a value.
// The column also shows the value's share of the total. A threshold may use the figure.
func TestColumnsThatOnlySomeTrialsFill(t *testing.T) {
	trials := []record.Trial{{State: record.Complete, Counts: record.Counts{Due: 1000}}, {State: record.Complete, Counts: record.Counts{Due: 1000}}}
	trials[1].Number = 1
	run := &record.Run{Trials: trials}
	late := func() (cells []Cell) {
		table := Tables(Rows(run))[0]
		for i, c := range table.Columns {
			if c.Title == "late responses" {
				for _, row := range table.Rows {
					cells = append(cells, row[i])
				}
			}
		}
		return cells
	}
	if cells := late(); cells != nil {
		t.Errorf("trials without late responses have the cells %+v", cells)
	}
	trials[1].LateResponses = 20
	if cells := late(); len(cells) != 2 || cells[0].Value.Number != 0 || cells[1].Value.Number != 20 || cells[1].Share.Number != 0.02 {
		t.Errorf("%+v", cells)
	}
	th, err := ParseThreshold("late-responses<=1%")
	must(t, err)
	if missed, err := CheckRun([]Threshold{th}, run); err != nil || len(missed) != 1 {
		t.Errorf("%v, %v", missed, err)
	}
}

// If a trial has conflicts, the table has a column with their number and their share.
func TestConflictsHaveAColumn(t *testing.T) {
	trials := []record.Trial{{State: record.Complete, Counts: record.Counts{Due: 400, Conflicts: 100}}, {State: record.Complete, Counts: record.Counts{Due: 400}}}
	trials[1].Number = 1
	column := func() int {
		return slices.IndexFunc(Tables(Rows(&record.Run{Trials: trials}))[0].Columns, func(c Column) bool { return c.Title == "conflicts" })
	}
	i := column()
	if i < 0 {
		t.Fatal("the table has no column for conflicts")
	}
	rows := Tables(Rows(&record.Run{Trials: trials}))[0].Rows
	if a, b := rows[0][i], rows[1][i]; a.Value.Number != 100 || a.Share.Number != 0.25 || b.Value.Number != 0 {
		t.Errorf("the cells for conflicts are %+v and %+v", a, b)
	}
	trials[0].Conflicts = 0
	if column() >= 0 {
		t.Error("trials without conflicts have a column for conflicts")
	}
}

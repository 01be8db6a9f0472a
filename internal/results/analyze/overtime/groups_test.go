package overtime

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// ofStore reads a generated trial as if it belonged to the given store and had the given number.
// The trial has three members whose memory grows every second. The memory of m3 is the largest.
func ofStore(t *testing.T, s runs.Random, store string, number int) *Charts {
	t.Helper()
	m := s.Record(t)
	figures.ReadTrialFiles(m.Run, m.Dir)
	one := &m.Run.Trials[0]
	one.Store, one.Name, one.Number = store, store, number
	for second := range int(s.Seconds) + 2 {
		at := noon.Truncate(time.Second).Add(time.Duration(second) * time.Second)
		for member := range 3 {
			one.Machines = append(one.Machines, record.MachineRow{Time: at, Name: fmt.Sprintf("m%d", member+1),
				RSS: 1e6 * float64((member+1)*(second+1)), User: float64(second*(member+1)) / 4})
		}
		one.Machines = append(one.Machines, record.MachineRow{Time: at, Name: "generator", RSS: 9e9, User: float64(9 * second)},
			record.MachineRow{Time: at, Name: "machine", NetworkUse: record.NetworkUse{Received: float64(100 * second), Sent: float64(10 * second), Loopback: float64(second)}})
	}
	o, err := Read(one, 1000)
	must(t, err)
	one.Dir = "run" // the same for all trials
	return o
}

func bandsOf(o *Charts, panel string, line int) (low, high float64) {
	l := o.panelOf(panel).Lines[line]
	return least(l.Low), highest(l.High)
}

// In a combined chart, the line of each store shows only the extremes of the store's own window.
// Members are shown as a band from the minimum to the maximum.
func TestChartGroupsHaveTheExtremesOfEachStore(t *testing.T) {
	settle.SkipUnderRace(t)
	all := []*Charts{
		ofStore(t, runs.Random{Seed: 1, Seconds: 30, PerSecond: 500, Idle: -1}, "etcd", 1),
		ofStore(t, runs.Random{Seed: 2, Seconds: 300, PerSecond: 100, Idle: 5, Skip: []int{7}}, "zookeeper", 2),
	}
	found := GroupTrials(all)
	if len(found) != 1 || found[0].Title != "put" || found[0].Name != "together-put" {
		t.Fatalf("found %+v", found)
	}
	o := &found[0].OverTime
	if o.Grid.Columns > groupColumns || o.Grid.From != 0 || o.Grid.EndSecond() < 300 {
		t.Errorf("the grid is %+v", o.Grid)
	}
	for i, of := range all {
		low, high := bandsOf(o, "throughput", i)
		own := panelLine("throughput", "completed")(of)
		from := -of.Grid.From // earlier seconds are in the warm-up
		if low != least(own.Low[from:]) || high != highest(own.High[from:]) {
			t.Errorf("%s: the throughput is %v to %v in its own chart, but %v to %v in the combined chart", of.Trial.Name, least(own.Low[from:]), highest(own.High[from:]), low, high)
		}
		low, high = bandsOf(o, "mean", i)
		if low != least(of.meanLine.Low[from:]) || high != highest(of.meanLine.High[from:]) {
			t.Errorf("%s: the mean is %v to %v in its own chart, but %v to %v in the combined chart", of.Trial.Name, least(of.meanLine.Low[from:]), highest(of.meanLine.High[from:]), low, high)
		}
		if low, high = bandsOf(o, "processors", i); low != 0.25 || high != 0.75 {
			t.Errorf("the trial's members use %v to %v processors, want 0.25 to 0.75", low, high)
		}
		if low, high = bandsOf(o, "network", i); low != 111 || high != 111 {
			t.Errorf("the network use of the trial's machine is %v to %v, want 111", low, high)
		}
		for k, low := range o.panelOf("memory").Lines[i].Low {
			if high := o.panelOf("memory").Lines[i].High[k]; !math.IsNaN(low) && high < 3*low-1 {
				t.Errorf("in column %d, the memory use of the trial's members is %v to %v", k, low, high)
			}
		}
	}
}

// In the charts by writes, a column shows the mean time in the second in which the column's writes
// were completed. The last column contains the last write.
func TestChartsByWritesShowPerSecondMeans(t *testing.T) {
	settle.SkipUnderRace(t)
	all := []*Charts{
		ofStore(t, runs.Random{Seed: 3, Seconds: 20, PerSecond: 1000, Idle: -1}, "etcd", 1),
		ofStore(t, runs.Random{Seed: 4, Seconds: 90, PerSecond: 100, Idle: 5}, "zookeeper", 2),
	}
	found := GroupTrials(all)
	o := &found[0].ByWrites
	mean := o.panelOf("by-writes-mean")
	for i, of := range all {
		for k := range of.meanLine.Low {
			from, to := of.completedWrites[k], of.completedWrites[k+1]
			if to == from || math.IsNaN(of.meanLine.Low[k]) {
				continue
			}
			column, ok := o.Grid.column((from + to) / 2)
			l := &mean.Lines[i]
			if !ok || !(l.Low[column] <= of.meanLine.Low[k] && of.meanLine.High[k] <= l.High[column]) {
				t.Errorf("%s: writes %v to %v took %v, but column %d has the range %v to %v", of.Trial.Name, from, to, of.meanLine.Low[k], column, l.Low[column], l.High[column])
			}
		}
		done := of.completedWrites[len(of.completedWrites)-1]
		if done != float64(of.Trial.Completed) {
			t.Errorf("%s: the chart has %v writes, but the result has %d", of.Trial.Name, done, of.Trial.Completed)
		}
		for column := range o.Grid.Columns {
			if float64(column*o.Grid.Width) > done && !math.IsNaN(mean.Lines[i].Low[column]) {
				t.Errorf("%s: the chart has a time for a write that never completed", of.Trial.Name)
			}
		}
	}
	if o.panelOf("by-writes-memory") == nil || !o.Grid.Writes {
		t.Error("the chart of memory by writes is missing")
	}
}

// Trials of a single store are not combined. Reads have no charts by writes. If there are many
// trials with different loads, each store is drawn with its fastest trial.
func TestChartGroupsCombineStores(t *testing.T) {
	settle.SkipUnderRace(t)
	short := runs.Random{Seed: 5, Seconds: 3, PerSecond: 500, Idle: -1}
	a, b, c := ofStore(t, short, "etcd", 1), ofStore(t, short, "etcd", 2), ofStore(t, short, "consul", 3)
	if found := GroupTrials([]*Charts{a, b}); len(found) != 0 {
		t.Errorf("two trials of one store in one run are combined: %+v", found)
	}
	b.Trial.Dir = "another run"
	if found := GroupTrials([]*Charts{a, b}); len(found) != 1 || !found[0].OneStore || len(found[0].OverTime.Panels[0].Lines) != 2 {
		t.Errorf("two trials of one store in two runs: found %d groups, want 1", len(found))
	}
	b.Trial.Dir = a.Trial.Dir
	if found := GroupTrials(nil); len(found) != 0 {
		t.Errorf("no trials give the groups %+v", found)
	}
	b.Trial.Operation, b.Trial.Mix = "get", []scenario.Operation{{Kind: kv.Get, Weight: 1}}
	if found := GroupTrials([]*Charts{b, c}); len(found) != 0 {
		t.Errorf("reads and writes are combined: %+v", found)
	}
	b.Trial.Store, c.Trial.Operation, c.Trial.Mix, c.completedWrites = "etcd", "get", b.Trial.Mix, nil
	if found := GroupTrials([]*Charts{b, c}); len(found) != 1 || len(found[0].ByWrites.Panels) != 0 || len(found[0].OverTime.Panels) == 0 {
		t.Errorf("the group of two trials with reads is %+v", found)
	}
	var many []*Charts
	for i := range 12 {
		o := *a
		one := *a.Trial
		o.Trial = &one
		one.Number, one.Store, one.Clients, one.PerSecond = i+1, []string{"etcd", "consul"}[i%2], i+1, float64(100-(i-6)*(i-6))
		many = append(many, &o)
	}
	found := GroupTrials(many)
	if len(found) != 1 || len(found[0].OverTime.Panels[0].Lines) != 2 || !strings.HasSuffix(found[0].OverTime.Panels[0].Lines[0].Name, ", 7 clients") || !slices.ContainsFunc(found[0].Notes, func(n string) bool { return strings.Contains(n, "highest throughput") }) {
		t.Errorf("the group of 12 trials is %+v", found)
	}
}

// The curves by role and the curves by member cover the same operations. Each operation is counted
// once.
func TestCurvesByRoleAndMember(t *testing.T) {
	settle.SkipUnderRace(t)
	m := runs.Random{Seed: 8, Seconds: 8, PerSecond: 2000, Failures: 0.02, Open: true, Idle: -1}.Record(t)
	figures.ReadTrialFiles(m.Run, m.Dir)
	one := &m.Run.Trials[0]
	one.Roles = record.RoleHistory{{Member: 1, Term: 2, Role: "leader"}, {Member: 2, Term: 2, Role: "follower"}}
	half := m.Failed / 2
	one.ByMember = []record.ByMember{{Name: "m1", ID: 1, Errors: half}, {Name: "m2", ID: 2, Errors: m.Failed - half}}
	one.ByRole = []record.Served{{Role: "leader", Errors: half}, {Role: "follower", Errors: m.Failed - half}}
	o, err := Read(one, 100)
	must(t, err)
	for what, curves := range map[string][]PercentileCurve{"by the leader, by followers": o.ByRole, "m1 (leader), m2": o.ByMember} {
		var names []string
		count, failed := uint64(0), uint64(0)
		for _, c := range curves {
			names = append(names, c.Name)
			count, failed = count+c.Count, failed+c.Failed
		}
		if strings.Join(names, ", ") != what || count != o.Curves[0].Count || failed != m.Failed {
			t.Errorf("%s: the curves %q contain %d operations of %d, and %d failures of %d", what, names, count, o.Curves[0].Count, failed, m.Failed)
		}
	}
	one.Roles = append(one.Roles, record.RoleAt{Member: 2, Term: 3, Role: "leader"})
	cells := map[measure.Series]*measure.Histogram{}
	for term := range uint64(2) {
		h := measure.NewHistogram()
		measure.Record(h, 1e6)
		cells[measure.Series{Kind: kv.Put, Member: 2, Term: term + 2}], cells[measure.Series{Kind: kv.Put, Member: 1, Term: term + 2}] = h, h
	}
	if c := curvesByMember(one, cells); len(c) != 2 || c[1].Name != "m2 (leader for a time)" {
		t.Errorf("with two terms, the curves by member are %+v", c)
	}
	one.ByMember = append(one.ByMember, record.ByMember{ID: 3, Name: "m3", Errors: 7})
	one.ByRole = append(one.ByRole, record.Served{Role: "unknown", Errors: 7})
	for what, curves := range map[string][]PercentileCurve{"m3: failed": curvesByMember(one, cells), "by members of unknown role: failed": curvesByRole(one, cells)} {
		if last := curves[len(curves)-1]; len(curves) != 3 || last.Name != what || len(last.Points) > 0 || last.Count != 7 || last.Failed != 7 {
			t.Errorf("the curve of a member or role whose operations all failed is %+v, want %s", last, what)
		}
	}
	one.ByMember = one.ByMember[:1]
	if c := curvesByMember(one, cells); c != nil {
		t.Errorf("a trial with one member has the curves %+v", c)
	}
}

package analyze

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// twoMembers returns rows for two members on one machine over ten seconds. m2 was not sampled in
// two of the seconds, and restarted in the last second.
func twoMembers(t *testing.T) (*record.Trial, []record.MachineRow) {
	t.Helper()
	opened := noon
	trial := &record.Trial{Opened: &opened, Seconds: 10}
	trial.SharesMachine = new(true)
	process := func(scale float64) func(*record.MachineRow, float64) {
		return func(r *record.MachineRow, s float64) {
			r.Machine, r.PID, r.User, r.System = record.MachineName, 7, 0.25*scale*s, 0
			r.RSS, r.FolderBytes, r.Received, r.Sent = 1e6*scale*(10+s), 1000*scale, 100*scale*s, 10*scale*s
			r.ReadBytes, r.WriteBytes = 0, 4096*scale*s
		}
	}
	runs.AddRows(trial, "m1", 10, process(1))
	first := len(trial.Machines)
	runs.AddRows(trial, "m2", 10, process(2))
	trial.Machines = append(trial.Machines[:first+3], trial.Machines[first+5:]...)
	runs.AddRows(trial, record.MachineName, 10, func(r *record.MachineRow, s float64) {
		r.User, r.System, r.Load1, r.DiskReads, r.DiskWrites, r.ReadSectors, r.WrittenSectors = s, 0, 1.5, 3*s, 50*s, 24*s, 400*s
		r.Received, r.ReceivedPackets, r.Sent, r.SentPackets = 7*s, s, 8*s, s
	})
	runs.AddRows(trial, record.GeneratorName, 10, func(r *record.MachineRow, s float64) { r.User, r.System = s, 0 })
	return trial, trial.Machines
}

func TestServersOverTheWindow(t *testing.T) {
	trial, rows := twoMembers(t)
	s := servers(rows, samples.WindowOf(trial))
	s.overWindow(trial, rows)
	for what, c := range map[string]struct {
		got  figures.Value
		want float64
	}{
		// the traffic during the gap is included
		"received": {s.Received, 3000}, "sent": {s.Sent, 300},
		"reads": {s.Reads, 30}, "writes": {s.Writes, 500}, "sectors read": {s.ReadSectors, 240}, "sectors written": {s.WrittenSectors, 4000},
		"disk space": {s.DiskSpace, 1500}, "processors": {s.CPU, 0.75}, "memory": {s.RSS, 60e6},
	} {
		if !c.got.Known || math.Abs(c.got.Number-c.want) > 1e-6 {
			t.Errorf("%s is %+v and not %v", what, c.got, c.want)
		}
	}
	trial.SharesMachine = nil // the members run on other machines, which are not sampled
	s = Servers{}
	s.overWindow(trial, rows)
	if s.Reads.Known || s.WrittenSectors.Known || !s.Received.Known {
		t.Errorf("%+v", s)
	}
	for i := range rows {
		rows[i].Received = math.NaN()
	}
	s = Servers{}
	if s.overWindow(trial, rows); s.Received.Known || !s.Sent.Known {
		t.Errorf("%+v", s)
	}
}

// If only some rows contain a counter, its increase in the window is known if a row at or before
// the start of the window and a row at or after its end contain the counter. If the window starts
// or ends between two rows, only a share of the increase between these rows is counted.
func TestCountersOfSomeRows(t *testing.T) {
	for name, c := range map[string]struct {
		unknown []int // rows without the counter; the rows are at the seconds -2 to 12
		shift   time.Duration
		want    float64
	}{
		"every row":                     {want: 1000},
		"a second between":              {unknown: []int{5, 6, 7}, want: 1000},
		"at the edges":                  {unknown: []int{2, 12}, want: 1000},
		"rows between the edges' times": {shift: 300 * time.Millisecond, want: 1000},
		"not before":                    {unknown: []int{0, 1, 2}, want: math.NaN()},
		"not after":                     {unknown: []int{12, 13, 14}, want: math.NaN()},
		"nearly before":                 {unknown: []int{0, 1, 2}, shift: -700 * time.Millisecond, want: 970},
		"never":                         {unknown: []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}, want: math.NaN()},
	} {
		opened := noon
		trial := &record.Trial{Opened: &opened, Seconds: 10}
		var rows []record.MachineRow
		for i := range 15 {
			r := record.NewMachineRow(noon.Add(time.Duration(i-2)*time.Second+c.shift), "m1")
			if r.PID = 7; !slices.Contains(c.unknown, i) {
				r.Received = 100 * float64(i)
			}
			rows = append(rows, *r)
		}
		var s Servers
		s.overWindow(trial, rows)
		if s.Received.Known == math.IsNaN(c.want) || s.Received.Known && math.Abs(s.Received.Number-c.want) > 1e-6 {
			t.Errorf("%s: %+v and not %v", name, s.Received, c.want)
		}
	}
}

func TestServersBySecond(t *testing.T) {
	trial, rows := twoMembers(t)
	all := serverSeconds(rows, samples.WindowOf(trial))
	if len(all) != 3 || all[0].Name != "m1" || len(all[0].Rows) != 10 || all[1].Name != "m2" || len(all[1].Rows) != 7 || !all[2].Generator {
		t.Fatalf("%+v", all)
	}
	r := all[1].Rows[0]
	if r.Percent != 50 || r.Writes != 50 || r.WriteBytes != 8192 || r.Received != 7 || r.Machine.Load1 != 1.5 || r.Process.RSS != 22e6 {
		t.Errorf("%+v", r)
	}
}

func TestServersByKeys(t *testing.T) {
	trial, rows := twoMembers(t)
	at := func(second int) time.Time { return trial.Opened.Add(time.Duration(second) * time.Second) }
	all := serverKeys(rows, []KeyRow{{Keys: 1000, From: at(0), To: at(2)}, {Keys: 2000, From: at(3), To: at(4)}, {Keys: 3000, From: at(60), To: at(70)}})
	if len(all) != 3 {
		t.Fatalf("%+v", all)
	}
	a, b, none := all[0], all[1], all[2]
	if a.Keys != 1000 || a.MinRSS != 11 || a.MaxRSS != 24 || a.MeanRSS != (11+12+22+24)/4.0 || a.WriteBytes != (2*4096+2*8192)/2 || a.ReadBytes != 0 {
		t.Errorf("%+v", a)
	}
	if b.MinRSS != 14 || b.MaxRSS != 14 || b.WriteBytes != 4096 { // m2 was not sampled
		t.Errorf("%+v", b)
	}
	if none.Keys != 3000 || !math.IsNaN(none.MeanRSS) || !math.IsNaN(none.WriteBytes) {
		t.Errorf("%+v", none)
	}
}

// The use during a gap is known for a period that contains the whole gap, but unknown for a period
// that contains only a part of the gap. If a member was not sampled during a period, the mean does
// not include it.
func TestServersByKeysOverAGap(t *testing.T) {
	trial, rows := twoMembers(t) // m2 has no rows at seconds 3 and 4
	at := func(second float64) time.Time { return trial.Opened.Add(time.Duration(second * 1e9)) }
	all := serverKeys(rows, []KeyRow{{Keys: 1, From: at(0), To: at(9)}, {Keys: 2, From: at(9), To: at(10)}})
	if want := 9 * (4096 + 8192) / 2.0; all[0].WriteBytes != want {
		t.Errorf("in a period that contains the gap, the members wrote %v bytes, want %v", all[0].WriteBytes, want)
	}
	all = serverKeys(rows, []KeyRow{{Keys: 1, From: at(0), To: at(3.5)}, {Keys: 2, From: at(3.5), To: at(9)}})
	// the pair that ends at second 4 has its middle at 3.5
	if all[0].WriteBytes != 3*4096 || all[1].WriteBytes != 6*4096 {
		t.Errorf("in periods that contain only a part of the gap, the members wrote %v and %v bytes", all[0].WriteBytes, all[1].WriteBytes)
	}
}

package trial

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// scripted is a machine with scripted samples.
type scripted struct {
	machine
	processes map[int]probe.ProcessUsage
	usage     probe.MachineUsage
	at        time.Time
	asked     int // number of requests about processes or the machine
	timed     int // number of requests that ask only for the time
}

func (m *scripted) Sample(_ context.Context, pids []int, whole bool) (host.Sample, error) {
	if len(pids) > 0 || whole {
		m.asked++
	} else {
		m.timed++
	}
	s := host.Sample{At: m.at, Cost: 2 * time.Millisecond}
	for _, pid := range pids {
		p, ok := m.processes[pid]
		p.PID, p.OK = pid, ok
		s.Processes = append(s.Processes, p)
	}
	if whole {
		s.Machine = &m.usage
	}
	return s, nil
}

func newScripted(name string) *scripted {
	m := &scripted{processes: map[int]probe.ProcessUsage{os.Getpid(): {}}, at: atSecond(0)}
	m.machine = *another(name, nil)
	return m
}

func rowsOf(s *sampler, t *testing.T) map[string]*record.MachineRow {
	all := map[string]*record.MachineRow{}
	for _, r := range s.rows(t.Context()) {
		all[r.Name] = r
	}
	return all
}

// If a process reuses the ID of a member that has exited, its usage is not attributed to that
// member.
func TestSamplerNoticesReusedProcessNumbers(t *testing.T) {
	h := newScripted("here")
	h.processes[41] = probe.ProcessUsage{Started: 7, UserSeconds: 5}
	s, err := newSampler(t.Context(), h, []cluster.Member{{Host: h, Process: cluster.Process{Name: "m1", PID: 41}}})
	if err != nil {
		t.Fatal(err)
	}
	if r := rowsOf(s, t)["m1"]; r == nil || r.User != 5 || r.ProcessStart != 7 {
		t.Errorf("%+v", r)
	}
	h.processes[41] = probe.ProcessUsage{Started: 8, UserSeconds: 500}
	h.at = atSecond(1)
	if r := rowsOf(s, t)["m1"]; r != nil {
		t.Errorf("a process that reuses the ID of a member has a row: %+v", r)
	}
	s.sampleMembers(t.Context())
	if seen := s.store.samples["m1"]; len(seen) != 1 || seen[0].cpu != 5 {
		t.Errorf("%+v", seen)
	}
}

// A process counts as another program if it was not started as a member on any host of the machine.
// Other programs with the same name share a row.
func TestSamplerRecordsOtherPrograms(t *testing.T) {
	here, there := newScripted("here"), newScripted("there")
	other := newScripted("here")
	here.usage.Programs = []probe.ProgramUsage{{Name: "etcd", Group: 50, Processors: 2}, {Name: "cc1", Group: 9, Processors: 0.5}, {Name: "cc1", Group: 8, Processors: 0.25}}
	there.usage.Programs = []probe.ProgramUsage{{Name: "cc1", Group: 50, Processors: 0.125}}
	member := func(h host.Host, name string, pid int) cluster.Member {
		return cluster.Member{Host: h, Process: cluster.Process{Name: name, PID: pid}}
	}
	s, err := newSampler(t.Context(), here, []cluster.Member{member(other, "m1", 50), member(there, "m2", 51)})
	if err != nil {
		t.Fatal(err)
	}
	all := rowsOf(s, t)
	for name, want := range map[string]float64{"program cc1": 0.75, "program cc1 of there": 0.125} {
		if r := all[name]; r == nil || r.Processors != want || !math.IsNaN(r.User) {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if len(all) != 5 { // the generator, the two machines and their programs
		t.Errorf("%d rows were recorded, want 5", len(all))
	}
}

// Each disk of a machine has a row. The machine's row contains the total of the disks and the cost
// of sampling on this machine.
func TestSamplerRecordsDisksAndItsCost(t *testing.T) {
	h := newScripted("here")
	h.usage.Disks = []probe.DiskUsage{{Name: "a", Writes: 3, BusySeconds: 1.5, Flushes: -1}, {Name: "b", Writes: 4, BusySeconds: 1, Flushes: 7}}
	h.usage.IOFull = 0.25
	h.usage.MemoryFull = -1
	s, err := newSampler(t.Context(), h, nil)
	if err != nil {
		t.Fatal(err)
	}
	all := rowsOf(s, t)
	whole, disk := all[record.MachineName], all["disk b"]
	if whole == nil || whole.DiskWrites != 7 || !math.IsNaN(whole.DiskFlushes) || !math.IsNaN(whole.Busy) || whole.IOFull != 0.25 || !math.IsNaN(whole.MemoryFull) || whole.Collecting != 0.002 {
		t.Errorf("%+v", whole)
	}
	if disk == nil || disk.DiskWrites != 4 || disk.DiskFlushes != 7 || disk.Busy != 1 || !math.IsNaN(disk.User) {
		t.Errorf("%+v", disk)
	}
	last := s.cost[0].at
	if s.costBetween(last, last) == nil {
		t.Error("the cost of sampling is unknown")
	}
	if got := s.costBetween(last, last.Add(time.Second)); got != nil {
		t.Errorf("a period without samples has the sampling cost %v", *got)
	}
	rowsOf(s, t)
	if got := s.costBetween(s.cost[0].at, s.cost[1].at); got == nil || math.Abs(*got-0.002) > 1e-9 {
		t.Errorf("the sampling cost of one sample is %v", got)
	}
	if got := s.costBetween(s.cost[0].at.Add(-time.Second), time.Now()); got != nil {
		t.Errorf("a period that begins before the first sample has the cost %v", *got)
	}
}

// A member's data folder is measured so rarely that the measurements use at most the permitted
// share of a processor's time.
func TestSamplerWeighsDataFolders(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "log"), make([]byte, 100_000), 0o600); err != nil {
		t.Fatal(err)
	}
	h := another("a", stepping())
	m := runningOn(h, "m1")
	m.DataDir = dir
	s := sampling(t, h, m)
	h.Local = host.NewLocal(stepping(), nil)
	weighed := func() float64 {
		rows := s.rows(t.Context())
		return rows[slices.IndexFunc(rows, func(r *record.MachineRow) bool { return r.Name == "m1" })].FolderBytes
	}
	if got := weighed(); got < 100_000 || got > 200_000 {
		t.Errorf("the data folder was measured as %v bytes", got)
	}
	s.hosts[0].nextFolderMeasurement = atSecond(1e6)
	if got := weighed(); !math.IsNaN(got) {
		t.Errorf("the data folder was measured too early, as %v bytes", got)
	}
}

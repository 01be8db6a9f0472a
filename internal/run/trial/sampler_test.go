package trial

import (
	"context"
	"maps"
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

// The processes that serve disks and networks count neither as members nor as other programs, and
// have no rows.
func TestSamplerKeepsServersApart(t *testing.T) {
	h := newScripted("here")
	network := &cluster.Process{Name: "network", PID: 61}
	var members []cluster.Member
	for i, name := range []string{"m1", "m2"} {
		members = append(members, cluster.Member{
			Host: h, Process: cluster.Process{Name: name, PID: 41 + i}, DiskServer: &cluster.Process{Name: name + "-disk", PID: 51 + i}, NetworkServer: network,
		})
	}
	for _, pid := range []int{41, 42, 51, 52, 61} {
		h.processes[pid] = probe.ProcessUsage{}
		h.usage.Programs = append(h.usage.Programs, probe.ProgramUsage{Name: "quorumbench", Group: pid, Processors: 1})
	}
	s, err := newSampler(t.Context(), h, members)
	if err != nil {
		t.Fatal(err)
	}
	var cpu float64
	for second := range 3 {
		h.at, cpu = atSecond(float64(second)), float64(second)/8
		for _, pid := range []int{41, 42, 51, 52, 61} {
			h.processes[pid] = probe.ProcessUsage{UserSeconds: cpu, RSS: 100}
		}
		h.usage.CPU = probe.SystemCPU{User: 5 * cpu, Idle: 100 + float64(second) - 5*cpu}
		rows := rowsOf(s, t)
		if len(rows) != 4 || rows["m1"] == nil || rows["m2"] == nil || rows[record.GeneratorName] == nil || rows[record.MachineName] == nil {
			t.Errorf("the rows are %v, want those of the generator, the machine and two members", slices.Collect(maps.Keys(rows)))
		}
	}
	if got, _ := s.store.usageBetween(atSecond(0), atSecond(2)); got == nil || math.Abs(got.CPUSeconds-0.5) > 1e-9 || got.MaxRSSBytes != 200 {
		t.Errorf("the store's usage is %+v, want that of two members", got)
	}
	if _, _, foreign := s.hosts[0].use.shares(atSecond(0), atSecond(2)); foreign == nil || *foreign > 1e-9 {
		t.Errorf("other programs have the share %v of the processor time, want 0", show(foreign))
	}
}

// If a member is restarted between two samples, the processor time before its first sample counts
// as that of the member and not as that of other programs. This also applies if the member did not
// run for some time.
func TestRestartedMemberIsNoOtherProgram(t *testing.T) {
	u := newMachineUse(1)
	used := 0.0 // by all processes
	for second, p := range []struct {
		pid int
		probe.ProcessUsage
	}{
		{41, probe.ProcessUsage{OK: true, UserSeconds: 50}}, // the processor time before the first sample is irrelevant
		{41, probe.ProcessUsage{OK: true, UserSeconds: 50.5}},
		{41, probe.ProcessUsage{}},
		{42, probe.ProcessUsage{OK: true, UserSeconds: 0.5}},
		{42, probe.ProcessUsage{OK: true, UserSeconds: 0.75}},
	} {
		used += []float64{0, 0.5, 0, 0.5, 0.25}[second]
		u.add(atSecond(float64(second)), &probe.MachineUsage{CPU: probe.SystemCPU{User: used, Idle: 100 + float64(second) - used}})
		u.use(atSecond(float64(second)), p.pid, "m1", &p.ProcessUsage)
	}
	for _, window := range [][2]float64{{0, 4}, {1.5, 3}, {2, 3}, {2.5, 4}} {
		if _, _, foreign := u.shares(atSecond(window[0]), atSecond(window[1])); foreign == nil || *foreign > 1e-9 {
			t.Errorf("in the window %v, other programs have the share %v, want 0", window, show(foreign))
		}
	}
}

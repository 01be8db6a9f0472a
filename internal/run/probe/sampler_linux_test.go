package probe

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"
)

// files returns a file system root with the kernel's files about the machine and about process 7,
// which has two threads.
func files(t *testing.T, more map[string]string) string {
	t.Helper()
	all := map[string]string{
		"proc/7/stat":          "7 (a) b (c) S 1 7 7 0 -1 4194560 1200 0 34 0 250 125 0 0 20 0 2 0 99900 1000000 256 18446744073709551615 1 1 0\n",
		"proc/7/io":            "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n",
		"proc/7/limits":        "Limit                     Soft Limit           Hard Limit           Units     \nMax processes             96365                96365                processes \nMax open files            1024                 4096                 files     \n",
		"proc/7/task/7/status": "Name:\tx\nThreads:\t2\nvoluntary_ctxt_switches:\t10\nnonvoluntary_ctxt_switches:\t3\n",
		"proc/7/task/8/status": "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t1\n",
		"proc/7/fd/0":          "", "proc/7/fd/1": "", "proc/7/fd/2": "",
		"proc/stat":          "cpu  500 20 300 10000 50 5 7 9 0 0\ncpu0 400 20 200 4000 50 5 7 9 0 0\ncpu1 100 0 100 6000 0 0 0 0 0 0\nintr 5 5 5\nctxt 99\n",
		"proc/loadavg":       "1.25 0.50 0.10 1/100 999\n",
		"proc/diskstats":     " 254       0 vda 100 1 2000 300 50 6 4000 700 2 800 900 1 1 1 1 30 40\n 254       1 vda1 1 1 1 1 1 1 1 1 0 1 1\n   7       0 loop0 5 0 0 0 0 0 0 0 0 0 0\n   8       0 sda 0 0 0 0 0 0 0 0 0 0 0\n   8      16 sdb 7 0 8 9 1 2 3 4 0 5 6\n",
		"proc/net/dev":       "Inter-|   Receive                                                |  Transmit\n face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n    lo: 1000 10 0 0 0 0 0 0 1000 10 0 0 0 0 0 0\n  eth0:500 5 0 0 0 0 0 0 700 7 0 0 0 0 0 0\n eth1: 1 1 0 0 0 0 0 0 2 2 0 0 0 0 0 0\n",
		"proc/net/snmp":      "Ip: Forwarding\nIp: 2\nTcp: RtoAlgorithm RtoMin MaxConn InSegs OutSegs RetransSegs InErrs\nTcp: 1 200 -1 500 600 12 0\n",
		"proc/net/netstat":   "TcpExt: SyncookiesSent ListenOverflows ListenDrops\nTcpExt: 0 3 4\nIpExt: ListenDrops\nIpExt: 99\n",
		"proc/net/sockstat":  "sockets: used 47\nTCP: inuse 26 orphan 0 tw 230 alloc 26 mem 3\nUDP: inuse 0 mem 9\n",
		"sys/block/vda/stat": "", "sys/block/sda/stat": "", "sys/block/sdb/stat": "",
	}
	for name, text := range more {
		all[name] = text
	}
	return write(t, all) + "/"
}

var someTime = time.Unix(1_763_818_441, 0)

const psi = "some avg10=0.06 avg60=0.21 avg300=0.99 total=8537362\nfull avg10=0.00 avg60=0.13 avg300=0.96 total=1250000\n"

// Processes are read on kernels with version 1 and version 2 of control groups, and on a kernel
// without pressure files.
func TestSamplerReadsProcesses(t *testing.T) {
	want := ProcessUsage{
		PID: 7, OK: true, Started: 999, UserSeconds: 2.5, SystemSeconds: 1.25, RSS: 256 * int64(os.Getpagesize()),
		Threads: 2, FDs: 3, FDLimit: 1024, MinorFaults: 1200, MajorFaults: 34, Voluntary: 15, Involuntary: 4,
		ReadBytes: 4096, WriteBytes: 8192, Group: unknownGroup,
	}
	for name, c := range map[string]struct {
		files map[string]string
		group GroupUsage
	}{
		"none": {nil, unknownGroup},
		"version 1": {map[string]string{
			"proc/7/cgroup": "3:cpu,cpuacct:/job\n", "proc/7/mountinfo": mountsV1,
			"sys/fs/cgroup/cpu,cpuacct/cpu.stat":     "throttled_time 0\n",
			"sys/fs/cgroup/cpu,cpuacct/job/cpu.stat": "nr_periods 10\nnr_throttled 4\nthrottled_time 1500000000\n",
		}, GroupUsage{1.5, unknownPressure}},
		"version 2": {map[string]string{
			"proc/7/cgroup": "0::/app\n", "proc/7/mountinfo": mountsV2,
			"sys/fs/cgroup/app/cpu.stat":        "usage_usec 99\nthrottled_usec 250000\n",
			"sys/fs/cgroup/app/cpu.pressure":    "some avg10=0.00 avg60=0.00 avg300=0.00 total=3000000\n",
			"sys/fs/cgroup/app/io.pressure":     psi,
			"sys/fs/cgroup/app/memory.pressure": psi,
		}, GroupUsage{0.25, Pressure{3, 8.537362, 1.25, 8.537362, 1.25}}},
		"version 2, a kernel without pressure": {map[string]string{
			"proc/7/cgroup": "0::/app\n", "proc/7/mountinfo": mountsV2, "sys/fs/cgroup/app/cpu.stat": "usage_usec 99\n",
		}, GroupUsage{0, unknownPressure}},
	} {
		s := newSampler(files(t, c.files))
		rows := s.Processes(someTime, []int{7, 8})
		want.Group = c.group
		got := rows[0]
		got.SendQueue, got.ReceiveQueue, got.ReceivedBytes, got.SentBytes, got.Retransmitted = 0, 0, 0, 0, 0 // these values are read from the live system
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if rows[1] != (ProcessUsage{PID: 8}) {
			t.Errorf("%s: the usage of a missing process is %+v", name, rows[1])
		}
	}
}

func TestSamplerReadsMachines(t *testing.T) {
	m, ok := newSampler(files(t, map[string]string{"proc/pressure/cpu": psi, "proc/pressure/io": psi})).Machine(someTime, nil)
	want := MachineUsage{
		Load1: 1.25, CPU: SystemCPU{5, 0.2, 3, 100, 0.5, 0.05, 0.07, 0.09}, Cores: []float64{4 + 0.2 + 2 + 0.05 + 0.07, 2},
		Pressure: Pressure{8.537362, 8.537362, 1.25, -1, -1},
		Disks: []DiskUsage{
			{Name: "vda", Reads: 100, ReadSectors: 2000, ReadSeconds: 0.3, Writes: 50, WrittenSectors: 4000, WriteSeconds: 0.7, InFlight: 2, BusySeconds: 0.8, QueueSeconds: 0.9, Flushes: 30, FlushSeconds: 0.04},
			{Name: "sdb", Reads: 7, ReadSectors: 8, ReadSeconds: 0.009, Writes: 1, WrittenSectors: 3, WriteSeconds: 0.004, BusySeconds: 0.005, QueueSeconds: 0.006, Flushes: -1, FlushSeconds: -1},
		},
		ReceivedBytes: 501, ReceivedPackets: 6, SentBytes: 702, SentPackets: 9, LoopbackBytes: 1000, LoopbackPackets: 10,
		SentSegments: 600, RetransmittedSegments: 12, ListenDrops: 4, TCPSockets: 26, TCPBytes: 3 * int64(os.Getpagesize()),
	}
	if diff := cmp.Diff(want, m, cmp.Comparer(func(a, b float64) bool { return a-b < 1e-9 && b-a < 1e-9 })); diff != "" || !ok {
		t.Errorf("%v:\n%s", ok, diff)
	}
	// This kernel reports only the usage of its processors.
	m, ok = newSampler(write(t, map[string]string{"proc/stat": "cpu 1 2 3 4\n"})+"/").Machine(someTime, nil)
	if !ok || m.Load1 != -1 || m.Pressure != unknownPressure || m.Disks != nil || m.SentSegments != -1 || m.ListenDrops != -1 || m.TCPBytes != -1 {
		t.Errorf("%+v, %v", m, ok)
	}
	if _, ok := newSampler(write(t, nil)+"/").Machine(someTime, nil); ok {
		t.Error("a sample of a machine without /proc succeeded")
	}
}

func TestDisksAreAdded(t *testing.T) {
	a, b := DiskUsage{Name: "a", Reads: 1, Flushes: 5, BusySeconds: 2, QueueSeconds: 1}, DiskUsage{Name: "b", Reads: 2, Flushes: -1, QueueSeconds: 0.5}
	a.Add(&b)
	if want := (DiskUsage{Name: "a", Reads: 3, Flushes: -1, BusySeconds: -1, QueueSeconds: 1.5}); a != want {
		t.Errorf("%+v", a)
	}
	a.Add(&DiskUsage{Flushes: 7})
	if a.Flushes != -1 {
		t.Error("a sum that includes an unknown number is known")
	}
}

// If a process ID is reused, the sampler recognizes the new process and reads its cached properties
// again.
func TestSamplerSeesReplacedProcesses(t *testing.T) {
	root := files(t, nil)
	s := newSampler(root)
	first := s.Processes(someTime, []int{7})[0]
	stat := "7 (x) R 1 7 7 0 -1 0 1 0 0 0 1 0 0 0 20 0 1 0 123400 1 1 1\n"
	if err := os.WriteFile(root+"proc/7/stat", []byte(stat), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(root+"proc/7/limits", []byte("Max open files  77  77 files\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	again := s.Processes(someTime.Add(time.Second), []int{7})[0]
	if first.Started != 999 || again.Started != 1234 || again.FDLimit != 77 {
		t.Errorf("%+v, then %+v", first, again)
	}
	if err := os.WriteFile(root+"proc/7/stat", []byte(strings.Replace(stat, " R ", " Z ", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if z := s.Processes(someTime, []int{7})[0]; z.OK {
		t.Errorf("the usage of a zombie process is %+v", z)
	}
}

// The sampler lists programs with their usage between two samples, added up by name and process
// group. After a gap between samples, it lists nothing.
func TestProgramUsage(t *testing.T) {
	root := files(t, nil)
	s := newSampler(root)
	s.programs.share = 1e9 // read programs at any cost
	process := func(pid int, name string, group, ticks, started int) {
		dir := fmt.Sprintf("%sproc/%d", root, pid)
		_ = os.MkdirAll(dir, 0o755)
		text := fmt.Sprintf("%d (%s) R 1 %d 0 0 -1 0 0 0 0 0 %d 0 0 0 20 0 1 0 %d 0 0\n", pid, name, group, ticks, started)
		if err := os.WriteFile(filepath.Join(dir, "stat"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	read := func(second float64) []ProgramUsage {
		m, _ := s.Machine(someTime.Add(time.Duration(second*1e9)), []int{7})
		return m.Programs
	}
	process(20, "cc1", 20, 500, 1)
	process(21, "idle", 21, 500, 1)
	if got := read(0); got != nil {
		t.Errorf("the first sample lists programs: %v", got)
	}
	process(20, "cc1", 20, 550, 1)
	process(30, "cc1", 20, 25, 900) // the process was started since the previous sample
	process(31, "cc1", 31, 10, 900)
	process(21, "idle", 21, 501, 1)
	if got, want := read(1), []ProgramUsage{{"cc1", 20, 0.75, 1}, {"cc1", 31, 0.1, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	process(20, "new", 20, 30, 1000) // the process reuses the ID of a process that has exited
	if got, want := read(2), []ProgramUsage{{"new", 20, 0.3, 1}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
	process(20, "new", 20, 900, 1000)
	if got := read(60); got != nil {
		t.Errorf("a sample after a gap lists programs: %v", got)
	}
}

// An expensive part is executed as often as its share of a processor permits.
func TestThrift(t *testing.T) {
	used := time.Duration(0)
	of := func(cost time.Duration, at ...float64) (done []bool) {
		p := costLimiter{share: 0.01}
		for _, second := range at {
			done = append(done, p.runIfDue(someTime.Add(time.Duration(second*1e9)), func() time.Duration { return used }, func() { used += cost }))
		}
		return done
	}
	if got := of(time.Millisecond, 0, 0.2, 1, 1.99, 3); !slices.Equal(got, []bool{true, false, true, true, true}) {
		t.Errorf("the executions of a cheap part are %v", got)
	}
	if got := of(30*time.Millisecond, 0, 1, 2, 3, 4, 5, 6); !slices.Equal(got, []bool{true, false, false, true, false, false, true}) {
		t.Errorf("the executions of an expensive part are %v", got)
	}
	if got := of(time.Hour, 0, -7200); !slices.Equal(got, []bool{true, true}) {
		t.Errorf("the executions with a clock that was set back are %v", got)
	}
}

// The files of the live system can be read.
func TestSamplerReadsThisMachine(t *testing.T) {
	s, ok := NewSampler()
	if !ok {
		t.Skip("there is no /proc")
	}
	rows := s.Processes(time.Now(), []int{os.Getpid(), 1 << 30})
	us, none := rows[0], rows[1]
	if !us.OK || us.PID != os.Getpid() || us.RSS < 1<<20 || us.Threads < 1 || us.FDs < 3 || us.Voluntary+us.Involuntary < 1 || us.Started <= 0 || us.MinorFaults < 1 {
		t.Errorf("the usage of this process is %+v", us)
	}
	if none != (ProcessUsage{PID: 1 << 30}) {
		t.Errorf("the usage of a missing process is %+v", none)
	}
	m, ok := s.Machine(time.Now(), nil)
	if !ok || m.CPU.Total() <= 0 || m.LoopbackBytes < 0 || len(m.Cores) < 1 {
		t.Errorf("machine: %+v, %v", m, ok)
	}
}

// Bytes that wait on a connection are counted, whether they wait at the sending or at the receiving
// end.
func TestSocketsQueue(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	taken, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	if _, err := c.Write(make([]byte, 10_000)); err != nil {
		t.Fatal(err)
	}
	s, ok := NewSampler()
	if !ok {
		t.Skip("there is no /proc")
	}
	now := time.Now()
	us := s.Processes(now, []int{os.Getpid()})[0]
	if us.SendQueue < 0 {
		t.Skip("the system does not list connections")
	}
	if us.SendQueue+us.ReceiveQueue < 10_000 || us.Retransmitted < 0 || us.SentBytes != 0 {
		t.Errorf("%+v", us)
	}
	if _, err := c.Write(make([]byte, 5_000)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(taken, make([]byte, 15_000)); err != nil {
		t.Fatal(err)
	}
	again := s.Processes(now.Add(time.Hour), []int{os.Getpid()})[0]
	if again.ReceiveQueue >= us.ReceiveQueue || again.ReceivedBytes < 5_000 || again.SentBytes < 5_000 {
		t.Errorf("%+v", again)
	}
}

func FuzzSocketList(f *testing.F) {
	f.Add([]byte{})
	f.Add(append([]byte{92, 0, 0, 0, 20, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, make([]byte, 76)...))
	f.Add([]byte{16, 0, 0, 0, 3, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		all, _, _ := parseSocketList(b, nil)
		if len(all) > len(b)/diagMessage {
			t.Errorf("%d sockets were parsed from %d bytes", len(all), len(b))
		}
	})
}

// FuzzKernelFiles parses any input as each kind of file.
func FuzzKernelFiles(f *testing.F) {
	f.Add([]byte("7 (a) b (c) S 1 7 7 0 -1 4194560 1200 0 34 0 250 125 0 0 20 0 2 0 99900 1000000 256 1\n"))
	f.Add([]byte("cpu  1 2\ncpu0 99999999999999999999 -1\ncpux\n"))
	f.Add([]byte(psi))
	f.Add([]byte("Tcp: OutSegs\nTcp: OutSegs OutSegs\nTCP: inuse\n 1 1 x 1 2 3 4 5 6 7 8 9 10 11\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if s, ok := parseStat(b); ok && (s.user < 0 || s.started < 0 || len(s.name) > len(b)) {
			t.Errorf("%+v", s)
		}
		if sum, cores, _ := parseCPU(b, nil); !(sum.Total() >= 0) || len(cores) > len(b) {
			t.Errorf("%+v and %v", sum, cores)
		}
		if some, full := parsePressure(b); !(some >= -1) || !(full >= -1) {
			t.Errorf("%v, %v", some, full)
		}
		_, _ = parseDisk(b)
		_, _ = parseSockets(b)
		_ = findTableValues(b, "Tcp:", "OutSegs")
		parseNetDev(b, &MachineUsage{})
		if l := parseLoad(b); !(l >= -1) {
			t.Errorf("%v", l)
		}
		_ = parseFDLimit(b)
	})
}

// BenchmarkSampling takes one sample of ten processes and the machine. A run takes such a sample
// every second, so a sample should take less than 10 ms of processor time, which is 1 % of a
// processor. cpu-ns/op is the processor time of all threads, including garbage collection.
func BenchmarkSampling(b *testing.B) {
	s, ok := NewSampler()
	if !ok {
		b.Skip("there is no /proc")
	}
	var pids []int
	for range 10 {
		child := exec.Command(os.Args[0], "-test.run=^TestBeIdle$")
		child.Env = append(os.Environ(), "QUORUMBENCH_BE_IDLE=1")
		in, err := child.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := child.Start(); err != nil {
			b.Fatal(err)
		}
		defer func() {
			_ = in.Close()
			_ = child.Wait()
		}()
		pids = append(pids, child.Process.Pid)
	}
	look := time.NewTicker(10 * time.Millisecond)
	defer look.Stop()
	for deadline := time.Now().Add(time.Minute); slices.ContainsFunc(s.Processes(time.Now(), pids), func(p ProcessUsage) bool { return p.Threads < idleThreads }); <-look.C {
		if time.Now().After(deadline) {
			b.Fatal("the processes have no threads after a minute")
		}
	}
	now, used := time.Now(), Self().CPUSeconds
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		now = now.Add(time.Second)
		s.Processes(now, pids)
		s.Machine(now, pids)
	}
	b.ReportMetric((Self().CPUSeconds-used)*1e9/float64(b.N), "cpu-ns/op")
}

// idleThreads is the number of waiting threads in each process that the benchmark samples.
const idleThreads = 20

// TestBeIdle runs as the process that the benchmark samples. It has twenty waiting threads.
func TestBeIdle(t *testing.T) {
	if os.Getenv("QUORUMBENCH_BE_IDLE") == "" {
		t.Skip("this test runs only in a process that BenchmarkSampling starts")
	}
	for range idleThreads {
		go func() {
			runtime.LockOSThread()
			_, _ = unix.Read(0, make([]byte, 1)) // waits until the benchmark closes standard input
		}()
	}
	_, _ = unix.Read(0, make([]byte, 1))
}

// When a CPU limit throttles a real process, the counter of the process's group rises.
func TestSamplerSeesALimit(t *testing.T) {
	ours := groupsOf("/", "self")
	if len(ours.cpu) == 0 {
		t.Skip("no control groups are mounted")
	}
	group := filepath.Join(ours.cpu[0], fmt.Sprintf("quorumbench-test-%d", os.Getpid()))
	if err := os.Mkdir(group, 0o755); err != nil {
		t.Skipf("this test may not create a control group: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(group); err != nil {
			t.Error(err)
		}
	})
	put := func(file, text string) error { return os.WriteFile(filepath.Join(group, file), []byte(text), 0o600) }
	if put("cpu.cfs_quota_us", "2000") != nil && put("cpu.max", "2000 100000") != nil {
		t.Skip("this test may not set a limit on processor time")
	}
	child := exec.Command(os.Args[0], "-test.run=^TestBeBusy$")
	child.Env = append(os.Environ(), "QUORUMBENCH_BE_BUSY=1")
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = child.Process.Kill()
		_ = child.Wait()
	}()
	pid := child.Process.Pid
	if err := put("cgroup.procs", fmt.Sprint(pid)); err != nil {
		t.Skipf("this test may not move a process to a control group: %v", err)
	}
	s, _ := NewSampler()
	deadline := time.Now().Add(time.Minute)
	for now := time.Now(); ; now = time.Now() {
		row := s.Processes(now, []int{pid})[0]
		if row.OK && row.Group.Throttled > 0.05 {
			break
		}
		if now.After(deadline) {
			t.Fatalf("after a minute with a limit of 2 %% of a processor, no throttling is counted: %+v", row)
		}
	}
}

// TestBeBusy runs as the process that is throttled.
func TestBeBusy(t *testing.T) {
	if os.Getenv("QUORUMBENCH_BE_BUSY") == "" {
		t.Skip("this test runs only in a process that TestSamplerSeesALimit starts")
	}
	for {
		_ = os.Getpid()
	}
}

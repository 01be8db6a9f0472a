package probe

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Sampler reads the resource usage of processes and of the machine. It caches properties that do
// not change, and limits the cost of its expensive readings. It is safe for concurrent use.
type Sampler struct {
	root   string // file system root; differs from "/" only in tests
	cpu    func() time.Duration
	ownPID int // ID of this process, which is not counted as a foreign program

	mu          sync.Mutex
	file        kernelFile
	constants   map[int]processConstants
	isWholeDisk map[string]bool // whether a device is a whole disk
	threads     costLimiter
	programs    programs
	sockets     sockets
}

// processConstants contains properties of a process that do not change.
type processConstants struct {
	started int64 // ticks
	fdLimit int64
	groups  groups
}

// NewSampler returns a sampler; ok is false on a system without /proc.
func NewSampler() (s *Sampler, ok bool) {
	if _, err := os.Stat("/proc/self/stat"); err != nil {
		return nil, false
	}
	return newSampler("/"), true
}

func newSampler(root string) *Sampler {
	return &Sampler{
		root: root, cpu: ThreadCPU, ownPID: os.Getpid(), constants: map[int]processConstants{}, isWholeDisk: map[string]bool{},
		threads: costLimiter{share: threadsShare}, programs: programs{costLimiter: costLimiter{share: programsShare}}, sockets: sockets{costLimiter: costLimiter{share: socketsShare}},
	}
}

// ThreadCPU returns the user and system time that the calling thread has used. The calling
// goroutine must be locked to its thread.
func ThreadCPU() time.Duration {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// Limits on the expensive parts of sampling. Each limit is the mean share of one processor that the
// part may use.
const (
	threadsShare  = 0.003
	programsShare = 0.003
	socketsShare  = 0.002
)

// costLimiter decides when an expensive part of sampling is due again. On average, the part uses at
// most the given share of a processor.
type costLimiter struct {
	share float64
	next  time.Time
}

// minPause is the minimum time between two executions of an expensive part. It is shorter than
// the interval between samples, so that a sample that is slightly early also includes the part.
const minPause = 500 * time.Millisecond

// runIfDue calls the function `part` if the part is due. It reports whether it called the function.
func (t *costLimiter) runIfDue(at time.Time, cpu func() time.Duration, part func()) (done bool) {
	if at.Before(t.next) && t.next.Sub(at) < time.Hour { // if t.next is further away, the clock was set back
		return false
	}
	before := cpu()
	part()
	pay := time.Duration(float64(cpu()-before) / t.share)
	t.next = at.Add(max(pay-minPause, minPause))
	return true
}

// Processes returns the usage of each process, in the order of pids.
func (s *Sampler) Processes(now time.Time, pids []int) []ProcessUsage {
	s.mu.Lock()
	defer s.mu.Unlock()
	rows := make([]ProcessUsage, len(pids))
	used := map[string]GroupUsage{} // usage by group, because processes may share a group
	for i, pid := range pids {
		rows[i] = s.process(pid, used)
	}
	s.threads.runIfDue(now, s.cpu, func() {
		for i := range rows {
			if rows[i].OK {
				rows[i].Voluntary, rows[i].Involuntary = s.switches(rows[i].PID)
			}
		}
	})
	s.sockets.add(s, now, rows)
	return rows
}

// path returns the path of a file in a process's folder in /proc.
func (s *Sampler) path(pid int, name string) string {
	return s.root + "proc/" + strconv.Itoa(pid) + "/" + name
}

func (s *Sampler) process(pid int, used map[string]GroupUsage) ProcessUsage {
	row := ProcessUsage{PID: pid}
	b, ok := s.file.read(s.path(pid, "stat"))
	stat, parsed := parseStat(b)
	if !ok || !parsed || stat.state == 'Z' || stat.state == 'X' {
		delete(s.constants, pid)
		return row
	}
	row.OK = true
	row.Started, row.UserSeconds, row.SystemSeconds = toSeconds(userHZ, stat.started), toSeconds(userHZ, stat.user), toSeconds(userHZ, stat.system)
	row.RSS = stat.rssPages * int64(os.Getpagesize())
	row.Threads = int(stat.threads)
	row.MinorFaults, row.MajorFaults = stat.minorFaults, stat.majorFaults
	row.Voluntary, row.Involuntary = -1, -1
	row.SendQueue, row.ReceiveQueue, row.ReceivedBytes, row.SentBytes, row.Retransmitted = -1, -1, -1, -1, -1
	row.FDs = s.openFiles(pid)
	b, _ = s.file.read(s.path(pid, "io"))
	row.ReadBytes, row.WriteBytes = findValue(b, "read_bytes:"), findValue(b, "write_bytes:")
	cached, isCached := s.constants[pid]
	if !isCached || cached.started != stat.started {
		b, _ = s.file.read(s.path(pid, "limits"))
		cached = processConstants{stat.started, parseFDLimit(b), groupsOf(s.root, strconv.Itoa(pid))}
		s.constants[pid] = cached
	}
	row.FDLimit = cached.fdLimit
	key := strings.Join(cached.groups.cpu, "\n")
	if row.Group, isCached = used[key]; !isCached {
		row.Group = cached.groups.readUsage(&s.file)
		used[key] = row.Group
	}
	return row
}

// openFiles returns the number of files that a process has open, or -1 if this process may not read
// the number. Since Linux 6.2, the size of the folder that lists the open files is their number.
func (s *Sampler) openFiles(pid int) int {
	path := s.path(pid, "fd")
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err == nil && stat.Size > 0 && s.root == "/" { // in tests, the folder's size is not the number of files
		return int(stat.Size)
	}
	names, ok := listNames(path)
	if !ok {
		return -1
	}
	return len(names)
}

// listNames returns the names of a folder's entries, unsorted.
func listNames(path string) (names []string, ok bool) {
	dir, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer func() { _ = dir.Close() }()
	names, err = dir.Readdirnames(-1)
	return names, err == nil
}

// switches adds up the context switches of all threads of a process, because the status file of a
// process contains only the switches of its first thread.
func (s *Sampler) switches(pid int) (voluntary, involuntary int64) {
	threads, ok := listNames(s.path(pid, "task"))
	if !ok {
		return -1, -1
	}
	for _, t := range threads {
		if b, ok := s.file.read(s.path(pid, "task/"+t+"/status")); ok {
			voluntary += max(findValue(b, "voluntary_ctxt_switches:"), 0)
			involuntary += max(findValue(b, "nonvoluntary_ctxt_switches:"), 0)
		}
	}
	return voluntary, involuntary
}

// Machine returns the usage of the machine; ok is false if the usage is unknown. The processes in
// pids are not reported as foreign programs.
func (s *Sampler) Machine(now time.Time, pids []int) (row MachineUsage, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	b, _ := s.file.read(s.root + "proc/stat")
	row.CPU, row.Cores, ok = parseCPU(b, nil)
	if !ok {
		return row, false
	}
	b, _ = s.file.read(s.root + "proc/loadavg")
	row.Load1 = parseLoad(b)
	row.Pressure = s.file.pressure(s.root + "proc/pressure/%s")
	b, _ = s.file.read(s.root + "proc/diskstats")
	row.Disks = s.disks(b)
	b, _ = s.file.read(s.root + "proc/net/dev")
	parseNetDev(b, &row)
	b, _ = s.file.read(s.root + "proc/net/snmp")
	tcp := findTableValues(b, "Tcp:", "OutSegs", "RetransSegs")
	row.SentSegments, row.RetransmittedSegments = tcp[0], tcp[1]
	b, _ = s.file.read(s.root + "proc/net/netstat")
	row.ListenDrops = findTableValues(b, "TcpExt:", "ListenDrops")[0]
	b, _ = s.file.read(s.root + "proc/net/sockstat")
	inUse, pages := parseSockets(b)
	row.TCPSockets, row.TCPBytes = inUse, max(pages, -1)
	if pages > 0 {
		row.TCPBytes *= int64(os.Getpagesize())
	}
	row.Programs = s.programs.read(s, now, append(slices.Clone(pids), s.ownPID))
	return row, true
}

// disks returns the usage of each whole disk in /proc/diskstats that has completed any requests.
func (s *Sampler) disks(b []byte) (all []DiskUsage) {
	for len(b) > 0 {
		d, ok := parseDisk(line(&b))
		if !ok || d.Reads+d.Writes == 0 {
			continue
		}
		isWholeDisk, seen := s.isWholeDisk[d.Name]
		if !seen {
			isWholeDisk = wholeDisk(s.root+"sys/block", d.Name)
			s.isWholeDisk[d.Name] = isWholeDisk
		}
		if isWholeDisk {
			all = append(all, d)
		}
	}
	return all
}

// wholeDisk reports whether a device is a whole disk. It returns false for partitions, which are
// not listed in /sys/block, and for memory devices. It also returns false for devices that consist
// of other devices, because the usage of such devices would be counted twice.
func wholeDisk(block, name string) bool {
	for _, prefix := range []string{"loop", "ram", "zram", "dm-", "md"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	_, err := os.Stat(filepath.Join(block, strings.ReplaceAll(name, "/", "!")))
	return err == nil
}

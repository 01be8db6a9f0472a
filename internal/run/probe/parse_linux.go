package probe

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
)

// userHZ is the number of ticks per second in the times in /proc. The kernel uses 100 in user space
// on every architecture that Go supports.
const userHZ = 100

// statLine is a parsed /proc/PID/stat (proc_pid_stat(5)).
type statLine struct {
	name                       []byte
	state                      byte
	group                      int64
	minorFaults, majorFaults   int64
	user, system               int64 // ticks
	threads, started, rssPages int64
}

// parseStat parses a line in the format of /proc/PID/stat. The returned name shares the memory of
// b.
func parseStat(b []byte) (s statLine, ok bool) {
	// The name is in parentheses and may contain any character, including parentheses.
	from, to := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if from < 0 || to < from {
		return s, false
	}
	s.name, b = b[from+1:to], b[to+1:]
	state := word(&b)
	if len(state) != 1 {
		return s, false
	}
	s.state = state[0]
	for i := 4; i <= 24; i++ {
		n := number(word(&b))
		switch i {
		case 5:
			s.group = n
		case 10:
			s.minorFaults = n
		case 12:
			s.majorFaults = n
		case 14:
			s.user = n
		case 15:
			s.system = n
		case 20:
			s.threads = n
		case 22:
			s.started = n
		case 24:
			s.rssPages = n
		}
	}
	return s, s.user >= 0 && s.system >= 0 && s.started >= 0 && s.rssPages >= 0
}

// parseCPU parses the processor lines in /proc/stat. It returns the sum over all processors, and
// appends the busy time of each processor to cores.
func parseCPU(b []byte, cores []float64) (sum SystemCPU, busy []float64, ok bool) {
	for len(b) > 0 {
		l := line(&b)
		name := word(&l)
		if !bytes.HasPrefix(name, []byte("cpu")) {
			break
		}
		var n [8]int64
		numbers(l, n[:])
		at := func(i int) float64 { return max(toSeconds(userHZ, n[i]), 0) } // older kernels have fewer columns
		c := SystemCPU{User: at(0), Nice: at(1), System: at(2), Idle: at(3), IOWait: at(4), IRQ: at(5), SoftIRQ: at(6), Steal: at(7)}
		if len(name) == len("cpu") {
			sum, ok = c, n[3] >= 0
		} else if len(cores) < maxCores {
			cores = append(cores, c.Busy())
		}
	}
	return sum, cores, ok
}

// maxCores limits the number of processors that are listed separately.
const maxCores = 1024

// parseDisk parses a line in /proc/diskstats (iostats in the kernel's documentation).
func parseDisk(l []byte) (d DiskUsage, ok bool) {
	word(&l)
	word(&l)
	d.Name = string(word(&l))
	var n [17]int64
	numbers(l, n[:])
	const ms = 1000
	d.Reads, d.ReadSectors, d.ReadSeconds = n[0], n[2], toSeconds(ms, n[3])
	d.Writes, d.WrittenSectors, d.WriteSeconds = n[4], n[6], toSeconds(ms, n[7])
	d.InFlight, d.BusySeconds, d.QueueSeconds = n[8], toSeconds(ms, n[9]), toSeconds(ms, n[10])
	d.Flushes, d.FlushSeconds = n[15], toSeconds(ms, n[16])
	return d, n[10] >= 0
}

// parsePressure parses a pressure file in /proc/pressure or in a control group. It returns the
// total times of "some" and "full" in seconds.
func parsePressure(b []byte) (some, full float64) {
	some, full = -1, -1
	for len(b) > 0 {
		l := line(&b)
		kind := word(&l)
		_, total, ok := bytes.Cut(l, []byte("total="))
		if !ok {
			continue
		}
		switch string(kind) {
		case "some":
			some = toSeconds(1e6, number(word(&total)))
		case "full":
			full = toSeconds(1e6, number(word(&total)))
		}
	}
	return some, full
}

// parseNetDev adds the interfaces in /proc/net/dev to m.
func parseNetDev(b []byte, m *MachineUsage) {
	line(&b)
	line(&b)
	for len(b) > 0 {
		l := line(&b)
		name, rest, ok := bytes.Cut(l, []byte{':'})
		var n [10]int64
		numbers(rest, n[:])
		if !ok || n[9] < 0 {
			continue
		}
		if string(bytes.TrimSpace(name)) == "lo" {
			m.LoopbackBytes, m.LoopbackPackets = n[8], n[9]
			continue
		}
		m.ReceivedBytes += n[0]
		m.ReceivedPackets += n[1]
		m.SentBytes += n[8]
		m.SentPackets += n[9]
	}
}

// findTableValues returns numbers from /proc/net/snmp or /proc/net/netstat. These files have two
// lines for each protocol: the first contains the names, and the second contains the numbers in the
// same order. A missing number is returned as -1.
func findTableValues(b []byte, protocol string, names ...string) []int64 {
	found := make([]int64, len(names))
	for i := range found {
		found[i] = -1
	}
	for len(b) > 0 {
		head := line(&b)
		if string(word(&head)) != protocol {
			continue
		}
		values := line(&b)
		word(&values)
		for len(head) > 0 {
			name := word(&head)
			value := number(word(&values))
			if i := slices.Index(names, string(name)); i >= 0 {
				found[i] = value
			}
		}
		break
	}
	return found
}

// parseSockets parses the TCP line in /proc/net/sockstat. It returns the number of sockets in use
// and the number of memory pages that all their buffers use.
func parseSockets(b []byte) (inUse, pages int64) {
	inUse, pages = -1, -1
	for len(b) > 0 {
		l := line(&b)
		if string(word(&l)) != "TCP:" {
			continue
		}
		for len(l) > 0 {
			name, value := string(word(&l)), number(word(&l))
			switch name {
			case "inuse":
				inUse = value
			case "mem":
				pages = value
			}
		}
	}
	return inUse, pages
}

// parseLoad parses the one-minute load average in /proc/loadavg. It returns -1 if the average is
// missing.
func parseLoad(b []byte) float64 {
	load, err := strconv.ParseFloat(string(word(&b)), 64)
	if err != nil || !(load >= 0 && load < 1e9) {
		return -1
	}
	return load
}

// parseFDLimit parses the soft limit for open files in /proc/PID/limits. It returns -1 if the limit
// is missing or unlimited.
func parseFDLimit(b []byte) int64 {
	_, rest, ok := bytes.Cut(b, []byte("Max open files"))
	if !ok {
		return -1
	}
	return number(word(&rest))
}

// pressure reads pressure files. In the path pattern, %s stands for the resource.
func (f *kernelFile) pressure(pattern string) Pressure {
	p := unknownPressure
	of := func(resource string) (some, full float64) {
		b, _ := f.read(strings.Replace(pattern, "%s", resource, 1))
		return parsePressure(b)
	}
	p.CPUSome, _ = of("cpu")
	p.IOSome, p.IOFull = of("io")
	p.MemorySome, p.MemoryFull = of("memory")
	return p
}

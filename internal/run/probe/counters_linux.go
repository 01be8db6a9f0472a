package probe

import (
	"slices"
	"strconv"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

// maxRSS returns this process's maximum resident memory in bytes. It does not use ru_maxrss, which
// execve(2) preserves from the program that started this process.
func maxRSS(r *unix.Rusage) int64 {
	if self, err := procfs.Self(); err == nil {
		if s, err := self.NewStatus(); err == nil && s.VmHWM > 0 {
			return int64(s.VmHWM)
		}
	}
	return int64(r.Maxrss) * 1024
}

// hardware returns the model of the processor and the size of the memory in bytes.
func hardware() (cpu string, memory uint64) {
	p, err := procfs.NewDefaultFS()
	if err != nil {
		return "", 0
	}
	if cores, err := p.CPUInfo(); err == nil && len(cores) > 0 {
		cpu = cores[0].ModelName
	}
	if m, err := p.Meminfo(); err == nil && m.MemTotalBytes != nil {
		memory = *m.MemTotalBytes
	}
	return cpu, memory
}

// ReadSystemCPU returns the machine's processor time; ok is false if it is unknown. ReadSystemCPU
// must be fast, because loads call it at the moment when their windows open.
func ReadSystemCPU() (c SystemCPU, ok bool) {
	var f kernelFile
	b, ok := f.read("/proc/stat")
	if !ok {
		return c, false
	}
	c, _, ok = parseCPU(b, nil)
	return c, ok
}

// ThreadSched returns the scheduler's counters for the thread of this process with the given
// gettid(2) number; ok is false if the thread does not exist or if the kernel does not keep these
// counters.
func ThreadSched(tid int) (s Sched, ok bool) {
	var f kernelFile
	b, ok := f.read("/proc/self/task/" + strconv.Itoa(tid) + "/schedstat")
	var n [3]int64
	if numbers(b, n[:]); !ok || slices.Min(n[:]) < 0 {
		return Sched{}, false
	}
	return Sched{CPU: n[0], RunDelay: n[1], Slices: n[2]}, true
}

//go:build !linux

package probe

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// maxRSS returns this process's maximum resident memory in bytes. The system's unit is bytes on
// macOS, and kilobytes on the BSDs.
func maxRSS(r *unix.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) * 1024
}

// hardware returns zero values on this system.
func hardware() (cpu string, memory uint64) { return "", 0 }

// ReadSystemCPU returns false on this system.
func ReadSystemCPU() (c SystemCPU, ok bool) { return c, false }

// CPUGroups is empty on this system.
type CPUGroups struct{}

// OwnCPUGroups returns no groups.
func OwnCPUGroups() (g CPUGroups) { return g }

// Throttled returns false on this system.
func (CPUGroups) Throttled() (ns int64, ok bool) { return 0, false }

// cpuLimit returns false on this system.
func cpuLimit(string) (processors float64, ok bool) { return 0, false }

// ThreadSched returns false on this system.
func ThreadSched(int) (s Sched, ok bool) { return s, false }

// Sampler does not exist on this system.
type Sampler struct{}

// NewSampler returns false on this system.
func NewSampler() (s *Sampler, ok bool) { return nil, false }

// ThreadCPU returns 0 on this system.
func ThreadCPU() time.Duration { return 0 }

// Processes returns nil on this system.
func (*Sampler) Processes(time.Time, []int) []ProcessUsage { return nil }

// Machine returns false on this system.
func (*Sampler) Machine(time.Time, []int) (row MachineUsage, ok bool) { return row, false }

//go:build !linux

package probe

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// maxRSS is in bytes; macOS counts bytes, the BSDs kilobytes.
func maxRSS(r *unix.Rusage) int64 {
	if runtime.GOOS == "darwin" {
		return int64(r.Maxrss)
	}
	return int64(r.Maxrss) * 1024
}

// hardware is not known here.
func hardware() (cpu string, memory uint64) { return "", 0 }

// System is not known here.
func System() (c SystemCPU, ok bool) { return c, false }

// CPUGroups are none here.
type CPUGroups struct{}

// OurCPUGroups finds none.
func OurCPUGroups() (g CPUGroups) { return g }

// Throttled is not known here.
func (CPUGroups) Throttled() (ns int64, ok bool) { return 0, false }

// cpuLimit is not known here.
func cpuLimit(string) (processors float64, ok bool) { return 0, false }

// ThreadSched is not known here.
func ThreadSched(int) (s Sched, ok bool) { return s, false }

// Sampler reads nothing here.
type Sampler struct{}

// NewSampler returns nothing here, which its ok says.
func NewSampler() (s *Sampler, ok bool) { return nil, false }

// ThreadCPU is not known here.
func ThreadCPU() time.Duration { return 0 }

// Processes is not known here.
func (*Sampler) Processes(time.Time, []int) []ProcessUsage { return nil }

// Machine is not known here.
func (*Sampler) Machine(time.Time, []int) (row MachineUsage, ok bool) { return row, false }

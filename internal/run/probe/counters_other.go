//go:build !linux

package probe

import (
	"runtime"

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

// Throttled is not known here.
func Throttled() (t Throttling, ok bool) { return t, false }

// cpuLimit is not known here.
func cpuLimit(string) (processors float64, ok bool) { return 0, false }

// ThreadSched is not known here.
func ThreadSched(int) (s Sched, ok bool) { return s, false }

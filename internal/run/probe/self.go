package probe

import (
	"golang.org/x/sys/unix"
)

// SelfUsage is what this process used since its start.
type SelfUsage struct {
	CPUSeconds float64
	MaxRSS     int64 // the most memory that was resident at once, in bytes; since GiveBackPages, on Linux
}

// SelfCPU is the processor time of Self alone, which takes a hundredth of the time.
func SelfCPU() (seconds float64) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return 0
	}
	return spent(&r)
}

func spent(r *unix.Rusage) (seconds float64) { return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9 }

// Self reads what this process used; zero where the system does not say.
func Self() SelfUsage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return SelfUsage{}
	}
	return SelfUsage{CPUSeconds: spent(&r), MaxRSS: maxRSS(&r)}
}

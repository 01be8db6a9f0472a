package probe

import (
	"golang.org/x/sys/unix"
)

// SystemCPU is the machine's processor time since its boot, in seconds of one
// core, by what it was spent on (proc_stat(5)).
type SystemCPU struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ float64
	// Steal is what the hypervisor gave to others while we wanted it.
	Steal float64
}

// Sub returns what was spent since b.
func (a SystemCPU) Sub(b SystemCPU) SystemCPU {
	return SystemCPU{
		User:    a.User - b.User,
		Nice:    a.Nice - b.Nice,
		System:  a.System - b.System,
		Idle:    a.Idle - b.Idle,
		IOWait:  a.IOWait - b.IOWait,
		IRQ:     a.IRQ - b.IRQ,
		SoftIRQ: a.SoftIRQ - b.SoftIRQ,
		Steal:   a.Steal - b.Steal,
	}
}

// Total is all time, idle and stolen included.
func (a SystemCPU) Total() float64 {
	return a.User + a.Nice + a.System + a.Idle + a.IOWait + a.IRQ + a.SoftIRQ + a.Steal
}

// Programs is what programs used: all but idle time, interrupts and what the
// host took.
func (a SystemCPU) Programs() float64 { return a.User + a.Nice + a.System }

// Busy is the time in which the machine did something.
func (a SystemCPU) Busy() float64 { return a.Total() - a.Idle - a.IOWait - a.Steal }

// SelfUsage is what this process used since its start (getrusage(2)).
type SelfUsage struct {
	UserNS, SystemNS int64 // CPU time in nanoseconds
	// MaxRSS is the most memory that was resident at once, in bytes. Sub
	// keeps it, because a maximum has no difference.
	MaxRSS                 int64
	Voluntary, Involuntary int64 // context switches
}

// Sub returns what was used since b.
func (a SelfUsage) Sub(b SelfUsage) SelfUsage {
	return SelfUsage{
		UserNS:      a.UserNS - b.UserNS,
		SystemNS:    a.SystemNS - b.SystemNS,
		MaxRSS:      a.MaxRSS,
		Voluntary:   a.Voluntary - b.Voluntary,
		Involuntary: a.Involuntary - b.Involuntary,
	}
}

// CPUSeconds is user and system time together.
func (a SelfUsage) CPUSeconds() float64 { return float64(a.UserNS+a.SystemNS) / 1e9 }

// Self reads what this process used; ok is false where the system does not say.
func Self() (u SelfUsage, ok bool) {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return u, false
	}
	return SelfUsage{
		UserNS:      r.Utime.Nano(),
		SystemNS:    r.Stime.Nano(),
		MaxRSS:      maxRSS(&r),
		Voluntary:   int64(r.Nvcsw),
		Involuntary: int64(r.Nivcsw),
	}, true
}

// Throttling is how the CPU limits on our control group, and on those above it
// that we can see, held us back.
type Throttling struct {
	Periods     int64 // enforcement periods in which a group ran
	Throttled   int64 // of those, how many used the quota up
	ThrottledNS int64 // how long the groups stood still, in nanoseconds
}

// Sub returns what happened since b.
func (a Throttling) Sub(b Throttling) Throttling {
	return Throttling{
		Periods:     a.Periods - b.Periods,
		Throttled:   a.Throttled - b.Throttled,
		ThrottledNS: a.ThrottledNS - b.ThrottledNS,
	}
}

// Sched is what the scheduler did with a thread (sched-stats in the kernel's
// documentation).
type Sched struct {
	CPU      int64 // on a processor, in nanoseconds
	RunDelay int64 // ready and waiting for one, in nanoseconds
	Slices   int64 // turns on one
}

// Sub returns what was done since b.
func (a Sched) Sub(b Sched) Sched {
	return Sched{CPU: a.CPU - b.CPU, RunDelay: a.RunDelay - b.RunDelay, Slices: a.Slices - b.Slices}
}

package probe

import "golang.org/x/sys/unix"

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

// SelfUsage is what this process used since its start.
type SelfUsage struct {
	CPUSeconds float64
	MaxRSS     int64 // the most memory that was resident at once, in bytes
}

// Self reads what this process used; zero where the system does not say.
func Self() SelfUsage {
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) != nil {
		return SelfUsage{}
	}
	return SelfUsage{CPUSeconds: float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9, MaxRSS: maxRSS(&r)}
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

// ProcessUsage is what a process used since its start, and what it holds now.
type ProcessUsage struct {
	PID int
	// OK is false for a process that is gone; the rest is then zero.
	OK                         bool
	UserSeconds, SystemSeconds float64 // CPU time
	RSS                        int64   // bytes
	Threads                    int
	FDs                        int // open file descriptors; -1 if we may not know
	// Context switches of all threads that run; those of ended threads are
	// forgotten by the system.
	Voluntary, Involuntary int64
	// ReadBytes and WriteBytes are what reached the disk; -1 if we may not
	// know.
	ReadBytes, WriteBytes int64
}

// MachineUsage is what the whole machine did since its boot.
type MachineUsage struct {
	Load1 float64 // the load average of a minute
	CPU   SystemCPU
	// The disks: whole ones, without partitions, loop and memory devices, and
	// those made of others. A sector is 512 bytes.
	DiskReads, DiskWrites               int64 // completed
	DiskReadSectors, DiskWrittenSectors int64
	// The network without the loopback interface, and that alone, which counts
	// each packet as received and as sent.
	ReceivedBytes, ReceivedPackets int64
	SentBytes, SentPackets         int64
	LoopbackBytes, LoopbackPackets int64 // sent
}

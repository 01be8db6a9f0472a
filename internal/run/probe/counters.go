package probe

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

// ProcessUsage is what a process used since its start, and what it holds now. A
// number below 0 is not known.
type ProcessUsage struct {
	PID int
	// OK is false for a process that is gone; the rest is then zero.
	OK bool
	// Started is when it began, in seconds since the boot: a process of the same
	// number that began at another time is another one.
	Started                    float64
	UserSeconds, SystemSeconds float64 // CPU time
	RSS                        int64   // bytes
	Threads                    int
	FDs                        int   // open file descriptors
	FDLimit                    int64 // how many it may have
	MinorFaults, MajorFaults   int64 // pages that were not mapped; of these, read from a disk
	// Context switches of all threads that run; those of ended threads are
	// forgotten by the system. Not known where to ask each time costs too much.
	Voluntary, Involuntary int64
	// ReadBytes and WriteBytes are what reached the disk.
	ReadBytes, WriteBytes int64
	// SendQueue and ReceiveQueue are the bytes in the buffers of its TCP connections:
	// sent and not acknowledged or not sent yet, and arrived and not read yet.
	SendQueue, ReceiveQueue int64
	// What those carried since sampling began, without what was in the last second of one
	// that was closed: bytes, and segments that they sent again.
	ReceivedBytes, SentBytes, Retransmitted int64
	// Group is what limits held back of its control group.
	Group GroupUsage
}

// GroupUsage is what a control group and those above it waited for, in seconds; below
// 0 is not known.
type GroupUsage struct {
	Throttled float64 // by limits on processor time
	Pressure          // of the group itself, where that is one of version 2
}

// Pressure is for how long tasks stood still for want of something, in seconds
// since the boot or since their control group was made; below 0 is not known. Some
// is while any did, Full while all did that had something to do (PSI in the
// kernel's documentation).
type Pressure struct {
	CPUSome, IOSome, IOFull, MemorySome, MemoryFull float64
}

var (
	unknownPressure = Pressure{-1, -1, -1, -1, -1}
	unknownGroup    = GroupUsage{-1, unknownPressure}
)

// MachineUsage is what the whole machine did since its boot. A number below 0 is
// not known.
type MachineUsage struct {
	Load1 float64 // the load average of a minute
	CPU   SystemCPU
	Cores []float64 // processor time in use of each that is online, in seconds
	Pressure
	Disks []DiskUsage
	// The network without the loopback interface, and that alone, which counts
	// each packet as received and as sent.
	ReceivedBytes, ReceivedPackets int64
	SentBytes, SentPackets         int64
	LoopbackBytes, LoopbackPackets int64 // sent
	// TCP, the loopback interface included: segments with data or without, those
	// sent again, and connections dropped because the program that listens did not
	// take those before; then the connections there are, and the bytes in their buffers.
	SentSegments, RetransmittedSegments, ListenDrops int64
	TCPSockets, TCPBytes                             int64
	// Programs are the processes that used most since the sample before, if that
	// was a few seconds ago at most, by their name and process group.
	Programs []ProgramUsage
}

// DiskUsage is what a whole disk did since the boot: not of partitions, loop and
// memory devices, and those made of others. A sector is 512 bytes.
type DiskUsage struct {
	Name                        string
	Reads, Writes, Flushes      int64 // completed; flushes are not known before Linux 5.5
	ReadSectors, WrittenSectors int64
	ReadSeconds, WriteSeconds   float64 // that those took, from being asked for, all together
	FlushSeconds                float64
	InFlight                    int64   // now
	BusySeconds, QueueSeconds   float64 // with anything in flight, and that times how many
}

// ProgramUsage is what processes of one name and process group used between two
// samples.
type ProgramUsage struct {
	Name       string
	Group      int     // process group
	Processors float64 // in use on average; 1 is one of them
	Seconds    float64 // over which that is the average
}

// Add adds what another disk did. What is not known of one is not known of both;
// the name stays, and so does Busy, which is of one disk alone.
func (d *DiskUsage) Add(o *DiskUsage) {
	for _, c := range []struct {
		to *int64
		n  int64
	}{{&d.Reads, o.Reads}, {&d.Writes, o.Writes}, {&d.Flushes, o.Flushes}, {&d.ReadSectors, o.ReadSectors}, {&d.WrittenSectors, o.WrittenSectors}, {&d.InFlight, o.InFlight}} {
		*c.to = sumKnown(*c.to, c.n)
	}
	d.ReadSeconds, d.WriteSeconds = sumKnown(d.ReadSeconds, o.ReadSeconds), sumKnown(d.WriteSeconds, o.WriteSeconds)
	d.FlushSeconds, d.QueueSeconds = sumKnown(d.FlushSeconds, o.FlushSeconds), sumKnown(d.QueueSeconds, o.QueueSeconds)
	d.BusySeconds = -1
}

// sumKnown is -1 if one of them is not known.
func sumKnown[T int64 | float64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

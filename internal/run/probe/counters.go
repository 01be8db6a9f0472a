package probe

// SystemCPU is the machine's processor time since boot by kind (proc_stat(5)). Each field is the
// sum for all processors, in seconds.
type SystemCPU struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ float64
	// Steal is the CPU time that the hypervisor withheld.
	Steal float64
}

// Sub returns the difference between a and an earlier reading b.
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

// Total returns the sum of all times, including idle and stolen time.
func (a SystemCPU) Total() float64 {
	return a.User + a.Nice + a.System + a.Idle + a.IOWait + a.IRQ + a.SoftIRQ + a.Steal
}

// Programs returns the time that programs used: everything except idle time, interrupts and stolen
// time.
func (a SystemCPU) Programs() float64 { return a.User + a.Nice + a.System }

// Busy returns the time in which the processors were not idle, without stolen time.
func (a SystemCPU) Busy() float64 { return a.Total() - a.Idle - a.IOWait - a.Steal }

// Sched contains the scheduler's counters for a thread (sched-stats in the kernel's documentation).
type Sched struct {
	CPU      int64 // time on a processor, in nanoseconds
	RunDelay int64 // time in which the thread was ready but waited for a processor, in nanoseconds
	Slices   int64 // number of turns on a processor
}

// Sub returns the difference between a and an earlier reading b.
func (a Sched) Sub(b Sched) Sched {
	return Sched{CPU: a.CPU - b.CPU, RunDelay: a.RunDelay - b.RunDelay, Slices: a.Slices - b.Slices}
}

// ProcessUsage is the resource usage of a process. Counters start with the process. A negative
// number is unknown.
type ProcessUsage struct {
	PID int
	// OK is false for a process that has exited. All other fields are then zero.
	OK bool
	// Started is the time at which the process was started, in seconds since boot. It distinguishes
	// processes with the same ID.
	Started                    float64
	UserSeconds, SystemSeconds float64 // CPU time
	RSS                        int64   // bytes
	Threads                    int
	FDs                        int   // number of open file descriptors
	FDLimit                    int64 // limit of open file descriptors
	MinorFaults, MajorFaults   int64 // page faults that did not and did need a read from disk
	// Number of context switches of all running threads; the kernel forgets the switches of threads
	// that have exited. They are unknown in samples in which reading them would cost too much.
	Voluntary, Involuntary int64
	// ReadBytes and WriteBytes are the numbers of bytes read from and written to disks.
	ReadBytes, WriteBytes int64
	// SendQueue and ReceiveQueue are the numbers of bytes in the buffers of the process's TCP
	// connections: bytes that are unsent or unacknowledged, and bytes that were received but not
	// read.
	SendQueue, ReceiveQueue int64
	// Bytes and retransmitted segments on the process's TCP connections since sampling began.
	// Traffic between the last sample of a connection and its end is missing.
	ReceivedBytes, SentBytes, Retransmitted int64
	// Group is how long the process's control group was throttled or stalled.
	Group GroupUsage
}

// GroupUsage is how long a control group and its parents were throttled or stalled, in seconds.
// Negative values are unknown.
type GroupUsage struct {
	Throttled float64 // time in which limits on processor time throttled the groups
	Pressure          // stalls of the group itself, if it uses version 2
}

// Pressure is how long tasks were stalled because a resource was busy, in seconds since boot or
// since their control group was created. Negative values are unknown. In a field with Some at least
// one task was stalled; in a field with Full all active tasks were stalled (PSI in the kernel's
// documentation).
type Pressure struct {
	CPUSome, IOSome, IOFull, MemorySome, MemoryFull float64
}

var (
	unknownPressure = Pressure{-1, -1, -1, -1, -1}
	unknownGroup    = GroupUsage{-1, unknownPressure}
)

// MachineUsage is the resource usage of the whole machine. Counters start at boot. A negative
// number is unknown.
type MachineUsage struct {
	Load1 float64 // load average over one minute
	CPU   SystemCPU
	Cores []float64 // busy time of each online core, in seconds
	Pressure
	Disks []DiskUsage
	// Traffic on all network interfaces except the loopback interface, and, separately, on the
	// loopback interface, which counts each packet as both received and sent.
	ReceivedBytes, ReceivedPackets int64
	SentBytes, SentPackets         int64
	LoopbackBytes, LoopbackPackets int64 // only sent, not received
	// TCP on all interfaces including loopback: the number of segments sent, of retransmitted
	// segments, and of connections that were dropped because the listening program had not accepted
	// earlier ones; then the current number of connections and the bytes in their buffers.
	SentSegments, RetransmittedSegments, ListenDrops int64
	TCPSockets, TCPBytes                             int64
	// Programs contains the processes that used most processor time since the previous sample, by
	// name and process group. It is nil if there was no recent sample.
	Programs []ProgramUsage
}

// DiskUsage is the usage of a whole disk. Counters start at boot. Partitions, loop and memory
// devices, and devices that are made of other devices are not included. A sector has 512 bytes.
type DiskUsage struct {
	Name                        string
	Reads, Writes, Flushes      int64 // number of completed requests; Linux before 5.5 does not count flushes
	ReadSectors, WrittenSectors int64
	ReadSeconds, WriteSeconds   float64 // sum of the durations of all requests
	FlushSeconds                float64
	InFlight                    int64   // number of requests in flight now
	BusySeconds, QueueSeconds   float64 // time with requests in flight; the same weighted by the number of requests in flight
}

// ProgramUsage is the usage of all processes with the same name and process group between two
// samples.
type ProgramUsage struct {
	Name       string
	Group      int     // process group
	Processors float64 // mean number of processors in use
	Seconds    float64 // time between the samples
}

// Add adds another disk's usage. A number that is unknown for one of the disks is unknown in the
// sum. Name is not changed, and BusySeconds becomes unknown, because it is defined only for a
// single disk.
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

// sumKnown returns a+b, or -1 if a or b is unknown.
func sumKnown[T int64 | float64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

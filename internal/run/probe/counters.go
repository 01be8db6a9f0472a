package probe

// SystemCPU is the machine's processor time since its boot, in seconds of one core, by kind
// (proc_stat(5)).
type SystemCPU struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ float64
	// Steal is the CPU time that the hypervisor withheld.
	Steal float64
}

// Sub returns the time since b.
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

// Total returns all time, including idle and stolen time.
func (a SystemCPU) Total() float64 {
	return a.User + a.Nice + a.System + a.Idle + a.IOWait + a.IRQ + a.SoftIRQ + a.Steal
}

// Programs returns the time used by programs: everything except idle time, interrupts and
// stolen time.
func (a SystemCPU) Programs() float64 { return a.User + a.Nice + a.System }

// Busy returns the time in which the machine was not idle.
func (a SystemCPU) Busy() float64 { return a.Total() - a.Idle - a.IOWait - a.Steal }

// Sched holds the scheduler's counters of a thread (sched-stats in the kernel's
// documentation).
type Sched struct {
	CPU      int64 // on a processor, in nanoseconds
	RunDelay int64 // ready and waiting for a processor, in nanoseconds
	Slices   int64 // number of turns on a processor
}

// Sub returns the difference since b.
func (a Sched) Sub(b Sched) Sched {
	return Sched{CPU: a.CPU - b.CPU, RunDelay: a.RunDelay - b.RunDelay, Slices: a.Slices - b.Slices}
}

// ProcessUsage is the usage of a process since its start and at present. A negative number
// is unknown.
type ProcessUsage struct {
	PID int
	// OK is false for a process that has ended; the other fields are then zero.
	OK bool
	// Started is the process's start in seconds after the boot. It distinguishes processes
	// with the same number.
	Started                    float64
	UserSeconds, SystemSeconds float64 // CPU time
	RSS                        int64   // bytes
	Threads                    int
	FDs                        int   // open file descriptors
	FDLimit                    int64 // limit of open file descriptors
	MinorFaults, MajorFaults   int64 // page faults without and with reading a disk
	// Context switches of all running threads; the kernel forgets those of ended threads.
	// Unknown in samples in which reading them would cost too much.
	Voluntary, Involuntary int64
	// ReadBytes and WriteBytes count the bytes read from and written to disks.
	ReadBytes, WriteBytes int64
	// SendQueue and ReceiveQueue are the bytes in the buffers of its TCP connections:
	// unacknowledged or unsent, and received but not read.
	SendQueue, ReceiveQueue int64
	// Bytes and retransmitted segments of its TCP connections since sampling began, except
	// those of a closed connection's last second.
	ReceivedBytes, SentBytes, Retransmitted int64
	// Group is how long its control group was held back or waited.
	Group GroupUsage
}

// GroupUsage is how long a control group and those above it were held back or waited, in
// seconds; negative: unknown.
type GroupUsage struct {
	Throttled float64 // by limits on processor time
	Pressure          // of the group itself, if it is one of version 2
}

// Pressure is how long tasks were stalled for lack of a resource, in seconds since the boot
// or since their control group was made; negative: unknown. Some is the time in which at
// least one task was stalled, Full the time in which all active tasks were (PSI in the
// kernel's documentation).
type Pressure struct {
	CPUSome, IOSome, IOFull, MemorySome, MemoryFull float64
}

var (
	unknownPressure = Pressure{-1, -1, -1, -1, -1}
	unknownGroup    = GroupUsage{-1, unknownPressure}
)

// MachineUsage is the usage of the whole machine since its boot. A negative number is
// unknown.
type MachineUsage struct {
	Load1 float64 // load average of one minute
	CPU   SystemCPU
	Cores []float64 // busy processor time of each online core, in seconds
	Pressure
	Disks []DiskUsage
	// Network interfaces except the loopback interface, and separately the loopback
	// interface, which counts each packet as both received and sent.
	ReceivedBytes, ReceivedPackets int64
	SentBytes, SentPackets         int64
	LoopbackBytes, LoopbackPackets int64 // sent
	// TCP, including the loopback interface: all segments, retransmitted ones, and
	// connections dropped because the listening program did not accept earlier ones; then
	// the present connections and the bytes in their buffers.
	SentSegments, RetransmittedSegments, ListenDrops int64
	TCPSockets, TCPBytes                             int64
	// Programs are the processes that used most since the previous sample, by name and
	// process group. It is nil if there was no recent sample.
	Programs []ProgramUsage
}

// DiskUsage is the usage of a whole disk since the boot. Partitions, loop and memory
// devices, and devices made of others are not included. A sector has 512 bytes.
type DiskUsage struct {
	Name                        string
	Reads, Writes, Flushes      int64 // completed; Linux before 5.5 does not count flushes
	ReadSectors, WrittenSectors int64
	ReadSeconds, WriteSeconds   float64 // sum of the requests' times since they were issued
	FlushSeconds                float64
	InFlight                    int64   // now
	BusySeconds, QueueSeconds   float64 // with anything in flight; and the same times the number in flight
}

// ProgramUsage is the usage of the processes with the same name and process group between
// two samples.
type ProgramUsage struct {
	Name       string
	Group      int     // process group
	Processors float64 // average number of processors in use
	Seconds    float64 // length of the time between the samples
}

// Add adds another disk's usage. A number that is unknown for one disk is unknown in the
// sum. Name keeps its value, and Busy becomes unknown, because it is defined only for a
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

// sumKnown returns -1 if a or b is unknown.
func sumKnown[T int64 | float64](a, b T) T {
	if a < 0 || b < 0 {
		return -1
	}
	return a + b
}

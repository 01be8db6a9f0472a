package probe

// SystemCPU is the machine's processor time since boot, divided by kind (proc_stat(5)). Each field
// is the sum over all processors, in seconds.
type SystemCPU struct {
	User, Nice, System, Idle, IOWait, IRQ, SoftIRQ float64
	// Steal is the CPU time that the hypervisor withheld.
	Steal float64
}

// Sub returns the change since the earlier reading b.
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

// Busy returns the time in which the processors were not idle. It does not include stolen time.
func (a SystemCPU) Busy() float64 { return a.Total() - a.Idle - a.IOWait - a.Steal }

// Sched contains the scheduler's counters for a thread (sched-stats in the kernel's documentation).
type Sched struct {
	CPU      int64 // time on a processor, in nanoseconds
	RunDelay int64 // time in which the thread was ready but waited for a processor, in nanoseconds
	Slices   int64 // number of turns on a processor
}

// Sub returns the change since the earlier reading b.
func (a Sched) Sub(b Sched) Sched {
	return Sched{CPU: a.CPU - b.CPU, RunDelay: a.RunDelay - b.RunDelay, Slices: a.Slices - b.Slices}
}

// ProcessUsage is the resource usage of a process. Counters are 0 when the process starts. A
// negative number means that the value is unknown.
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
	FDs                        int   // number of open files
	FDLimit                    int64 // maximum number of open files
	MinorFaults, MajorFaults   int64 // number of page faults without and with a read from disk
	// Voluntary and Involuntary are the numbers of context switches of all running threads. The
	// kernel forgets the switches of threads that have exited. The numbers are unknown in samples
	// in which reading them would cost too much.
	Voluntary, Involuntary int64
	// ReadBytes and WriteBytes are the numbers of bytes read from and written to disks.
	ReadBytes, WriteBytes int64
	// SendQueue and ReceiveQueue are the numbers of bytes in the buffers of the process's TCP
	// connections. SendQueue counts the bytes that are not yet sent or not yet acknowledged.
	// ReceiveQueue counts the bytes that were received but not yet read.
	SendQueue, ReceiveQueue int64
	// ReceivedBytes, SentBytes and Retransmitted are the numbers of bytes and of retransmitted
	// segments on the process's TCP connections since sampling began. Traffic on a connection after
	// the connection's last sample is not counted.
	ReceivedBytes, SentBytes, Retransmitted int64
	// Group contains the times for which the process's control group was throttled or stalled.
	Group GroupUsage
}

// GroupUsage contains the times, in seconds, for which a control group and its parents were
// throttled or stalled. A negative value means that the time is unknown.
type GroupUsage struct {
	Throttled float64 // time for which limits on processor time throttled the group or its parents
	Pressure          // stalls of the group itself, if the group uses version 2
}

// Pressure contains the times, in seconds, for which tasks were stalled because a resource was
// busy. The times are counted since boot, or since the tasks' control group was created. A negative
// value means that the time is unknown. The fields with Some in their names contain the time in
// which at least one task was stalled. The fields with Full in their names contain the time in
// which all active tasks were stalled. See PSI in the kernel's documentation.
type Pressure struct {
	CPUSome, IOSome, IOFull, MemorySome, MemoryFull float64
}

var (
	unknownPressure = Pressure{-1, -1, -1, -1, -1}
	unknownGroup    = GroupUsage{-1, unknownPressure}
)

// MachineUsage is the resource usage of the whole machine. Counters are 0 when the machine boots. A
// negative number means that the value is unknown.
type MachineUsage struct {
	Load1 float64 // load average over one minute
	CPU   SystemCPU
	Cores []float64 // busy time of each online core, in seconds
	Pressure
	Disks []DiskUsage
	// The fields from ReceivedBytes to SentPackets count the traffic on all network interfaces
	// except the loopback interface. LoopbackBytes and LoopbackPackets count the traffic on the
	// loopback interface, which counts each packet as both received and sent.
	ReceivedBytes, ReceivedPackets int64
	SentBytes, SentPackets         int64
	LoopbackBytes, LoopbackPackets int64 // only sent, not received
	// The following counters include TCP on all interfaces, including the loopback interface.
	// ListenDrops is the number of connections that were dropped because the listening program had
	// not accepted earlier connections in time.
	SentSegments, RetransmittedSegments, ListenDrops int64
	TCPSockets, TCPBytes                             int64 // current number of connections, and of bytes in their buffers
	// Programs contains the processes that used the most processor time since the previous sample,
	// grouped by name and process group. It is nil if the previous sample is missing or too old.
	Programs []ProgramUsage
}

// DiskUsage is the usage of a whole disk. Counters are 0 when the machine boots. Partitions, loop
// and memory devices, and devices that consist of other devices are not included. A sector has 512
// bytes.
type DiskUsage struct {
	Name                        string
	Reads, Writes, Flushes      int64 // number of completed requests; Linux before 5.5 does not count flushes
	ReadSectors, WrittenSectors int64
	ReadSeconds, WriteSeconds   float64 // sum of the durations of all requests
	FlushSeconds                float64
	InFlight                    int64   // number of requests that are currently in flight
	BusySeconds, QueueSeconds   float64 // time with requests in flight; the same time, weighted by the number of requests in flight
}

// ProgramUsage is the usage of all processes that have the same name and process group, between two
// samples.
type ProgramUsage struct {
	Name       string
	Group      int     // process group
	Processors float64 // mean number of processors in use
	Seconds    float64 // time between the samples
}

// Add adds another disk's usage to d. If a number is unknown for one of the disks, the sum is
// unknown. Add does not change Name. It sets BusySeconds to unknown, because this time is defined
// only for a single disk.
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

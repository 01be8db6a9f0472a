package record

import (
	"math"
	"path/filepath"
	"strings"
	"time"
)

// Names of rows in machines.csv that do not describe a member. A row of a disk, a program or a
// network has a prefix, followed by the name of the disk, program or network. If the disk, program
// or network does not belong to the generator's machine, " of " and the name of its machine follow.
const (
	GeneratorName = "generator" // the process of quorumbench
	MachineName   = "machine"   // the generator's machine
	diskPrefix    = "disk "
	programPrefix = "program "
	networkPrefix = "network "
)

// RowKind is the kind of thing that a row of machines.csv describes.
type RowKind int

// The kinds of rows.
const (
	MemberRow       RowKind = iota // a process of a member
	GeneratorRow                   // a quorumbench process: the controller, or a load generator on another machine
	WholeMachineRow                // a whole machine
	DiskRow                        // a disk of a machine
	ProgramRow                     // all other processes that have the same name
	NetworkRow                     // a network that hosts on the machine use instead of the machine's own network
)

// OtherMachine returns the name of the row for the machine of a host. The row of the generator's
// machine has the name MachineName instead.
func OtherMachine(host string) string { return MachineName + " " + host }

// OtherGenerator returns the name of the row for a quorumbench process that generates load on
// another host.
func OtherGenerator(host string) string { return GeneratorName + " " + host }

// PartName returns the name of the row for a disk, a program or a network. machine is the name of
// the row for its machine.
func PartName(kind RowKind, part, machine string) string {
	part = map[RowKind]string{DiskRow: diskPrefix, ProgramRow: programPrefix, NetworkRow: networkPrefix}[kind] + part
	if host, other := strings.CutPrefix(machine, OtherMachine("")); other {
		part += " of " + host
	}
	return part
}

// GeneratorProgram returns the name of the program that a row describes. ok is false if the row
// does not describe a program, or if the program ran on another machine than the generator.
func GeneratorProgram(name string) (program string, ok bool) {
	program, ok = strings.CutPrefix(name, programPrefix)
	return program, ok && !strings.Contains(program, " of ")
}

// KindOf returns the kind of rows that have the given name.
func KindOf(name string) RowKind {
	switch {
	case name == GeneratorName, strings.HasPrefix(name, OtherGenerator("")):
		return GeneratorRow
	case name == MachineName, strings.HasPrefix(name, OtherMachine("")):
		return WholeMachineRow
	case strings.HasPrefix(name, diskPrefix):
		return DiskRow
	case strings.HasPrefix(name, programPrefix):
		return ProgramRow
	case strings.HasPrefix(name, networkPrefix):
		return NetworkRow
	}
	return MemberRow
}

// MachineRow is a row of machines.csv. It states how much of each resource a process, a machine or
// a part of a machine has used up to a certain time. Figures that are not known are NaN. Figures
// without the remark "now" are counters. They count from the start of the process, from the boot of
// the machine, or from the start of sampling. Durations are in seconds.
type MachineRow struct {
	Time         time.Time
	Name         string
	PID          float64
	ProcessStart float64 // since the boot
	Machine      string  // name of the row for its machine
	Network      string  // name of the row for the network that a process uses; empty if this is the machine's own network

	User, System, Steal           float64   // CPU time
	Cores                         []float64 // busy time of each CPU
	Processors, ProcessorsSeconds float64   // for a program: mean number of CPUs used during the last ProcessorsSeconds seconds before Time

	RSS                      float64 // bytes, now
	MinorFaults, MajorFaults float64
	Threads, FDs, FDLimit    float64 // now
	// Switches are context switches.
	VoluntarySwitches, InvoluntarySwitches float64

	ReadBytes, WriteBytes float64 // for a process: bytes that were read from disk and written to disk
	FolderBytes           float64 // for a member: size of its data folder, now
	Load1                 float64

	Stalls
	DiskUse
	NetworkUse

	// Collecting is the CPU time that was spent on collecting all samples on the machine.
	Collecting float64
}

// Stalls holds two kinds of times. Throttled is the time for which CPU limits stopped a control
// group. The others are the times for which tasks of the machine, or of a process's control group,
// were stalled: some of the tasks, or all of them (Full).
type Stalls struct {
	Throttled, CPUStalled, IOStalled, IOFull, MemoryStalled, MemoryFull float64
}

// DiskUse holds the work of one disk. For a machine, it holds the sum over all disks of the
// machine. Times are summed over requests, with two exceptions. Busy is the time with at least one
// request in flight. Queue is the number of requests in flight, integrated over time.
type DiskUse struct {
	DiskReads, DiskWrites, DiskFlushes          float64
	ReadSectors, WrittenSectors                 float64
	ReadTime, WriteTime, FlushTime, Busy, Queue float64
	InFlight                                    float64 // now
}

// NetworkUse holds the traffic on a machine's network interfaces. Loopback and LoopbackPackets are
// the traffic on the loopback interface, and the other fields exclude it. For a process, NetworkUse
// holds the bytes on its TCP connections.
type NetworkUse struct {
	Received, ReceivedPackets, Sent, SentPackets, Loopback, LoopbackPackets float64
	// The first three are TCP counters: segments on all interfaces, retransmitted segments (for a
	// process, only its own), and connections that were not accepted in time. The other fields are
	// not counters, but current values ("now"). Sockets is the number of connections, and
	// SocketBytes is the number of bytes in their buffers. For a process, SendQueue and
	// ReceiveQueue are the bytes that wait to be sent and to be read.
	Segments, Retransmitted, ListenDrops, Sockets, SocketBytes, SendQueue, ReceiveQueue float64
}

// NewMachineRow returns a row in which all figures are NaN.
func NewMachineRow(at time.Time, name string) *MachineRow {
	r := &MachineRow{}
	for _, c := range r.columns() {
		if x, ok := c.target.(*float64); ok {
			*x = math.NaN()
		}
	}
	r.Time, r.Name = at, name
	return r
}

// columns returns the columns of machines.csv.
func (r *MachineRow) columns() []column {
	return []column{
		{"unix_seconds", (*unixTime)(&r.Time)}, {"name", &r.Name}, {"pid", &r.PID},
		{"cpu_user_seconds", &r.User}, {"cpu_system_seconds", &r.System}, {"cpu_steal_seconds", &r.Steal},
		{"rss_bytes", &r.RSS}, {"threads", &r.Threads}, {"fds", &r.FDs},
		{"voluntary_switches", &r.VoluntarySwitches}, {"involuntary_switches", &r.InvoluntarySwitches},
		{"read_bytes", &r.ReadBytes}, {"write_bytes", &r.WriteBytes}, {"load1", &r.Load1},
		{"disk_reads", &r.DiskReads}, {"disk_writes", &r.DiskWrites},
		{"disk_read_sectors", &r.ReadSectors}, {"disk_written_sectors", &r.WrittenSectors},
		{"received_bytes", &r.Received}, {"received_packets", &r.ReceivedPackets},
		{"sent_bytes", &r.Sent}, {"sent_packets", &r.SentPackets},
		{"loopback_bytes", &r.Loopback}, {"loopback_packets", &r.LoopbackPackets},
		// The first version of the file has only the columns above.
		{"machine", &r.Machine}, {"started_seconds", &r.ProcessStart}, {"core_busy_seconds", &r.Cores}, {"processors", &r.Processors},
		{"minor_faults", &r.MinorFaults}, {"major_faults", &r.MajorFaults}, {"fd_limit", &r.FDLimit},
		{"throttled_seconds", &r.Throttled}, {"cpu_stalled_seconds", &r.CPUStalled},
		{"io_stalled_seconds", &r.IOStalled}, {"io_full_stalled_seconds", &r.IOFull},
		{"memory_stalled_seconds", &r.MemoryStalled}, {"memory_full_stalled_seconds", &r.MemoryFull},
		{"folder_bytes", &r.FolderBytes},
		{"disk_flushes", &r.DiskFlushes}, {"disk_read_seconds", &r.ReadTime}, {"disk_write_seconds", &r.WriteTime},
		{"disk_flush_seconds", &r.FlushTime}, {"disk_busy_seconds", &r.Busy}, {"disk_queue_seconds", &r.Queue},
		{"disk_in_flight", &r.InFlight},
		{"sent_segments", &r.Segments}, {"retransmitted_segments", &r.Retransmitted}, {"listen_drops", &r.ListenDrops},
		{"tcp_sockets", &r.Sockets}, {"tcp_buffer_bytes", &r.SocketBytes},
		{"send_queue_bytes", &r.SendQueue}, {"receive_queue_bytes", &r.ReceiveQueue},
		{"sampling_seconds", &r.Collecting}, {"covered_seconds", &r.ProcessorsSeconds}, {"network", &r.Network},
	}
}

// Kind returns the kind of the row.
func (r *MachineRow) Kind() RowKind { return KindOf(r.Name) }

// IsMember reports whether the row describes a member's process.
func (r *MachineRow) IsMember() bool { return r.Kind() == MemberRow }

// Since returns the start of the period for which Processors of a program is the mean.
func (r *MachineRow) Since() time.Time {
	seconds := min(firstKnown(r.ProcessorsSeconds, 1), 1e6) // assume one second if the file has no value
	return r.Time.Add(-time.Duration(1e9 * seconds))
}

// CPU returns the CPU time, user and system.
func (r *MachineRow) CPU() float64 { return r.User + r.System }

// sector is the size, in bytes, of the unit in which the system counts disk traffic.
const sector = 512

// DiskRead returns the bytes that a process or a machine has read from disk.
func (r *MachineRow) DiskRead() float64 { return firstKnown(r.ReadBytes, sector*r.ReadSectors) }

// DiskWritten returns the bytes that a process or a machine has written to disk.
func (r *MachineRow) DiskWritten() float64 { return firstKnown(r.WriteBytes, sector*r.WrittenSectors) }

// firstKnown returns a, or b if a is NaN.
func firstKnown(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return a
}

// maxSampleGap is the maximum time between two samples. If the time is longer, a sample between
// them is missing.
const maxSampleGap = 2500 * time.Millisecond

// Continues reports whether the difference between the counters of r and of an earlier row with the
// same name is the usage between these rows. This is true if both rows describe the same process,
// and if its counters were not reset.
func (r *MachineRow) Continues(before *MachineRow) bool {
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) || math.IsNaN(b) }
	return r.Time.After(before.Time) && same(r.PID, before.PID) && same(r.ProcessStart, before.ProcessStart) && !(r.CPU() < before.CPU())
}

// Follows reports whether r continues the row `before` and no sample is missing between them.
func (r *MachineRow) Follows(before *MachineRow) bool {
	return r.Continues(before) && r.Time.Sub(before.Time) <= maxSampleGap
}

// Machines appends rows to machines.csv. It creates the file when it is first called.
func (t *TrialWriter) Machines(rows []*MachineRow) error {
	if t.w.observer.Machines != nil {
		t.w.observer.Machines(rows)
	}
	return t.withLock(func() (err error) {
		var lines [][]string
		if t.machines == nil {
			if t.machines, err = t.w.open.lines(filepath.Join(t.dir, machinesFile)); err != nil {
				return err
			}
			lines = append(lines, names((&MachineRow{}).columns()))
		}
		for _, r := range rows {
			lines = append(lines, cells(r.columns()))
		}
		return writeRows(t.machines, lines...)
	})
}

// OpenMachines reads a trial's machines.csv. It returns no rows if nothing was sampled.
func OpenMachines(dir, folder string) ([]MachineRow, error) {
	return machineRows.open(dir, folder)
}

// readMachines parses machines.csv, which may come from an untrusted source. If a column is
// missing, for example because another version wrote the file, its figure is not known.
func readMachines(b []byte) (rows []MachineRow, err error) {
	var row MachineRow
	columns := row.columns()
	blank := *NewMachineRow(time.Time{}, "")
	err = eachCSVRow(b, "file", []string{"unix_seconds", "name", "cpu_user_seconds", "cpu_system_seconds", "rss_bytes"}, func(r *csvRow) {
		row = blank
		r.read(columns)
		rows = append(roomFor(rows, b), row)
	})
	if err != nil {
		return nil, err
	}
	return rows, nil
}

package record

import (
	"math"
	"path/filepath"
	"strings"
	"time"
)

// Names in machines.csv that are not members' names. A prefix is followed by the name of a
// disk, a program or a host and, on another machine than the generator's, by " of " and
// that machine's name.
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
	GeneratorRow                   // a process of quorumbench that conducts the run, or generates load on another machine
	WholeMachineRow                // a whole machine
	DiskRow                        // a disk of a machine
	ProgramRow                     // other processes that share a name
	NetworkRow                     // the network of hosts of a machine that do not use the machine's own network
)

// OtherMachine returns the name of a machine that is not the generator's.
func OtherMachine(host string) string { return MachineName + " " + host }

// OtherGenerator returns the name of a quorumbench process that generates load on another
// host.
func OtherGenerator(host string) string { return GeneratorName + " " + host }

// PartName returns the name of a disk, program or network of a machine, whose own name is
// as in machines.csv.
func PartName(kind RowKind, part, machine string) string {
	part = map[RowKind]string{DiskRow: diskPrefix, ProgramRow: programPrefix, NetworkRow: networkPrefix}[kind] + part
	if host, other := strings.CutPrefix(machine, OtherMachine("")); other {
		part += " of " + host
	}
	return part
}

// GeneratorProgram returns the program of the generator's machine that a row with that name is
// about.
func GeneratorProgram(name string) (program string, ok bool) {
	program, ok = strings.CutPrefix(name, programPrefix)
	return program, ok && !strings.Contains(program, " of ")
}

// KindOf returns the kind of rows with a name.
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

// MachineRow is a row of machines.csv: the resources that a process, a machine or a part of it had
// used by a time, or held then. Unknown figures are NaN. Figures are counters since the start of
// the process, the boot of the machine, or the start of sampling, unless they are marked "now".
// Lengths of time are in seconds.
type MachineRow struct {
	Time    time.Time
	Name    string
	PID     float64
	Started float64 // since the boot
	Machine string  // name of the row of its machine
	Network string  // name of the row of a process's network; empty for its machine's own

	User, System, Steal float64   // CPU time
	Cores               []float64 // busy time of each CPU
	Processors, Covered float64   // of a program: average CPUs used, and the seconds before Time that the average covers

	RSS                      float64 // bytes, now
	MinorFaults, MajorFaults float64
	Threads, FDs, FDLimit    float64 // now
	// Switches are context switches.
	VoluntarySwitches, InvoluntarySwitches float64

	ReadBytes, WriteBytes float64 // of a process: bytes that reached the disk
	FolderBytes           float64 // of a member's data folder, now
	Load1                 float64

	Stalls
	DiskUse
	NetworkUse

	// Collecting is the CPU time of collecting all this on the machine.
	Collecting float64
}

// Stalls holds for how long CPU limits held back a control group (Throttled), and for
// how long some or all (Full) tasks of the machine, or of a process's control group, were
// stalled.
type Stalls struct {
	Throttled, CPUStalled, IOStalled, IOFull, MemoryStalled, MemoryFull float64
}

// DiskUse holds the work of disks; for a machine, of all its disks together. Times are
// summed over requests, except Busy, the time with any request in flight, and Queue, the
// integral of the requests in flight over time.
type DiskUse struct {
	DiskReads, DiskWrites, DiskFlushes          float64
	ReadSectors, WrittenSectors                 float64
	ReadTime, WriteTime, FlushTime, Busy, Queue float64
	InFlight                                    float64 // now
}

// NetworkUse holds the traffic of a machine's network without the loopback interface, and
// that of the loopback interface; for a process, the bytes of its TCP connections.
type NetworkUse struct {
	Received, ReceivedPackets, Sent, SentPackets, Loopback, LoopbackPackets float64
	// TCP: segments on all interfaces, retransmitted ones (of a process: its own), and
	// connections that were not accepted in time; then, as of now, the number of
	// connections and the bytes in their buffers, for a process sent and received.
	Segments, Retransmitted, ListenDrops, Sockets, SocketBytes, SendQueue, ReceiveQueue float64
}

// NewMachineRow returns a row in which all figures are unknown.
func NewMachineRow(at time.Time, name string) *MachineRow {
	r := &MachineRow{}
	for _, c := range r.columns() {
		if x, ok := c.at.(*float64); ok {
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
		// The columns of the first version end here.
		{"machine", &r.Machine}, {"started_seconds", &r.Started}, {"core_busy_seconds", &r.Cores}, {"processors", &r.Processors},
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
		{"sampling_seconds", &r.Collecting}, {"covered_seconds", &r.Covered}, {"network", &r.Network},
	}
}

// Kind returns the kind of the row.
func (r *MachineRow) Kind() RowKind { return KindOf(r.Name) }

// Member reports whether the row is about a member's process.
func (r *MachineRow) Member() bool { return r.Kind() == MemberRow }

// Since returns the beginning of the time over which a program's Processors are averaged.
func (r *MachineRow) Since() time.Time {
	seconds := min(firstOf(r.Covered, 1), 1e6) // one second if the file has none
	return r.Time.Add(-time.Duration(1e9 * seconds))
}

// CPU returns the CPU time, user and system.
func (r *MachineRow) CPU() float64 { return r.User + r.System }

// sector is the unit, in bytes, in which the system counts disk traffic.
const sector = 512

// DiskRead returns the bytes that a process or a machine has read from disk.
func (r *MachineRow) DiskRead() float64 { return firstOf(r.ReadBytes, sector*r.ReadSectors) }

// DiskWritten returns the bytes that a process or a machine has written to disk.
func (r *MachineRow) DiskWritten() float64 { return firstOf(r.WriteBytes, sector*r.WrittenSectors) }

// firstOf returns a, or b if a is NaN.
func firstOf(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return a
}

// longestApart is the longest gap between two samples for which usage by the second is
// known.
const longestApart = 2500 * time.Millisecond

// Continues reports whether the difference between the counters of two rows of one name, of
// which before is the earlier, is the usage between them: it is the same process, and its
// counters were not reset.
func (r *MachineRow) Continues(before *MachineRow) bool {
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) || math.IsNaN(b) }
	return r.Time.After(before.Time) && same(r.PID, before.PID) && same(r.Started, before.Started) && !(r.CPU() < before.CPU())
}

// Follows reports whether the row continues another one without a missing sample.
func (r *MachineRow) Follows(before *MachineRow) bool {
	return r.Continues(before) && r.Time.Sub(before.Time) <= longestApart
}

// Machines appends rows to machines.csv, which it creates with the first rows.
func (t *TrialWriter) Machines(rows []*MachineRow) error {
	if t.w.observer.Machines != nil {
		t.w.observer.Machines(rows)
	}
	return t.do(func() (err error) {
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

// OpenMachines reads a trial's machines.csv; it returns no rows if nothing was sampled.
func OpenMachines(dir, folder string) ([]MachineRow, error) {
	return readTrialFile(dir, folder, machinesFile, readMachines)
}

// readMachines parses the file, which may come from an untrusted source. Columns that it
// lacks, as in other versions, stay unknown.
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

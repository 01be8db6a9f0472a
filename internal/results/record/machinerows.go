package record

import (
	"math"
	"path/filepath"
	"strings"
	"time"
)

// The names of machines.csv that are no member's. The last three are followed by the
// name of a disk, a program or a host, and then, of another machine than the generator's,
// by " of " and that machine's.
const (
	GeneratorName = "generator" // our own process
	MachineName   = "machine"   // the whole machine of the generator
	diskPrefix    = "disk "
	programPrefix = "program "
	networkPrefix = "network "
)

// RowKind says what a row of machines.csv is about.
type RowKind int

// The kinds of rows.
const (
	MemberRow    RowKind = iota // one of a member's processes
	GeneratorRow                // a process of ours: the one that conducts the run, or one that generates load elsewhere
	WholeRow                    // a whole machine
	DiskRow                     // one of its disks
	ProgramRow                  // other processes of one name
	NetworkRow                  // the network of hosts of a machine that have another one than the machine's own
)

// OtherMachine is the name of a whole machine that is not the generator's.
func OtherMachine(host string) string { return MachineName + " " + host }

// OtherGenerator is the name of our process on another host, which generates load.
func OtherGenerator(host string) string { return GeneratorName + " " + host }

// PartName is the name of a disk, a program or a network of a machine, which is named as in
// machines.csv.
func PartName(kind RowKind, part, machine string) string {
	part = map[RowKind]string{DiskRow: diskPrefix, ProgramRow: programPrefix, NetworkRow: networkPrefix}[kind] + part
	if host, other := strings.CutPrefix(machine, OtherMachine("")); other {
		part += " of " + host
	}
	return part
}

// ProgramHere is the program of the generator's machine that a row is about.
func ProgramHere(name string) (program string, ok bool) {
	program, ok = strings.CutPrefix(name, programPrefix)
	return program, ok && !strings.Contains(program, " of ")
}

// KindOf is what a name of machines.csv is of.
func KindOf(name string) RowKind {
	switch {
	case name == GeneratorName, strings.HasPrefix(name, OtherGenerator("")):
		return GeneratorRow
	case name == MachineName, strings.HasPrefix(name, OtherMachine("")):
		return WholeRow
	case strings.HasPrefix(name, diskPrefix):
		return DiskRow
	case strings.HasPrefix(name, programPrefix):
		return ProgramRow
	case strings.HasPrefix(name, networkPrefix):
		return NetworkRow
	}
	return MemberRow
}

// MachineRow is a row of machines.csv: what a process, a machine or a part of it had
// used at a time, and what it held. What is not known is NaN. Unless they are said to
// be now, figures are counters since the start of the process, the boot of
// the machine, or the start of sampling; lengths of time are in seconds.
type MachineRow struct {
	Time    time.Time
	Name    string
	PID     float64
	Started float64 // since the boot
	Machine string  // the name of the row of the machine that it is on
	Network string  // the name of the row of a process's network; empty: its machine's own

	User, System, Steal float64   // processor time
	Cores               []float64 // in use, of each processor
	Processors, Covered float64   // a program's, on average, and the seconds before that this is of

	RSS                      float64 // bytes, now
	MinorFaults, MajorFaults float64
	Threads, FDs, FDLimit    float64 // now
	// Switches are context switches.
	VoluntarySwitches, InvoluntarySwitches float64

	ReadBytes, WriteBytes float64 // of a process, that reached the disk
	FolderBytes           float64 // of a member's data folder, now
	Load1                 float64

	Standstills
	DiskUse
	NetworkUse

	// Collecting is the processor time that all this took on the machine.
	Collecting float64
}

// Standstills holds for how long limits on processor time held a control group back
// (Throttled), and for how long tasks stood still (of the machine, or of the process's
// control group): some of them, or all (Full).
type Standstills struct {
	Throttled, CPUStalled, IOStalled, IOFull, MemoryStalled, MemoryFull float64
}

// DiskUse holds what disks did: of a machine all together. Times are of all requests
// together, except Busy, with any in flight, and Queue, which is that times how many.
type DiskUse struct {
	DiskReads, DiskWrites, DiskFlushes          float64
	ReadSectors, WrittenSectors                 float64
	ReadTime, WriteTime, FlushTime, Busy, Queue float64
	InFlight                                    float64 // now
}

// NetworkUse holds what passed through the network of a machine without the loopback
// interface, and through that alone; of a process, bytes that its TCP connections carried.
type NetworkUse struct {
	Received, ReceivedPackets, Sent, SentPackets, Loopback, LoopbackPackets float64
	// TCP: segments of all interfaces, those sent again (of a process: its own), and
	// connections that were not accepted in time; then, now, how many there are and the
	// bytes in their buffers, of a process sent and received.
	Segments, Retransmitted, ListenDrops, Sockets, SocketBytes, SendQueue, ReceiveQueue float64
}

// NewMachineRow is a row of which nothing but that is known.
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

// columns are those of machines.csv.
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
		// Here end the columns of the first version.
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
		{"collecting_seconds", &r.Collecting}, {"covered_seconds", &r.Covered}, {"network", &r.Network},
	}
}

// Kind is what the row is about.
func (r *MachineRow) Kind() RowKind { return KindOf(r.Name) }

// Member reports whether the row is of a member's process.
func (r *MachineRow) Member() bool { return r.Kind() == MemberRow }

// Since is when the time began that a program's Processors are the average of.
func (r *MachineRow) Since() time.Time {
	seconds := min(firstOf(r.Covered, 1), 1e6) // a second where a file does not say
	return r.Time.Add(-time.Duration(1e9 * seconds))
}

// CPU is the processor time, user and system.
func (r *MachineRow) CPU() float64 { return r.User + r.System }

// sector is what the system counts disks in, in bytes.
const sector = 512

// DiskRead and DiskWritten are bytes that reached the disk: of a process, or of a
// machine's disks.
func (r *MachineRow) DiskRead() float64 { return firstOf(r.ReadBytes, sector*r.ReadSectors) }

// DiskWritten is DiskRead of what was written.
func (r *MachineRow) DiskWritten() float64 { return firstOf(r.WriteBytes, sector*r.WrittenSectors) }

// firstOf is the first number, or the second where that is NaN.
func firstOf(a, b float64) float64 {
	if math.IsNaN(a) {
		return b
	}
	return a
}

// longestApart is how far apart two samples may be. What was in a longer gap nobody
// knows by the second.
const longestApart = 2500 * time.Millisecond

// Continues reports whether the difference of the counters of two rows of one name,
// of which before is the earlier, is what was used between: it is the same process,
// and it was not reset.
func (r *MachineRow) Continues(before *MachineRow) bool {
	same := func(a, b float64) bool { return a == b || math.IsNaN(a) || math.IsNaN(b) }
	return r.Time.After(before.Time) && same(r.PID, before.PID) && same(r.Started, before.Started) && !(r.CPU() < before.CPU())
}

// Follows reports whether the row continues another with no sample missing between.
func (r *MachineRow) Follows(before *MachineRow) bool {
	return r.Continues(before) && r.Time.Sub(before.Time) <= longestApart
}

// Machines records rows of machines.csv, which is there from the first on.
func (t *TrialWriter) Machines(rows []*MachineRow) error {
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

// OpenMachines reads a trial's machines.csv; there are no rows where nothing was
// watched.
func OpenMachines(dir, folder string) ([]MachineRow, error) {
	return readTrialFile(dir, folder, machinesFile, readMachines)
}

// readMachines reads the file's text, which may be anybody's. Columns that are not
// there, as in other versions, say nothing.
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

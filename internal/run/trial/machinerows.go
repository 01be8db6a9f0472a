package trial

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

func processRow(at time.Time, name string, p *probe.ProcessUsage) *record.MachineRow {
	r := record.NewMachineRow(at, name)
	r.PID, r.Started, r.User, r.System = float64(p.PID), p.Started, p.UserSeconds, p.SystemSeconds
	r.RSS, r.MinorFaults, r.MajorFaults = amount(p.RSS), amount(p.MinorFaults), amount(p.MajorFaults)
	r.Threads, r.FDs, r.FDLimit = float64(p.Threads), amount(int64(p.FDs)), amount(p.FDLimit)
	r.VoluntarySwitches, r.InvoluntarySwitches = amount(p.Voluntary), amount(p.Involuntary)
	r.ReadBytes, r.WriteBytes = amount(p.ReadBytes), amount(p.WriteBytes)
	r.SendQueue, r.ReceiveQueue = amount(p.SendQueue), amount(p.ReceiveQueue)
	r.Received, r.Sent, r.Retransmitted = amount(p.ReceivedBytes), amount(p.SentBytes), amount(p.Retransmitted)
	r.Throttled = length(p.Group.Throttled)
	stalled(r, &p.Group.Pressure)
	return r
}

// Maximum numbers of rows and columns for one machine.
const (
	mostCores = 1024
	mostDisks = 64
	mostNames = 32 // program names
)

// machineRows returns the rows for a machine, for its disks, and for those programs on the machine
// that do not belong to the benchmark.
func (h *sampled) machineRows(s host.Sample) []*record.MachineRow {
	m := s.Machine
	r := record.NewMachineRow(s.At, h.machine)
	r.Machine = h.machine
	r.User, r.System, r.Steal = length(m.CPU.User+m.CPU.Nice), length(m.CPU.System+m.CPU.IRQ+m.CPU.SoftIRQ), length(m.CPU.Steal)
	for _, busy := range m.Cores[:min(len(m.Cores), mostCores)] {
		r.Cores = append(r.Cores, length(max(busy, 0)))
	}
	r.Load1 = length(m.Load1)
	stalled(r, &m.Pressure)
	networkUse(r, m)
	r.Collecting = h.collecting.Seconds()
	var all probe.DiskUsage
	rows := []*record.MachineRow{r}
	for i := range m.Disks {
		d := &m.Disks[i]
		all.Add(d)
		if i >= mostDisks {
			continue
		}
		disk := record.NewMachineRow(s.At, record.PartName(record.DiskRow, d.Name, h.machine))
		disk.Machine = h.machine
		diskUse(disk, d)
		rows = append(rows, disk)
	}
	diskUse(r, &all)
	return append(rows, h.programRows(s)...)
}

// networkRow returns the row for the network of a host that does not use its machine's network.
func (h *sampled) networkRow(s host.Sample) *record.MachineRow {
	r := record.NewMachineRow(s.At, h.network)
	r.Machine = h.machine
	networkUse(r, s.Machine)
	return r
}

func networkUse(r *record.MachineRow, m *probe.MachineUsage) {
	r.Received, r.ReceivedPackets, r.Sent, r.SentPackets = amount(m.ReceivedBytes), amount(m.ReceivedPackets), amount(m.SentBytes), amount(m.SentPackets)
	r.Loopback, r.LoopbackPackets = amount(m.LoopbackBytes), amount(m.LoopbackPackets)
	r.Segments, r.Retransmitted, r.ListenDrops = amount(m.SentSegments), amount(m.RetransmittedSegments), amount(m.ListenDrops)
	r.Sockets, r.SocketBytes = amount(m.TCPSockets), amount(m.TCPBytes)
}

// programRows returns the rows for other programs. All programs with the same name share one row.
func (h *sampled) programRows(s host.Sample) (rows []*record.MachineRow) {
	for _, p := range s.Machine.Programs {
		if slices.Contains(*h.ours, p.Group) {
			continue // the program belongs to the benchmark, for example as a member
		}
		name := record.PartName(record.ProgramRow, p.Name, h.machine)
		i := slices.IndexFunc(rows, func(r *record.MachineRow) bool { return r.Name == name })
		if i < 0 && len(rows) == mostNames {
			continue
		}
		if i < 0 {
			i = len(rows)
			rows = append(rows, record.NewMachineRow(s.At, name))
			rows[i].Machine, rows[i].Processors = h.machine, 0
		}
		rows[i].Processors, rows[i].Covered = length(rows[i].Processors+p.Processors), length(p.Seconds)
	}
	return rows
}

func diskUse(r *record.MachineRow, d *probe.DiskUsage) {
	r.DiskReads, r.DiskWrites, r.DiskFlushes = amount(d.Reads), amount(d.Writes), amount(d.Flushes)
	r.ReadSectors, r.WrittenSectors = amount(d.ReadSectors), amount(d.WrittenSectors)
	r.ReadTime, r.WriteTime, r.FlushTime = length(d.ReadSeconds), length(d.WriteSeconds), length(d.FlushSeconds)
	r.Busy, r.Queue, r.InFlight = length(d.BusySeconds), length(d.QueueSeconds), amount(d.InFlight)
}

func stalled(r *record.MachineRow, p *probe.Pressure) {
	r.CPUStalled, r.IOStalled, r.IOFull = length(p.CPUSome), length(p.IOSome), length(p.IOFull)
	r.MemoryStalled, r.MemoryFull = length(p.MemorySome), length(p.MemoryFull)
}

// amount converts a count to a value in a row. A negative count means that the value is unknown.
func amount(n int64) float64 { return length(float64(n)) }

// length converts a number to a value in a row, rounded to a millionth. A negative number means
// that the value is unknown.
func length(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return math.Round(1e6*x) / 1e6
}

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
	r.PID, r.ProcessStart, r.User, r.System = float64(p.PID), p.Started, p.UserSeconds, p.SystemSeconds
	r.RSS, r.MinorFaults, r.MajorFaults = countValue(p.RSS), countValue(p.MinorFaults), countValue(p.MajorFaults)
	r.Threads, r.FDs, r.FDLimit = float64(p.Threads), countValue(int64(p.FDs)), countValue(p.FDLimit)
	r.VoluntarySwitches, r.InvoluntarySwitches = countValue(p.Voluntary), countValue(p.Involuntary)
	r.ReadBytes, r.WriteBytes = countValue(p.ReadBytes), countValue(p.WriteBytes)
	r.SendQueue, r.ReceiveQueue = countValue(p.SendQueue), countValue(p.ReceiveQueue)
	r.Received, r.Sent, r.Retransmitted = countValue(p.ReceivedBytes), countValue(p.SentBytes), countValue(p.Retransmitted)
	r.Throttled = roundedValue(p.Group.Throttled)
	setPressure(r, &p.Group.Pressure)
	return r
}

// Maximum numbers of rows and columns for one machine.
const (
	maxCores = 1024
	maxDisks = 64
	maxNames = 32 // program names
)

// machineRows returns the rows for a machine, for its disks, and for those programs on the machine
// that do not belong to the benchmark.
func (h *sampledHost) machineRows(s host.Sample) []*record.MachineRow {
	m := s.Machine
	r := record.NewMachineRow(s.At, h.machine)
	r.Machine = h.machine
	r.User, r.System, r.Steal = roundedValue(m.CPU.User+m.CPU.Nice), roundedValue(m.CPU.System+m.CPU.IRQ+m.CPU.SoftIRQ), roundedValue(m.CPU.Steal)
	for _, busy := range m.Cores[:min(len(m.Cores), maxCores)] {
		r.Cores = append(r.Cores, roundedValue(max(busy, 0)))
	}
	r.Load1 = roundedValue(m.Load1)
	setPressure(r, &m.Pressure)
	setNetworkUse(r, m)
	r.Collecting = h.samplingTime.Seconds()
	var all probe.DiskUsage
	rows := []*record.MachineRow{r}
	for i := range m.Disks {
		d := &m.Disks[i]
		all.Add(d)
		if i >= maxDisks {
			continue
		}
		disk := record.NewMachineRow(s.At, record.PartName(record.DiskRow, d.Name, h.machine))
		disk.Machine = h.machine
		setDiskUse(disk, d)
		rows = append(rows, disk)
	}
	setDiskUse(r, &all)
	return append(rows, h.programRows(s)...)
}

// networkRow returns the row for the network of a host that does not use its machine's network.
func (h *sampledHost) networkRow(s host.Sample) *record.MachineRow {
	r := record.NewMachineRow(s.At, h.network)
	r.Machine = h.machine
	setNetworkUse(r, s.Machine)
	return r
}

func setNetworkUse(r *record.MachineRow, m *probe.MachineUsage) {
	r.Received, r.ReceivedPackets, r.Sent, r.SentPackets = countValue(m.ReceivedBytes), countValue(m.ReceivedPackets), countValue(m.SentBytes), countValue(m.SentPackets)
	r.Loopback, r.LoopbackPackets = countValue(m.LoopbackBytes), countValue(m.LoopbackPackets)
	r.Segments, r.Retransmitted, r.ListenDrops = countValue(m.SentSegments), countValue(m.RetransmittedSegments), countValue(m.ListenDrops)
	r.Sockets, r.SocketBytes = countValue(m.TCPSockets), countValue(m.TCPBytes)
}

// programRows returns the rows for other programs. All programs with the same name share one row.
func (h *sampledHost) programRows(s host.Sample) (rows []*record.MachineRow) {
	for _, p := range s.Machine.Programs {
		if slices.Contains(*h.benchmarkGroups, p.Group) {
			continue // the program belongs to the benchmark, for example as a member
		}
		name := record.PartName(record.ProgramRow, p.Name, h.machine)
		i := slices.IndexFunc(rows, func(r *record.MachineRow) bool { return r.Name == name })
		if i < 0 && len(rows) == maxNames {
			continue
		}
		if i < 0 {
			i = len(rows)
			rows = append(rows, record.NewMachineRow(s.At, name))
			rows[i].Machine, rows[i].Processors = h.machine, 0
		}
		rows[i].Processors, rows[i].ProcessorsSeconds = roundedValue(rows[i].Processors+p.Processors), roundedValue(p.Seconds)
	}
	return rows
}

func setDiskUse(r *record.MachineRow, d *probe.DiskUsage) {
	r.DiskReads, r.DiskWrites, r.DiskFlushes = countValue(d.Reads), countValue(d.Writes), countValue(d.Flushes)
	r.ReadSectors, r.WrittenSectors = countValue(d.ReadSectors), countValue(d.WrittenSectors)
	r.ReadTime, r.WriteTime, r.FlushTime = roundedValue(d.ReadSeconds), roundedValue(d.WriteSeconds), roundedValue(d.FlushSeconds)
	r.Busy, r.Queue, r.InFlight = roundedValue(d.BusySeconds), roundedValue(d.QueueSeconds), countValue(d.InFlight)
}

func setPressure(r *record.MachineRow, p *probe.Pressure) {
	r.CPUStalled, r.IOStalled, r.IOFull = roundedValue(p.CPUSome), roundedValue(p.IOSome), roundedValue(p.IOFull)
	r.MemoryStalled, r.MemoryFull = roundedValue(p.MemorySome), roundedValue(p.MemoryFull)
}

// countValue converts a count to a value in a row. A negative count means that the value is
// unknown.
func countValue(n int64) float64 { return roundedValue(float64(n)) }

// roundedValue converts a number to a value in a row, rounded to a millionth. A negative number
// means that the value is unknown.
func roundedValue(x float64) float64 {
	if x < 0 {
		return math.NaN()
	}
	return math.Round(1e6*x) / 1e6
}

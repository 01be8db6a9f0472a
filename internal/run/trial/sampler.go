package trial

import (
	"os"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// sampler makes the rows of machines.csv: the generator, the members on this
// machine, and the machine itself. Counters are since the start of the process
// or the boot of the machine; a column that a row does not have is empty.
type sampler struct {
	probe *probe.Sampler // nil where the system does not tell
	list  []probe.Watched
	store *storeUsage
	edges chan struct{} // the window opened or closed
}

func newSampler(members []Process) *sampler {
	s := &sampler{store: newStoreUsage(members), edges: make(chan struct{}, 1)}
	p, ok := probe.NewSampler()
	if !ok {
		return s
	}
	s.probe, s.list = p, []probe.Watched{{PID: os.Getpid(), Name: record.GeneratorName}}
	for _, m := range members {
		s.list = append(s.list, probe.Watched{PID: m.PID, Name: m.Name})
	}
	return s
}

var machineColumns = []string{
	"unix_seconds", "name", "pid", "cpu_user_seconds", "cpu_system_seconds", "cpu_steal_seconds", "rss_bytes", "threads", "fds",
	"voluntary_switches", "involuntary_switches", "read_bytes", "write_bytes", "load1",
	"disk_reads", "disk_writes", "disk_read_sectors", "disk_written_sectors",
	"received_bytes", "received_packets", "sent_bytes", "sent_packets", "loopback_bytes", "loopback_packets",
}

func (s *sampler) rows(now time.Time) (header []string, rows [][]string) {
	if s.probe == nil {
		return nil, nil
	}
	at := strconv.FormatInt(now.Unix(), 10)
	all := s.probe.Processes(s.list)
	s.store.add(now, all)
	for _, p := range all {
		if p.OK {
			rows = append(rows, processRow(at, p))
		}
	}
	if m, ok := s.probe.Machine(); ok {
		rows = append(rows, machineRow(at, m))
	}
	return machineColumns, rows
}

// edge asks for a sample now. It is called from the load's loops.
func (s *sampler) edge() {
	select {
	case s.edges <- struct{}{}:
	default: // one is asked for already
	}
}

// note samples the processes for what the store used, beside the rows.
func (s *sampler) note(now time.Time) {
	if s.probe != nil && len(s.list) > 1 {
		s.store.add(now, s.probe.Processes(s.list[1:]))
	}
}

func processRow(at string, p probe.ProcessRow) []string {
	row := make([]string, len(machineColumns))
	copy(row, []string{
		at, printable.Cell(p.Name), strconv.Itoa(p.PID), seconds(p.UserSeconds), seconds(p.SystemSeconds), "", number(p.RSS),
		strconv.Itoa(p.Threads), number(int64(p.FDs)), number(p.Voluntary), number(p.Involuntary), number(p.ReadBytes), number(p.WriteBytes),
	})
	return row
}

func machineRow(at string, m probe.MachineRow) []string {
	return []string{
		at, record.MachineName, "", seconds(m.CPU.User + m.CPU.Nice), seconds(m.CPU.System + m.CPU.IRQ + m.CPU.SoftIRQ), seconds(m.CPU.Steal),
		"", "", "", "", "", "", "", seconds(m.Load1),
		number(m.DiskReads), number(m.DiskWrites), number(m.DiskReadSectors), number(m.DiskWrittenSectors),
		number(m.ReceivedBytes), number(m.ReceivedPackets), number(m.SentBytes), number(m.SentPackets),
		number(m.LoopbackBytes), number(m.LoopbackPackets),
	}
}

// number is a counter; below 0 it is not known.
func number(n int64) string {
	if n < 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func seconds(s float64) string { return strconv.FormatFloat(s, 'f', 2, 64) }

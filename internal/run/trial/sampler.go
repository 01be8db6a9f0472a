package trial

import (
	"context"
	"os"
	"slices"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// sampler makes the rows of machines.csv: the generator, the members on known
// hosts, and the machines themselves. Counters are since the start of the process
// or the boot of the machine; a column that a row does not have is empty.
type sampler struct {
	hosts []*sampled // the generator's first
	store *storeUsage
	edges chan struct{} // the window opened or closed
}

// sampled is what is sampled on one host.
type sampled struct {
	host    host.Host
	machine string   // how the machine is called; empty: it is another host's too, which has its row
	own     int      // how many processes are not the members'
	names   []string // of processes
	pids    []int
}

func newSampler(ctx context.Context, generator host.Host, members []cluster.Member) (*sampler, error) {
	s := &sampler{store: newStoreUsage(members), edges: make(chan struct{}, 1)}
	s.hosts = []*sampled{{
		host: generator, machine: record.MachineName, own: 1, names: []string{record.GeneratorName}, pids: []int{os.Getpid()},
	}}
	for _, m := range members {
		at := slices.IndexFunc(s.hosts, func(h *sampled) bool { return h.host == m.Host })
		if at < 0 {
			at = len(s.hosts)
			s.hosts = append(s.hosts, &sampled{host: m.Host})
		}
		for _, p := range m.Processes() {
			s.hosts[at].names, s.hosts[at].pids = append(s.hosts[at].names, p.Name), append(s.hosts[at].pids, p.PID)
		}
	}
	var places []host.Place
	for _, h := range s.hosts {
		d, err := h.host.Describe(ctx)
		if err != nil {
			return nil, err
		}
		if len(places) > 0 && !slices.ContainsFunc(places, d.Place.SameMachine) {
			h.machine = record.OtherMachine(d.Machine.Name)
		}
		places = append(places, d.Place)
		for _, name := range h.names[h.own:] {
			s.store.of[name] = d.Place.SameMachine(places[0])
		}
	}
	return s, nil
}

var machineColumns = []string{
	"unix_seconds", "name", "pid", "cpu_user_seconds", "cpu_system_seconds", "cpu_steal_seconds", "rss_bytes", "threads", "fds",
	"voluntary_switches", "involuntary_switches", "read_bytes", "write_bytes", "load1",
	"disk_reads", "disk_writes", "disk_read_sectors", "disk_written_sectors",
	"received_bytes", "received_packets", "sent_bytes", "sent_packets", "loopback_bytes", "loopback_packets",
}

// rows samples everything. A host that does not answer has no rows.
func (s *sampler) rows(ctx context.Context) (rows [][]string) {
	var machines [][]string
	for _, h := range s.hosts {
		sample, err := h.host.Sample(ctx, h.pids, h.machine != "")
		if err != nil {
			continue
		}
		s.store.add(sample.At, h.names, sample.Processes)
		at := strconv.FormatInt(sample.At.Unix(), 10)
		for i, p := range sample.Processes {
			if p.OK {
				rows = append(rows, processRow(at, h.names[i], p))
			}
		}
		if sample.Machine != nil {
			machines = append(machines, machineRow(at, h.machine, sample.Machine))
		}
	}
	return append(rows, machines...)
}

// edge asks for a sample now. It is called from the load's loops.
func (s *sampler) edge() {
	select {
	case s.edges <- struct{}{}:
	default: // one is asked for already
	}
}

// note samples the members' processes for what the store used, beside the rows.
func (s *sampler) note(ctx context.Context) {
	for _, h := range s.hosts {
		if h.own == len(h.pids) {
			continue
		}
		if sample, err := h.host.Sample(ctx, h.pids[h.own:], false); err == nil {
			s.store.add(sample.At, h.names[h.own:], sample.Processes)
		}
	}
}

func processRow(at, name string, p probe.ProcessUsage) []string {
	row := make([]string, len(machineColumns))
	copy(row, []string{
		at, printable.Cell(name), strconv.Itoa(p.PID), seconds(p.UserSeconds), seconds(p.SystemSeconds), "", number(p.RSS),
		strconv.Itoa(p.Threads), number(int64(p.FDs)), number(p.Voluntary), number(p.Involuntary), number(p.ReadBytes), number(p.WriteBytes),
	})
	return row
}

func machineRow(at, name string, m *probe.MachineUsage) []string {
	return []string{
		at, printable.Cell(name), "", seconds(m.CPU.User + m.CPU.Nice), seconds(m.CPU.System + m.CPU.IRQ + m.CPU.SoftIRQ), seconds(m.CPU.Steal),
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

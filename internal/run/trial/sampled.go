package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Source is a host of the scenario that runs members of a trial or generates its load.
type Source struct {
	Name          string
	Host          host.Host
	Members, Load bool
}

// source is a Source with its samples.
type source struct {
	Source
	on     *sampled
	row    string // name of its generator's row; empty if it has none
	clocks []clockSeen
	lost   string // why the host was lost before the load ended; empty if it was not
}

// sampled describes the processes that are sampled on one host.
type sampled struct {
	host    host.Host
	machine string   // the machine's name
	whole   bool     // this host makes the machine's rows; false for the second host on one machine
	here    bool     // it is on the generator's machine
	own     int      // number of leading processes that are not the members'
	names   []string // of processes; empty: no row
	pids    []int
	began   []float64      // when each process started, as first sampled; -1 before
	folders map[int]string // the members' data folders, by index of the process
	// elsewhere marks the processes whose reads and writes go through another process, which
	// serves their disk.
	elsewhere map[int]bool
	weighed   time.Time // the time before which folders are not measured again
	// ours holds all of our process groups on the machine.
	ours *[]int
	// This field holds our processes on the machine that other host entries sample, so that
	// they do not count as other programs.
	local []int
	// sees holds the indexes of the hosts whose processes are sampled through this one,
	// because both see the same processes: itself first, then others. It is nil if another
	// host samples this one's processes.
	sees []int
	// network names the row of its network if that is not its machine's. This host makes
	// that row if makesNetwork is true.
	network      string
	makesNetwork bool

	use        *machineUse   // of the machine
	collecting time.Duration // processor time that sampling has taken so far
	cost       []usedBy      // the same at the times of samples
}

// known checks the processes, the first of which has index first. A process that has ended
// and whose number another process has is cleared.
func (h *sampled) known(processes []probe.ProcessUsage, first int) {
	for i := range processes {
		p, began := &processes[i], &h.began[first+i]
		switch {
		case !p.OK:
		case *began < 0:
			*began = p.Started
		case p.Started != *began:
			*p = probe.ProcessUsage{PID: p.PID}
		}
		if h.elsewhere[first+i] {
			p.ReadBytes, p.WriteBytes = -1, -1
		}
	}
}

// foldersShare bounds the average share of a processor that measuring data folders takes.
const foldersShare = 0.001

// weigh returns the disk space of the members' data folders by index of the process. It is
// nil if it is too early to measure again or the host does not answer.
func (h *sampled) weigh(ctx context.Context, now time.Time) map[int]int64 {
	if len(h.folders) == 0 || now.Before(h.weighed) {
		return nil
	}
	var processes []int
	var dirs []string
	for i, dir := range h.folders {
		processes, dirs = append(processes, i), append(dirs, dir)
	}
	bytes, cost, err := h.host.Weigh(ctx, dirs)
	if err != nil || len(bytes) != len(dirs) {
		return nil
	}
	h.weighed = now.Add(time.Duration(float64(cost)/foldersShare) - time.Second/2)
	h.collecting += cost
	out := map[int]int64{}
	for i, p := range processes {
		out[p] = bytes[i]
	}
	return out
}

package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Source is a host of the scenario that members of a trial are on, or that its load
// comes from.
type Source struct {
	Name          string
	Host          host.Host
	Members, Load bool
}

// source is a Source that is sampled.
type source struct {
	Source
	on     *sampled
	row    string // its generator's; empty without one
	clocks []clockSeen
	lost   string // why it was, before the load's end; empty if it was not
}

// sampled is what is sampled on one host.
type sampled struct {
	host    host.Host
	machine string   // how the machine is called
	whole   bool     // the machine's own rows are made here: no other host is the same one
	here    bool     // it is the generator's machine
	own     int      // how many processes are not the members'
	names   []string // empty for one that has no row
	pids    []int
	began   []float64      // of the processes: when each began, as it was seen first; below 0 before that
	folders map[int]string // the members' data folders, by process
	// elsewhere are the processes whose reading and writing is another one's, which
	// serves their disk.
	elsewhere map[int]bool
	weighed   time.Time // when they were weighed last
	// ours are all process groups of ours on that machine.
	ours *[]int
	// beside are our processes there that other hosts have, which are no other programs.
	beside []int
	// sees are the hosts whose processes are sampled here, because it sees of them what
	// they would: itself, first, and others; nil where another one sees it.
	sees []int
	// network names the row of its network where that is not its machine's; tells is
	// true for the host that makes that row.
	network string
	tells   bool

	use        *machineUse   // of that machine
	collecting time.Duration // processor time that sampling took until now
	cost       []usedBy      // the same at the times of samples
}

// known is what is known of a host's processes, from the first of these on: one that
// ended, and whose number another one has since, is gone.
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

// foldersShare is what weighing data folders may take of a processor, on average.
const foldersShare = 0.001

// weigh is what the members' data folders take on disk, by process; nil where it
// is too early to ask again, or the host does not answer.
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

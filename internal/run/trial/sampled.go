package trial

import (
	"context"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// Source is a host of the scenario that runs members or generates load in the trial.
type Source struct {
	Name          string
	Host          host.Host
	Members, Load bool
}

// source contains a Source and the observations of that host.
type source struct {
	Source
	entry  *sampledHost
	row    string // name of the row for the host's generator; empty if the row does not exist
	clocks []clockEstimate
	lost   string // reason why the host was lost before the load ended; empty if it was not lost
}

// sampledHost describes the processes that are sampled on one host.
type sampledHost struct {
	host               host.Host
	machine            string   // the machine's name
	makesMachineRows   bool     // whether the machine's rows are created from this host's samples; set for the first host on each machine
	onGeneratorMachine bool     // whether the host is on the generator's machine
	ownProcesses       int      // number of processes, at the beginning of names and pids, that are not members
	names              []string // names of the processes; a process without a name has no row
	pids               []int
	began              []float64      // start time of each process according to its first sample; -1 before the first sample
	folders            map[int]string // data folder of each member, by index of the process
	// diskServedElsewhere marks the processes whose disk is served by another process. The other
	// process then performs their reads and writes.
	diskServedElsewhere   map[int]bool
	nextFolderMeasurement time.Time // time before which folders are not measured again
	// benchmarkGroups contains all process groups on the machine that belong to the benchmark. All
	// hosts on the machine share it.
	benchmarkGroups *[]int
	// localPIDs contains processes of quorumbench on this machine that are sampled through other
	// hosts. They must not be counted as other programs.
	localPIDs []int
	// sampledIndexes contains the indexes of the hosts whose processes are sampled through this
	// host, because these hosts all see the same processes. The first index is that of this host.
	// sampledIndexes is nil if this host's processes are sampled through another host.
	sampledIndexes []int
	// network is the name of the row for the host's network, if the host does not use its machine's
	// network. If makesNetwork is set, the row is created from this host's samples.
	network      string
	makesNetwork bool

	use          *machineUse   // of the machine
	samplingTime time.Duration // processor time that sampling has used so far
	cost         []usageSample // values of samplingTime at the times of samples
}

// checkProcesses checks a sample of the host's processes. first is the index of the first process
// in the sample. checkProcesses clears the usage of a process that has exited and whose process ID
// now belongs to another process.
func (h *sampledHost) checkProcesses(processes []probe.ProcessUsage, first int) {
	for i := range processes {
		p, began := &processes[i], &h.began[first+i]
		switch {
		case !p.OK:
		case *began < 0:
			*began = p.Started
		case p.Started != *began:
			*p = probe.ProcessUsage{PID: p.PID}
		}
		if h.diskServedElsewhere[first+i] {
			p.ReadBytes, p.WriteBytes = -1, -1
		}
	}
}

// foldersShare is the maximum share of a processor's time, on average, for measuring data folders.
const foldersShare = 0.001

// measureFolders returns the disk space in bytes that the members' data folders use, by index of
// the process. It returns nil if the next measurement is not due yet or if the host does not
// respond.
func (h *sampledHost) measureFolders(ctx context.Context, now time.Time) map[int]int64 {
	if len(h.folders) == 0 || now.Before(h.nextFolderMeasurement) {
		return nil
	}
	var processes []int
	var dirs []string
	for i, dir := range h.folders {
		processes, dirs = append(processes, i), append(dirs, dir)
	}
	bytes, cost, err := h.host.MeasureFolders(ctx, dirs)
	if err != nil || len(bytes) != len(dirs) {
		return nil
	}
	h.nextFolderMeasurement = now.Add(time.Duration(float64(cost)/foldersShare) - time.Second/2)
	h.samplingTime += cost
	out := map[int]int64{}
	for i, p := range processes {
		out[p] = bytes[i]
	}
	return out
}

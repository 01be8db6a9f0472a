package trial

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

// sampler creates the rows of machines.csv. These describe the generator, the members on known
// hosts, and the machines with their disks and other programs.
type sampler struct {
	hosts []*sampledHost // the generator's host first
	// sources contains the scenario's hosts that the trial uses. It is empty if none of these has
	// its own clock. throttled contains, for each row, the times for which CPU limits had throttled
	// the row's process.
	sources   []source
	throttled map[string][]usageSample
	store     *storeUsage
	local     *storeUsage   // for members that were found on the generator's machine and have no rows
	edges     chan struct{} // receives a value when the window opens or closes
	// cost contains the processor time that sampling had used on all machines together, at the
	// times of the samples. Only the sampling goroutine may use it until that goroutine has ended.
	cost []usageSample
	// members returns the cluster's current members, whose processes may have been restarted. The
	// field is nil if members cannot be restarted.
	members func() []cluster.Member
	// ahead returns how far this machine's clock is ahead of the clock that provides the trial's
	// times. ownClock detects when this machine's clock is set.
	ahead    func() time.Duration
	ownClock ownClock
}

// renumber updates the process IDs of restarted members.
func (s *sampler) renumber() {
	if s.members == nil {
		return
	}
	for _, m := range s.members() {
		for _, p := range m.Processes() {
			for _, h := range s.hosts {
				if i := slices.Index(h.names, p.Name); i >= h.ownProcesses && h.host == m.Host && h.pids[i] != p.PID {
					h.pids[i], h.began[i] = p.PID, -1
					*h.benchmarkGroups = append(*h.benchmarkGroups, p.PID)
				}
			}
		}
	}
}

// rows takes a sample of all hosts and returns the rows. It returns no rows for a host that does
// not respond.
func (s *sampler) rows(ctx context.Context) (rows []*record.MachineRow) {
	s.renumber()
	var machines []*record.MachineRow
	all := make([]hostSample, len(s.hosts))
	s.forEachHost(func(_ int, h *sampledHost) {
		s.sample(ctx, h, true, all)
		for _, i := range h.sampledIndexes {
			if one := &all[i]; one.ok {
				one.folders = s.hosts[i].measureFolders(ctx, one.At)
			}
		}
	})
	for i, h := range s.hosts {
		sample, folders := all[i].Sample, all[i].folders
		if !all[i].ok {
			continue
		}
		s.addSample(h, &sample, 0)
		for i := range sample.Processes {
			if p := &sample.Processes[i]; p.OK && h.names[i] != "" && !s.local.isLocal[h.names[i]] {
				row := processRow(sample.At, h.names[i], p)
				row.Machine, row.Network = h.machine, h.network
				if bytes, weighed := folders[i]; weighed {
					row.FolderBytes = countValue(bytes)
				}
				rows = append(rows, row)
			}
		}
		switch {
		case sample.Machine == nil:
		case h.makesMachineRows:
			machines = append(machines, h.machineRows(sample)...)
		default:
			machines = append(machines, h.networkRow(sample)) // contains only the network
		}
	}
	s.recordCost()
	return append(rows, machines...)
}

// addSample adds a sample to the data from which the figures for the window are computed. first is
// the index of the first process in the sample.
func (s *sampler) addSample(h *sampledHost, sample *host.Sample, first int) {
	s.store.add(sample.At, h.names[first:], sample.Processes)
	s.local.add(sample.At, h.names[first:], sample.Processes)
	if h.makesMachineRows {
		h.use.add(sample.At, sample.Machine)
	}
	for i := range sample.Processes {
		p, name := &sample.Processes[i], h.names[first+i]
		h.use.use(sample.At, h.pids[first+i], name, p)
		if first+i < h.ownProcesses && name != "" && p.OK && p.Group.Throttled >= 0 {
			s.throttled[name] = append(s.throttled[name], usageSample{at: sample.At, cpu: p.Group.Throttled})
		}
	}
}

// forEachHost calls the function do for all hosts. For hosts on other machines, the calls are
// concurrent, so that a slow machine does not delay the others. For hosts on this machine, the
// calls are in the caller's goroutine, which has a lower priority than the goroutines of the
// generator.
func (s *sampler) forEachHost(do func(i int, h *sampledHost)) {
	var elsewhere sync.WaitGroup
	for i, h := range s.hosts {
		if !h.onGeneratorMachine {
			elsewhere.Go(func() { do(i, h) })
		}
	}
	for i, h := range s.hosts {
		if h.onGeneratorMachine {
			do(i, h)
		}
	}
	elsewhere.Wait()
}

// recordCost records the processor time that sampling has used so far. The time of this record is
// from the clock that measures the window.
func (s *sampler) recordCost() {
	sum := time.Duration(0)
	now := measure.Now()
	for _, h := range s.hosts {
		sum += h.samplingTime
		h.cost = append(h.cost, usageSample{at: now, cpu: h.samplingTime.Seconds()})
	}
	s.cost = append(s.cost, usageSample{at: now, cpu: sum.Seconds()})
}

// costBetween returns the processor time in seconds that sampling used between two times. It
// returns nil if this is unknown.
func (s *sampler) costBetween(from, to time.Time) *float64 {
	return costBetween(s.cost, from, to)
}

func costBetween(cost []usageSample, from, to time.Time) *float64 {
	if len(cost) == 0 || cost[len(cost)-1].cpu == 0 || cost[0].at.After(from) {
		return nil
	}
	took := cpuBetween(cost, from, to)
	if took == 0 && to.After(from) {
		return nil // no sample since the window opened
	}
	return &took
}

// hostSample is a sample of a host's processes and machine.
type hostSample struct {
	host.Sample
	ok      bool
	folders map[int]int64
}

// sample samples the processes that are sampled through a host, and stores the samples in
// `results`. If includeMachine is set, the sample includes the machine and the processes of
// quorumbench. Otherwise it includes only the members.
func (s *sampler) sample(ctx context.Context, h *sampledHost, includeMachine bool, results []hostSample) {
	first := func(of *sampledHost) int {
		if includeMachine {
			return 0
		}
		return of.ownProcesses
	}
	var asked []int
	for _, i := range h.sampledIndexes {
		asked = append(asked, s.hosts[i].pids[first(s.hosts[i]):]...)
	}
	machine := includeMachine && (h.makesMachineRows || h.makesNetwork)
	if machine {
		asked = append(asked, h.localPIDs...)
	}
	if len(asked) == 0 && !machine {
		if _, apart := h.host.(host.Remote); apart && includeMachine {
			_, _ = h.host.Sample(ctx, nil, false) // the response contains the host's time, which reveals whether its clock was set
		}
		return
	}
	got, err := h.host.Sample(ctx, asked, machine)
	if err != nil || len(got.Processes) != len(asked) {
		return
	}
	for at, i := range h.sampledIndexes {
		of, one := s.hosts[i], got
		n := len(of.pids) - first(of)
		one.Processes, got.Processes = got.Processes[:n:n], got.Processes[n:]
		if at > 0 {
			one.Machine = nil
			one.Cost = got.Cost * time.Duration(n) / time.Duration(len(asked))
			h.samplingTime -= one.Cost
		}
		of.samplingTime += one.Cost
		of.checkProcesses(one.Processes, first(of))
		results[i] = hostSample{Sample: one, ok: includeMachine || n > 0}
	}
}

// edge requests a sample immediately. The load's loops call edge.
func (s *sampler) edge() {
	select {
	case s.edges <- struct{}{}:
	default: // a sample is already requested
	}
}

// sampleMembers samples only the members' processes. These samples are used for the store's usage
// in the window.
func (s *sampler) sampleMembers(ctx context.Context) {
	s.renumber()
	all := make([]hostSample, len(s.hosts))
	s.forEachHost(func(_ int, h *sampledHost) { s.sample(ctx, h, false, all) })
	for i, h := range s.hosts {
		if all[i].ok {
			s.addSample(h, &all[i].Sample, h.ownProcesses)
		}
	}
	s.recordCost()
}

// recordClocks records the states of the clocks. It returns an event for each clock that was set
// since the last call.
func (s *sampler) recordClocks() (set []record.Event) {
	now := measure.Now()
	if by := s.ownClock.detectChange(s.ahead()); by != 0 {
		set = append(set, newClockSetEvent(now, "the controller's machine", by, ""))
	}
	for i := range s.sources {
		c, ok := s.sources[i].Host.(host.Remote)
		if !ok {
			continue
		}
		one := &s.sources[i]
		is := clockEstimate{now, c.Clock()}
		if n := len(one.clocks); n > 0 && one.clocks[n-1].Jumps != is.Jumps {
			set = append(set, newClockSetEvent(now, "host "+one.Name, is.JumpSum-one.clocks[n-1].JumpSum, ", or drifted"))
		}
		one.clocks = append(one.clocks, is)
	}
	return set
}

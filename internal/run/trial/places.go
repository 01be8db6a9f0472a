package trial

import (
	"context"
	"os"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
)

func newSampler(ctx context.Context, generator host.Host, members []cluster.Member, sources ...Source) (*sampler, error) {
	s := &sampler{store: newStoreUsage(members), local: newStoreUsage(nil), edges: make(chan struct{}, 1), throttled: map[string][]usageSample{}, ahead: measure.WallClockLead}
	s.ownClock.lastAhead = s.ahead()
	s.hosts = []*sampledHost{{host: generator, ownProcesses: 1, names: []string{record.GeneratorName}, pids: []int{os.Getpid()}, folders: map[int]string{}, diskServedElsewhere: map[int]bool{}}}
	if err := s.addSources(ctx, sources); err != nil {
		return nil, err
	}
	for _, m := range members {
		h := s.entryFor(m.Host)
		for i, p := range m.Processes() {
			if i == 0 && m.DataDir != "" {
				h.folders[len(h.pids)] = m.DataDir
			}
			if m.DiskServer != nil {
				h.diskServedElsewhere[len(h.pids)] = true
			}
			h.names, h.pids = append(h.names, p.Name), append(h.pids, p.PID)
		}
		for _, p := range []*cluster.Process{m.DiskServer, m.NetworkServer} { // processes of quorumbench, which are neither members nor other programs
			if p != nil && !slices.Contains(h.pids, p.PID) {
				h.names, h.pids = append(h.names, ""), append(h.pids, p.PID)
			}
		}
	}
	return s, s.place(ctx)
}

// addLocalMembers adds the processes of members that were found on the generator's machine. The
// keys of found are names for the processes.
func (s *sampler) addLocalMembers(found map[string]int) {
	h := s.hosts[0]
	for name, pid := range found {
		s.local.isLocal[name] = true
		h.names, h.pids, h.began = append(h.names, name), append(h.pids, pid), append(h.began, -1)
		*h.benchmarkGroups = append(*h.benchmarkGroups, pid)
	}
}

// entryFor returns the entry of a host. If the host has no entry, entryFor adds one.
func (s *sampler) entryFor(at host.Host) *sampledHost {
	i := slices.IndexFunc(s.hosts, func(h *sampledHost) bool { return h.host == at })
	if i < 0 {
		i = len(s.hosts)
		s.hosts = append(s.hosts, &sampledHost{host: at, folders: map[int]string{}, diskServedElsewhere: map[int]bool{}})
	}
	return s.hosts[i]
}

// addSources adds the processes of quorumbench on other hosts. Each of these processes serves its
// host, and may also generate load there. Each process that generates load has a row. The process
// of this generator already has a row.
func (s *sampler) addSources(ctx context.Context, sources []Source) error {
	for _, of := range sources {
		d, err := of.Host.Describe(ctx)
		if err != nil {
			return err
		}
		one := source{Source: of, entry: s.entryFor(of.Host)}
		if _, apart := of.Host.(host.Remote); apart && d.Process > 0 {
			if of.Load {
				one.row = record.OtherGenerator(of.Name)
			}
			one.entry.ownProcesses, one.entry.names, one.entry.pids = 1, []string{one.row}, []int{d.Process}
		}
		s.sources = append(s.sources, one)
	}
	return nil
}

// place determines which hosts are on the same machine.
func (s *sampler) place(ctx context.Context) error {
	about, errs := make([]host.Description, len(s.hosts)), make([]error, len(s.hosts))
	s.forEachHost(func(i int, h *sampledHost) { about[i], errs[i] = h.host.Describe(ctx) })
	var places []host.Place
	for i, h := range s.hosts {
		d := about[i]
		if errs[i] != nil {
			return errs[i]
		}
		seer := slices.IndexFunc(about[:i+1], func(other host.Description) bool { return d.SeesSameProcesses(&other) })
		if seer < 0 {
			seer = i
		}
		s.hosts[seer].sampledIndexes = append(s.hosts[seer].sampledIndexes, i)
		same := slices.IndexFunc(places, d.Place.SameMachine)
		if h.makesMachineRows = same < 0; h.makesMachineRows {
			h.machine, h.benchmarkGroups, h.use = record.OtherMachine(d.Machine.Name), &[]int{}, newMachineUse(d.Machine.CPUs)
		} else {
			h.machine, h.benchmarkGroups, h.use = s.hosts[same].machine, s.hosts[same].benchmarkGroups, s.hosts[same].use
		}
		if i == 0 {
			h.machine = record.MachineName
		}
		if !h.makesMachineRows && seer != same && d.Place == places[same] {
			s.hosts[same].localPIDs = append(s.hosts[same].localPIDs, h.pids[:h.ownProcesses]...)
		}
		if !h.makesMachineRows && d.Network != "" && about[same].Network != "" && d.Network != about[same].Network {
			s.placeNetwork(i, about[:i+1])
		}
		*h.benchmarkGroups = append(*h.benchmarkGroups, h.pids...)
		h.began = slices.Repeat([]float64{-1}, len(h.pids))
		places = append(places, d.Place)
		h.onGeneratorMachine = d.Place.SameMachine(places[0])
		for _, name := range h.names[h.ownProcesses:] {
			if name != "" {
				s.store.isLocal[name] = h.onGeneratorMachine
			}
		}
	}
	return nil
}

// placeNetwork sets the network of the i-th host, which does not use its machine's network. The
// network is named after the first host in the scenario that uses it.
func (s *sampler) placeNetwork(i int, about []host.Description) {
	h := s.hosts[i]
	for k := range i {
		if s.hosts[k].network != "" && about[k].Network == about[i].Network && about[k].Place.SameMachine(about[i].Place) {
			h.network = s.hosts[k].network
			return
		}
	}
	for k := range s.sources {
		if s.sources[k].entry == h {
			h.network, h.makesNetwork = record.PartName(record.NetworkRow, s.sources[k].Name, h.machine), true
			return
		}
	}
}

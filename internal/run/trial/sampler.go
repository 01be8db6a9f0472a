package trial

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// sampler makes the rows of machines.csv: the generator, the members on known
// hosts, and the machines themselves with their disks and other programs.
type sampler struct {
	hosts []*sampled // the generator's first
	// sources are the scenario's hosts that the trial uses, where some have clocks of
	// their own; throttled is for how long limits held our processes there back.
	sources   []source
	throttled map[string][]usedBy
	store     *storeUsage
	beside    *storeUsage   // of members that were found on the generator's machine, and have no rows
	edges     chan struct{} // the window opened or closed
	// cost is what sampling took on all machines together, by the times of samples.
	// It is its goroutine's alone until that has ended.
	cost []usedBy
	// members are the cluster's now, of which one may be started again and so have
	// other processes; nil where none is.
	members func() []cluster.Member
	// ahead is how far this machine's clock is ahead of what times are told by; own is
	// what was seen of that.
	ahead func() time.Duration
	own   ownClock
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

func newSampler(ctx context.Context, generator host.Host, members []cluster.Member, sources ...Source) (*sampler, error) {
	s := &sampler{store: newStoreUsage(members), beside: newStoreUsage(nil), edges: make(chan struct{}, 1), throttled: map[string][]usedBy{}, ahead: measure.Ahead}
	s.own.was = s.ahead()
	s.hosts = []*sampled{{host: generator, own: 1, names: []string{record.GeneratorName}, pids: []int{os.Getpid()}, folders: map[int]string{}, elsewhere: map[int]bool{}}}
	if err := s.addSources(ctx, sources); err != nil {
		return nil, err
	}
	for _, m := range members {
		h := s.on(m.Host)
		for i, p := range m.Processes() {
			if i == 0 && m.DataDir != "" {
				h.folders[len(h.pids)] = m.DataDir
			}
			if m.DiskServer != nil {
				h.elsewhere[len(h.pids)] = true
			}
			h.names, h.pids = append(h.names, p.Name), append(h.pids, p.PID)
		}
		for _, p := range []*cluster.Process{m.DiskServer, m.NetworkServer} { // ours, and neither the store's nor another program
			if p != nil {
				h.names, h.pids = append(h.names, p.Name), append(h.pids, p.PID)
			}
		}
	}
	return s, s.place(ctx)
}

// addBeside adds processes of members by their names, which were found on the
// generator's machine.
func (s *sampler) addBeside(found map[string]int) {
	h := s.hosts[0]
	for name, pid := range found {
		s.beside.of[name] = true
		h.names, h.pids, h.began = append(h.names, name), append(h.pids, pid), append(h.began, -1)
		*h.ours = append(*h.ours, pid)
	}
}

// on is what is sampled on a host.
func (s *sampler) on(at host.Host) *sampled {
	i := slices.IndexFunc(s.hosts, func(h *sampled) bool { return h.host == at })
	if i < 0 {
		i = len(s.hosts)
		s.hosts = append(s.hosts, &sampled{host: at, folders: map[int]string{}, elsewhere: map[int]bool{}})
	}
	return s.hosts[i]
}

// addSources adds the processes that serve hosts, and generate load there: a row for
// each that does. One that is ours has a row already.
func (s *sampler) addSources(ctx context.Context, sources []Source) error {
	for _, of := range sources {
		d, err := of.Host.Describe(ctx)
		if err != nil {
			return err
		}
		one := source{Source: of, on: s.on(of.Host)}
		if _, apart := of.Host.(host.Clocked); apart && d.Process > 0 {
			if of.Load {
				one.row = record.OtherGenerator(of.Name)
			}
			one.on.own, one.on.names, one.on.pids = 1, []string{one.row}, []int{d.Process}
		}
		s.sources = append(s.sources, one)
	}
	return nil
}

// place finds out which hosts are one machine.
func (s *sampler) place(ctx context.Context) error {
	about, errs := make([]host.Description, len(s.hosts)), make([]error, len(s.hosts))
	s.each(func(i int, h *sampled) { about[i], errs[i] = h.host.Describe(ctx) })
	var places []host.Place
	for i, h := range s.hosts {
		d := about[i]
		if errs[i] != nil {
			return errs[i]
		}
		seer := slices.IndexFunc(about[:i+1], func(other host.Description) bool { return d.SeesAs(&other) })
		if seer < 0 {
			seer = i
		}
		s.hosts[seer].sees = append(s.hosts[seer].sees, i)
		same := slices.IndexFunc(places, d.Place.SameMachine)
		if h.whole = same < 0; h.whole {
			h.machine, h.ours, h.use = record.OtherMachine(d.Machine.Name), &[]int{}, &machineUse{cpus: d.Machine.CPUs, ours: map[string][]usedBy{}}
		} else {
			h.machine, h.ours, h.use = s.hosts[same].machine, s.hosts[same].ours, s.hosts[same].use
		}
		if i == 0 {
			h.machine = record.MachineName
		}
		if !h.whole && seer != same && d.Place == places[same] {
			s.hosts[same].beside = append(s.hosts[same].beside, h.pids[:h.own]...)
		}
		if !h.whole && d.Network != "" && about[same].Network != "" && d.Network != about[same].Network {
			s.placeNetwork(i, about[:i+1])
		}
		*h.ours = append(*h.ours, h.pids...)
		h.began = slices.Repeat([]float64{-1}, len(h.pids))
		places = append(places, d.Place)
		h.here = d.Place.SameMachine(places[0])
		for _, name := range h.names[h.own:] {
			s.store.of[name] = h.here
		}
	}
	return nil
}

// placeNetwork names the network of the last of these hosts, which is not its
// machine's: after the first host of the scenario that has it.
func (s *sampler) placeNetwork(i int, about []host.Description) {
	h := s.hosts[i]
	for k := range i {
		if s.hosts[k].network != "" && about[k].Network == about[i].Network && about[k].Place.SameMachine(about[i].Place) {
			h.network = s.hosts[k].network
			return
		}
	}
	for k := range s.sources {
		if s.sources[k].on == h {
			h.network, h.tells = record.PartName(record.NetworkRow, s.sources[k].Name, h.machine), true
			return
		}
	}
}

// renumber takes the numbers that processes have now.
func (s *sampler) renumber() {
	if s.members == nil {
		return
	}
	for _, m := range s.members() {
		for _, p := range m.Processes() {
			for _, h := range s.hosts {
				if i := slices.Index(h.names, p.Name); i >= h.own && h.host == m.Host && h.pids[i] != p.PID {
					h.pids[i], h.began[i] = p.PID, -1
					*h.ours = append(*h.ours, p.PID)
				}
			}
		}
	}
}

// rows samples everything. A host that does not answer has no rows.
func (s *sampler) rows(ctx context.Context) (rows []*record.MachineRow) {
	s.renumber()
	var machines []*record.MachineRow
	all := make([]seen, len(s.hosts))
	s.each(func(_ int, h *sampled) {
		s.sample(ctx, h, true, all)
		for _, i := range h.sees {
			if one := &all[i]; one.ok {
				one.folders = s.hosts[i].weigh(ctx, one.At)
			}
		}
	})
	for i, h := range s.hosts {
		sample, folders := all[i].Sample, all[i].folders
		if !all[i].ok {
			continue
		}
		s.take(h, &sample, 0)
		for i := range sample.Processes {
			if p := &sample.Processes[i]; p.OK && h.names[i] != "" && !s.beside.of[h.names[i]] {
				row := processRow(sample.At, h.names[i], p)
				row.Machine, row.Network = h.machine, h.network
				if bytes, weighed := folders[i]; weighed {
					row.FolderBytes = amount(bytes)
				}
				rows = append(rows, row)
			}
		}
		switch {
		case sample.Machine == nil:
		case h.whole:
			machines = append(machines, h.machineRows(sample)...)
		default:
			machines = append(machines, h.networkRow(sample)) // it tells its network's alone
		}
	}
	s.count()
	return append(rows, machines...)
}

// take notes what the window's figures are made of, of the processes from one on.
func (s *sampler) take(h *sampled, sample *host.Sample, first int) {
	s.store.add(sample.At, h.names[first:], sample.Processes)
	s.beside.add(sample.At, h.names[first:], sample.Processes)
	if h.whole {
		h.use.add(sample.At, sample.Machine)
	}
	for i := range sample.Processes {
		p, name := &sample.Processes[i], h.names[first+i]
		h.use.use(sample.At, fmt.Sprint(h.pids[first+i], " ", name), p)
		if first+i < h.own && name != "" && p.OK && p.Group.Throttled >= 0 {
			s.throttled[name] = append(s.throttled[name], usedBy{at: sample.At, cpu: p.Group.Throttled})
		}
	}
}

// each does something with all hosts: with other machines at once, so that one that
// is slow to answer delays nobody's sample, and with those of this one in this
// thread, which gives way to the generator's.
func (s *sampler) each(do func(i int, h *sampled)) {
	var elsewhere sync.WaitGroup
	for i, h := range s.hosts {
		if !h.here {
			elsewhere.Go(func() { do(i, h) })
		}
	}
	for i, h := range s.hosts {
		if h.here {
			do(i, h)
		}
	}
	elsewhere.Wait()
}

// count adds up what sampling took until now, by the clock that the window's edges
// have.
func (s *sampler) count() {
	sum := time.Duration(0)
	now := measure.Now()
	for _, h := range s.hosts {
		sum += h.collecting
		h.cost = append(h.cost, usedBy{at: now, cpu: h.collecting.Seconds()})
	}
	s.cost = append(s.cost, usedBy{at: now, cpu: sum.Seconds()})
}

// took is the processor time, in seconds, that sampling took between two times; nil
// where that is not known.
func (s *sampler) took(from, to time.Time) *float64 { return tookOf(s.cost, from, to) }

func tookOf(cost []usedBy, from, to time.Time) *float64 {
	if len(cost) == 0 || cost[len(cost)-1].cpu == 0 || cost[0].at.After(from) {
		return nil
	}
	took := cpuBetween(cost, from, to)
	if took == 0 && to.After(from) {
		return nil // nothing was sampled since the window opened
	}
	return &took
}

// seen is what was seen of a host's processes, and of its machine.
type seen struct {
	host.Sample
	ok      bool
	folders map[int]int64
}

// sample asks a host about the processes that are sampled there: all of them and the
// machine, or the members' alone.
func (s *sampler) sample(ctx context.Context, h *sampled, whole bool, to []seen) {
	first := func(of *sampled) int {
		if whole {
			return 0
		}
		return of.own
	}
	var asked []int
	for _, i := range h.sees {
		asked = append(asked, s.hosts[i].pids[first(s.hosts[i]):]...)
	}
	machine := whole && (h.whole || h.tells)
	if machine {
		asked = append(asked, h.beside...)
	}
	if len(asked) == 0 && !machine {
		if _, apart := h.host.(host.Clocked); apart && whole {
			_, _ = h.host.Sample(ctx, nil, false) // its answer has the time: a clock that was set is seen
		}
		return
	}
	got, err := h.host.Sample(ctx, asked, machine)
	if err != nil || len(got.Processes) != len(asked) {
		return
	}
	for at, i := range h.sees {
		of, one := s.hosts[i], got
		n := len(of.pids) - first(of)
		one.Processes, got.Processes = got.Processes[:n:n], got.Processes[n:]
		if at > 0 {
			one.Machine = nil
			one.Cost = got.Cost * time.Duration(n) / time.Duration(len(asked))
			h.collecting -= one.Cost
		}
		of.collecting += one.Cost
		of.known(one.Processes, first(of))
		to[i] = seen{Sample: one, ok: whole || n > 0}
	}
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

// edge asks for a sample now. It is called from the load's loops.
func (s *sampler) edge() {
	select {
	case s.edges <- struct{}{}:
	default: // one is asked for already
	}
}

// note samples the members' processes for what the store used, beside the rows.
func (s *sampler) note(ctx context.Context) {
	s.renumber()
	all := make([]seen, len(s.hosts))
	s.each(func(_ int, h *sampled) { s.sample(ctx, h, false, all) })
	for i, h := range s.hosts {
		if all[i].ok {
			s.take(h, &all[i].Sample, h.own)
		}
	}
	s.count()
}

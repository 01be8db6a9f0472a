package trial

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/cluster"
	"github.com/quorumbench/quorumbench/internal/run/host"
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

// look notes what is known of the clocks, and returns those that were set since the
// last time.
func (s *sampler) look() (set []record.Event) {
	now := measure.Now()
	if by := s.own.look(s.ahead()); by != 0 {
		set = append(set, clockWasSet(now, "the machine that conducts the run", by, ""))
	}
	for i := range s.sources {
		c, ok := s.sources[i].Host.(host.Clocked)
		if !ok {
			continue
		}
		one := &s.sources[i]
		is := clockSeen{now, c.Clock()}
		if n := len(one.clocks); n > 0 && one.clocks[n-1].Jumps != is.Jumps {
			set = append(set, clockWasSet(now, "host "+one.Name, is.Set-one.clocks[n-1].Set, ", or drifted"))
		}
		one.clocks = append(one.clocks, is)
	}
	return set
}

package trial

import (
	"slices"
	"time"
)

// When the loops of a generator wait for a processor in a closed loop, the operations of the
// clients wait in the generator instead of in the store. If the members use the processors in the
// meantime, the store completes as many operations as without the wait, so the throughput is
// correct. If the processors are idle or run other programs in the meantime, throughput is lost.
// The samples of the machine show what the processors ran in each second.

// ranForLoad considers the time for which generators waited for processors. It returns a lower
// bound for the share of this time during which all processors of the machine ran members or
// generators. If several machines generate load, the lowest of their shares is used. waited
// contains the waiting time in each second of the window, in nanoseconds. ranForLoad returns nil if
// no generator waited or if no samples exist.
func (s *sampler) ranForLoad(opened, closed time.Time, waited []int64) *float64 {
	machines := s.sharedMachines()
	share, all := 0.0, 0.0
	for i, ns := range waited {
		from := opened.Add(time.Duration(i) * time.Second)
		if ns <= 0 || len(machines) == 0 || !from.Before(closed) {
			continue
		}
		least := 1.0
		for _, m := range machines {
			least = min(least, m.forLoad(from, earliest(from.Add(time.Second), closed), opened, closed))
		}
		share += float64(ns) * least
		all += float64(ns)
	}
	if all == 0 {
		return nil
	}
	return new(share / all)
}

// forLoad returns a lower bound for the share of a span during which every processor ran a process
// of quorumbench or of the members, or served an interrupt. It assumes the worst case: at any time,
// at most one processor was idle, withheld by the hypervisor or used by other programs. If the
// samples do not cover the span, forLoad uses those of the whole window.
func (u *machineUse) forLoad(from, to, opened, closed time.Time) float64 {
	busy, _, foreign := u.shares(from, to)
	if busy == nil {
		busy, _, foreign = u.shares(opened, closed)
	}
	if busy == nil || u.cpus <= 0 {
		return 0
	}
	return max(1-float64(u.cpus)*(1-*busy+*foreign), 0)
}

// sharedMachines returns the machines that generate load. It returns nil if one of these machines
// has no member, or if the processes of the members are unknown.
func (s *sampler) sharedMachines() (machines []*machineUse) {
	if len(s.store.isLocal) == 0 {
		return nil
	}
	serves := map[*machineUse]bool{}
	for _, h := range s.hosts {
		serves[h.use] = serves[h.use] || len(h.names) > h.ownProcesses
	}
	var generates []*machineUse
	for i := range s.sources {
		if one := &s.sources[i]; one.Load {
			generates = append(generates, one.entry.use)
		}
	}
	if len(generates) == 0 {
		generates = append(generates, s.hosts[0].use)
	}
	if slices.ContainsFunc(generates, func(u *machineUse) bool { return !serves[u] }) {
		return nil
	}
	return generates
}

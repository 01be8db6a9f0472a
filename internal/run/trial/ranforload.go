package trial

import (
	"slices"
	"time"
)

// While a closed loop waits for a processor, its clients' operations wait in the
// generator and not in the store. Where the members have the processors meanwhile, the
// store does what it would have done otherwise, and throughput loses nothing; where
// nobody has them, or other programs do, it does. Who had them is known by the second,
// as samples of the machine are.

// ranForLoad is the share of the time that generators waited for processors in which
// all processors of their machine ran the members or a generator: at least, and on the
// machine where that is least. waited has how long they waited in each second of the
// window; nil: nobody waited, or nobody knows who ran.
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

// forLoad is the share of a span in which every processor ran a process of ours or of
// the members, or served an interrupt, at least. What was idle, taken by the host or
// used by others may have been so on one processor after the other. Where there are no
// samples of the span, those of the whole window speak for it.
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

// sharedMachines are those that load comes from; none where one of them has no member,
// or where which processes are members' is not known.
func (s *sampler) sharedMachines() (machines []*machineUse) {
	if len(s.store.of) == 0 {
		return nil
	}
	serves := map[*machineUse]bool{}
	for _, h := range s.hosts {
		serves[h.use] = serves[h.use] || len(h.names) > h.own
	}
	var generates []*machineUse
	for i := range s.sources {
		if one := &s.sources[i]; one.Load {
			generates = append(generates, one.on.use)
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

package trial

import (
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// newObserved returns the part of a trial's observations that is computed from the workers'
// reports. The parameter store is the usage of all members in the window, or nil if unknown.
// localSeconds is the processor time, in seconds, of the members on this machine. The parameter
// machine is the name of this machine. On all other machines, the usage of other programs is
// unknown. If workers ran on several machines, each returned share is the highest share of any
// machine.
func newObserved(workers []load.Usage, store *record.StoreUsage, localSeconds *float64, machine string) record.Observed {
	o := record.Observed{Store: store}
	type process struct {
		machine string
		id      int
	}
	seen, used := map[process]bool{}, map[string]float64{} // processor time by machine
	for i := range workers {
		u := &workers[i]
		if u.ThrottledNS != nil && (o.ThrottledNS == nil || *u.ThrottledNS > *o.ThrottledNS) {
			o.ThrottledNS = u.ThrottledNS
		}
		p := process{u.Machine, u.Process}
		if seen[p] {
			continue // two workers of one process report the same usage
		}
		seen[p] = true
		used[u.Machine] += u.CPUSeconds
		o.CPUSeconds += u.CPUSeconds
		o.MaxRSSBytes += u.MaxRSSBytes
	}
	for i := range workers {
		ours, known := used[workers[i].Machine], localSeconds != nil && workers[i].Machine == machine
		if localSeconds != nil {
			ours += *localSeconds
		}
		divideMachine(&o, &workers[i], ours, known)
	}
	return o
}

// divideMachine divides the processor time of a worker's machine into shares. ours is the processor
// time that workers and members used. The remainder for other programs can be negative, because the
// system's clock ticks only 100 times per second.
func divideMachine(o *record.Observed, u *load.Usage, ours float64, known bool) {
	if u.System == nil || u.System.Total() <= 0 {
		return
	}
	total := u.System.Total()
	raiseShare(&o.StolenShare, u.System.Steal/total)
	raiseShare(&o.BusyShare, u.System.Busy()/total)
	if known {
		raiseShare(&o.ForeignShare, max(u.System.Programs()-ours, 0)/total)
	}
}

// raiseShare replaces the share by the given share if the given share is greater.
func raiseShare(to **float64, share float64) {
	if *to == nil || **to < share {
		*to = &share
	}
}

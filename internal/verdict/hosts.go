package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The limits of R32 on the uncertainty of a host's clock. Events of a host can be compared with
// the load's seconds as long as the uncertainty is a small part of one.
const (
	NotedClockNS   = 10e6
	SuspectClockNS = 500e6
	// eventTimes names the figures of R32: times of events and samples. Figures of the load
	// come from monotonic clocks, which cannot be set.
	eventTimes = "events"
)

// Host is one of several machines that ran members or generated load.
type Host struct {
	Name    string
	Lost    string // why it was lost with its members before the load's end; empty if it was not
	Machine string // several hosts can be one
	// Members and Load report which parts of the trial it ran.
	Members, Load bool
	// Shares of all its CPU time, as in Figures.
	StolenShare, BusyShare, ForeignShare float64
	Processors                           int
	// BoundNS is the uncertainty of its clock, and 0 for the clock of the controller's machine.
	// Jumps is how often the clock was set, and SetNS by how much.
	BoundNS, SetNS float64
	Jumps          int
}

// OwnClock holds how the clock of the controller's machine was set during a trial.
type OwnClock struct {
	Times   int
	SetNS   float64
	Members bool // members run on that machine
}

// finding reports a clock that was set. The run compares times of a monotonic clock only, so
// only members can have used the clock that was set.
func (c OwnClock) finding() finding {
	const was = "the clock of the controller's machine was set during the trial (%d times, %s in total)"
	switch {
	case c.Times == 0:
		return fine()
	case c.Members:
		return suspect(was+"; members on this machine use it, so their timeouts may have been early or late", c.Times, text.Duration(c.SetNS))
	}
	return finding{state: Valid, text: fmt.Sprintf(was+"; recorded times continue from the earlier clock", c.Times, text.Duration(c.SetNS))}
}

// eachMachine judges each machine once, under its hosts' names, and returns the worst findings.
func (f *Figures) eachMachine(judge func(h *Host) finding) finding {
	var all []finding
	for i := range f.Hosts {
		h := f.Hosts[i]
		same := func(o Host) bool { return o.Machine == h.Machine }
		if slices.IndexFunc(f.Hosts, same) < i {
			continue
		}
		var names []string
		h.Members, h.Load = false, false
		for _, o := range f.Hosts {
			if same(o) {
				names = append(names, o.Name)
				h.Members, h.Load = h.Members || o.Members, h.Load || o.Load
			}
		}
		h.Name = joinHosts(names)
		all = append(all, judge(&h))
	}
	return worstOf(all)
}

// joinHosts names hosts in a sentence.
func joinHosts(names []string) string {
	if len(names) == 1 {
		return "host " + names[0]
	}
	return fmt.Sprintf("the machine of hosts %s", strings.Join(names, ", "))
}

// addedOn returns the worst effect of the generators on a machine, if a cause is to blame.
func (f *Figures) addedOn(h *Host, c cause) (e Effect) {
	if !h.Load {
		return e
	}
	if len(f.Workers) == 0 {
		if f.blamed(c) {
			e = f.added()
		}
		return e
	}
	for i := range f.Workers {
		w := &f.Workers[i]
		at := slices.IndexFunc(f.Hosts, func(o Host) bool { return strings.HasSuffix(w.Name, " on "+o.Name) })
		if at < 0 || f.Hosts[at].Machine != h.Machine {
			continue
		}
		own := w.figures(f)
		if own.StolenShare = h.StolenShare; own.blamed(c) {
			e = e.union(own.added())
		}
	}
	return e
}

// stolenOn judges one of several machines by R10.
func (f *Figures) stolenOn(h *Host) finding {
	share := h.StolenShare
	if share <= 0 {
		return fine()
	}
	if h.BusyShare > 0 {
		share /= h.BusyShare + h.StolenShare
	}
	e := f.addedOn(h, wasStolen)
	if h.Members {
		e = e.union(f.slowed(missing{share: share, away: timeWithoutCPU(h.StolenShare, h.Processors), busy: h.BusyShare}))
	}
	return f.judged(e, "the hypervisor of %s withheld %s of the CPU time that programs needed", h.Name, text.Share(share))
}

// foreignOn judges one of several machines by R23. Other programs slowed members down as far as
// no CPU was idle, and a generator as far as it waited for a CPU.
func (f *Figures) foreignOn(h *Host) finding {
	if h.ForeignShare <= 0 {
		return fine()
	}
	e := f.addedOn(h, waited)
	if h.Members {
		share := h.ForeignShare * min(h.BusyShare+h.StolenShare, 1)
		e = e.union(f.slowed(missing{share: share, away: share, busy: h.BusyShare}))
	}
	return f.judged(e, "other programs used %s of the CPU time of %s", text.Share(h.ForeignShare), h.Name)
}

// R32UncertainClock reports host clocks that were set during the trial or are too uncertain.
func R32UncertainClock(f *Figures) finding {
	all := []finding{f.OwnClock.finding()}
	var bounds []float64 // of hosts with workers
	for i := range f.Hosts {
		h := &f.Hosts[i]
		bound := text.Duration(h.BoundNS)
		switch {
		case h.Jumps > 0:
			all = append(all, suspect("the clock of host %s was set during the trial (%d times, %s in total) or drifted too much; times of its events may be off by up to a second", h.Name, h.Jumps, text.Duration(h.SetNS)).restrictTo(eventTimes))
		case h.BoundNS > SuspectClockNS:
			all = append(all, suspect("the clock of host %s is uncertain by %s; its events cannot be compared with the load's seconds", h.Name, bound).restrictTo(eventTimes))
		case h.BoundNS > NotedClockNS:
			all = append(all, finding{state: Valid, text: fmt.Sprintf("the clock of host %s is uncertain by %s; its events are shown with that error", h.Name, bound)})
		}
		if h.Load {
			bounds = append(bounds, h.BoundNS)
		}
	}
	if n := len(bounds); n > 1 && f.Seconds > 0 {
		slices.Sort(bounds)
		sum := 0.0
		for _, b := range bounds {
			sum += b
		}
		e := Effect{Throughput: min(sum/float64(n)/(f.Seconds*1e9), 1)}
		all = append(all, f.judged(e, "workers may have begun %s apart because their hosts' clocks are uncertain", text.Duration(bounds[n-1]+bounds[n-2])))
	}
	return worstOf(all)
}

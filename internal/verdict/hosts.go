package verdict

import (
	"fmt"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The limits of R32 on how well a host's clock is known: what happened there can be
// laid beside the load's seconds as long as that is a small part of one.
const (
	NotedClockNS   = 10e6
	SuspectClockNS = 500e6
	// eventTimes names what R32 is about: when events and samples of a host were, and
	// no figure of the load, which is timed by clocks that nobody sets.
	eventTimes = "events"
)

// Host is one of several machines that members were on, or that load came from.
type Host struct {
	Name    string
	Lost    string // why it was, with members, before the load's end; empty if it was not
	Machine string // several hosts can be one
	// What it has of the trial.
	Members, Load bool
	// Shares of all its processor time, as in Figures.
	StolenShare, BusyShare, ForeignShare float64
	Processors                           int
	// BoundNS is how far its clock can have been from where it was thought to be; 0
	// for one with the clock of the process that conducts the run. Jumps is how often
	// it was set, and SetNS by how much.
	BoundNS, SetNS float64
	Jumps          int
}

// OwnClock is how the clock of the machine that conducts the run was set during a trial.
type OwnClock struct {
	Times   int
	SetNS   float64
	Members bool // some are on that machine
}

// finding says it. All times that are compared are by a clock that nobody sets, so that
// only a member can have gone by the other one.
func (c OwnClock) finding() finding {
	const was = "the clock of the machine that conducts the run was set during the trial (%d times, %s in all)"
	switch {
	case c.Times == 0:
		return fine()
	case c.Members:
		return suspect(was+", and members on it go by it: what they did by its time may have been early or late", c.Times, text.Duration(c.SetNS))
	}
	return finding{state: Valid, text: fmt.Sprintf(was+": times in the record go on by what it was before", c.Times, text.Duration(c.SetNS))}
}

// eachMachine judges each machine once, by its hosts' names, and says what is worst.
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
		h.Name = together(names)
		all = append(all, judge(&h))
	}
	return worstOf(all)
}

// together are hosts in a sentence.
func together(names []string) string {
	if len(names) == 1 {
		return "host " + names[0]
	}
	return fmt.Sprintf("the machine of hosts %s", strings.Join(names, ", "))
}

// addedOn is what the generators on a machine added, where that is due to a cause:
// the worst of them.
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
			e = e.or(own.added())
		}
	}
	return e
}

// stolenOn is R10 of one of several machines.
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
		e = e.or(f.slowed(missing{share: share, away: sometime(h.StolenShare, h.Processors), busy: h.BusyShare}))
	}
	return f.judged(e, "what %s runs on took away %s of the processor time that was wanted", h.Name, text.Share(share))
}

// foreignOn is R23 of one of several machines: members there were slowed down as far
// as nothing was idle, and a generator as far as it waited for a processor.
func (f *Figures) foreignOn(h *Host) finding {
	if h.ForeignShare <= 0 {
		return fine()
	}
	e := f.addedOn(h, waited)
	if h.Members {
		share := h.ForeignShare * min(h.BusyShare+h.StolenShare, 1)
		e = e.or(f.slowed(missing{share: share, away: share, busy: h.BusyShare}))
	}
	return f.judged(e, "other programs used %s of the processor time of %s", text.Share(h.ForeignShare), h.Name)
}

// R32Clocks reports clocks of hosts that were set during the trial or are not known well enough.
func R32Clocks(f *Figures) finding {
	all := []finding{f.OwnClock.finding()}
	var bounds []float64 // of hosts with workers
	for i := range f.Hosts {
		h := &f.Hosts[i]
		bound := text.Duration(h.BoundNS)
		switch {
		case h.Jumps > 0:
			all = append(all, suspect("the clock of host %s was set during the trial (%d times, %s in all), or drifted by more than clocks do: what happened there meanwhile can be up to a second away from where it stands", h.Name, h.Jumps, text.Duration(h.SetNS)).of(eventTimes))
		case h.BoundNS > SuspectClockNS:
			all = append(all, suspect("the clock of host %s is known to within %s only: what happened there cannot be laid beside the load's seconds", h.Name, bound).of(eventTimes))
		case h.BoundNS > NotedClockNS:
			all = append(all, finding{state: Valid, text: fmt.Sprintf("the clock of host %s is known to within %s: what happened there is shown that far from the load's times", h.Name, bound)})
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
		all = append(all, f.judged(e, "the workers can have begun %s apart: their hosts' clocks are not known better", text.Duration(bounds[n-1]+bounds[n-2])))
	}
	return worstOf(all)
}

package verdict

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// R32 has these limits for the uncertainty of a host's clock. The host's events can be compared
// with the one-second intervals of the load only if the uncertainty is a small part of a second.
const (
	NotedClockNS   = 10e6
	SuspectClockNS = 500e6
	// eventTimes is the name for the figures that R32 makes suspect: the times of events and
	// samples. R32 does not affect the load's own figures, because they come from monotonic clocks,
	// which cannot be set.
	eventTimes = "events"
)

// ClockChanges reports how the controller's clock was set during a trial. These changes do not
// affect the times in the record, which are based on the clock's setting at the start of the
// process.
type ClockChanges struct {
	Count         int   `json:"times"`  // number of times that the clock was set; the clock is checked once per second
	ClockChangeNS int64 `json:"set_ns"` // sum of these changes; negative if the clock was set back
	// HasMembers reports whether members of the cluster run on the controller's machine, so that
	// setting its clock may affect them.
	HasMembers bool `json:"members"`
}

// finding reports a controller's clock that was set. The run itself uses only a monotonic clock, so
// the change can affect only members on that machine.
func (c *ClockChanges) finding() finding {
	if c == nil || c.Count == 0 {
		return noFinding()
	}
	was := fmt.Sprintf("the clock of the controller's machine was set during the trial (%s, %s in total)", text.Plural(uint64(c.Count), "change"), text.Duration(math.Abs(float64(c.ClockChangeNS))))
	if c.HasMembers {
		return suspect("%s; members on this machine use this clock, so their timeouts may have ended too early or too late", was)
	}
	return finding{state: Valid, text: was + "; the recorded times do not show the change, because the run uses a monotonic clock"}
}

// judgeMachines calls the function `judge` once for each machine, with a Host that combines the
// machine's hosts, and returns the worst findings.
func (f *Figures) judgeMachines(judge func(h *measure.Host) finding) finding {
	var all []finding
	for i := range f.Hosts {
		h := f.Hosts[i]
		same := func(o measure.Host) bool { return o.Machine == h.Machine }
		if slices.IndexFunc(f.Hosts, same) < i {
			continue
		}
		var names []string
		h.HasMembers, h.GeneratesLoad = false, false
		for _, o := range f.Hosts {
			if same(o) {
				names = append(names, o.Name)
				h.HasMembers, h.GeneratesLoad = h.HasMembers || o.HasMembers, h.GeneratesLoad || o.GeneratesLoad
			}
		}
		h.Name = joinHosts(names)
		all = append(all, judge(&h))
	}
	return worstFinding(all)
}

// joinHosts returns words that name the hosts of one machine.
func joinHosts(names []string) string {
	if len(names) == 1 {
		return "host " + names[0]
	}
	return fmt.Sprintf("the machine of hosts %s", strings.Join(names, ", "))
}

// generatorEffectOn returns the worst effect of the generators on a machine. It ignores generators
// whose delay has another cause.
func (f *Figures) generatorEffectOn(h *measure.Host, c cause) (e Effect) {
	if !h.GeneratesLoad {
		return e
	}
	if len(f.Workers) == 0 {
		if f.isMajorCause(c) {
			e = f.generatorEffect()
		}
		return e
	}
	for i := range f.Workers {
		w := &f.Workers[i]
		if at := f.workerHost(w); at == nil || at.Machine != h.Machine {
			continue
		}
		if own := w.figures(f); own.isMajorCause(c) {
			e = e.union(own.generatorEffect())
		}
	}
	return e
}

// judgeSteal applies R10 to the machine h.
func (f *Figures) judgeSteal(h *measure.Host) finding {
	stolen, busy := measure.OrZero(h.StolenShare), measure.OrZero(h.BusyShare)
	if stolen <= 0 {
		return noFinding()
	}
	share := stolen
	if busy > 0 {
		share /= busy + stolen
	}
	e := f.generatorEffectOn(h, stealCause)
	if h.HasMembers {
		e = e.union(f.missingCPUEffect(missingCPU{share: share, windowShare: timeWithoutCPU(stolen, h.CPUs), membersBusy: busy}))
	}
	return f.judgeEffect(e, "the hypervisor of %s withheld %s of the CPU time that programs needed", h.Name, text.Share(share))
}

// judgeOtherPrograms applies R23 to the machine h. Other programs slow members down only while no
// CPU is idle. They slow a generator down only while the generator waits for a CPU.
func (f *Figures) judgeOtherPrograms(h *measure.Host) finding {
	foreign, busy := measure.OrZero(h.ForeignShare), measure.OrZero(h.BusyShare)
	if foreign <= 0 {
		return noFinding()
	}
	e := f.generatorEffectOn(h, cpuWaitCause)
	if h.HasMembers {
		share := foreign * min(busy+measure.OrZero(h.StolenShare), 1)
		e = e.union(f.missingCPUEffect(missingCPU{share: share, windowShare: share, membersBusy: busy}))
	}
	return f.judgeEffect(e, "other programs used %s of the CPU time of %s", text.Share(foreign), h.Name)
}

// R32UncertainClock reports hosts whose clock was set during the trial or is too uncertain.
func R32UncertainClock(f *Figures) finding {
	all := []finding{f.ControllerClock.finding()}
	var bounds []float64 // for hosts with workers
	for i := range f.Hosts {
		h := &f.Hosts[i]
		clock := measure.OrZero(h.Clock)
		bound := max(float64(clock.WidestBoundNS), 0)
		switch {
		case clock.Jumps > 0:
			all = append(all, suspect("the clock of host %s was set during the trial (%s, %s in total) or drifted too much; the times of this host's events may be wrong by up to a second", h.Name, text.Plural(uint64(clock.Jumps), "change"), text.Duration(math.Abs(float64(clock.ClockChangeNS)))).restrictTo(eventTimes))
		case bound > SuspectClockNS:
			all = append(all, suspect("the clock of host %s is uncertain by %s; this host's events cannot be compared with the load's one-second intervals", h.Name, text.Duration(bound)).restrictTo(eventTimes))
		case bound > NotedClockNS:
			all = append(all, finding{state: Valid, text: fmt.Sprintf("the clock of host %s is uncertain by %s; the times of this host's events may be wrong by that amount", h.Name, text.Duration(bound))})
		}
		if h.GeneratesLoad {
			bounds = append(bounds, bound)
		}
	}
	if n := len(bounds); n > 1 && f.Measured.Seconds > 0 {
		slices.Sort(bounds)
		sum := 0.0
		for _, b := range bounds {
			sum += b
		}
		e := Effect{Throughput: min(sum/float64(n)/(f.Measured.Seconds*1e9), 1)}
		all = append(all, f.judgeEffect(e, "workers may have begun %s apart because their hosts' clocks are uncertain", text.Duration(bounds[n-1]+bounds[n-2])))
	}
	return worstFinding(all)
}

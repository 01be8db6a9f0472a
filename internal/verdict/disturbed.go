package verdict

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Rules R5 to R10 and R23 look for disturbances of the measurement. Figures.Added holds the total
// delay that the generator caused, but not the cause of the delay. Each of the rules R5 to R9 looks
// for one cause of this delay. Only the rules for the major causes (see isMajorCause) report the
// delay, and all these rules report the same effect.

// MinBusy is the fraction of the window above which an event loop's own work counts as a cause of
// delay. If an event loop works for half of the time, a response waits for the loop, on average, as
// long as the loop needs for one operation.
const MinBusy = 0.50

// cause is a reason why the generator was late.
type cause int

const (
	unknownCause cause = iota
	stoppedCause
	throttledCause
	cpuWaitCause
	busyCause
	stealCause
)

// isMajorCause reports whether a cause took a large amount of time from the generator's event
// loops: more than half as much time as the largest cause. Paused includes RunDelay, which
// includes ThrottledNS, so isMajorCause subtracts the included times. The process was stopped for
// the remaining paused time or, if longer, for the longest single pause.
func (f *Figures) isMajorCause(c cause) bool {
	m := f.Measured
	stolen := f.StolenShare * m.Seconds * 1e9
	times := map[cause]float64{
		throttledCause: float64(f.ThrottledNS),
		cpuWaitCause:   float64(m.RunDelay - min(f.ThrottledNS, m.RunDelay)),
		stealCause:     stolen,
		stoppedCause:   math.Max(float64(min(m.LongestPause, m.Paused)), float64(m.Paused-m.RunDelay)-stolen),
	}
	largest := 0.0
	for _, ns := range times {
		largest = math.Max(largest, ns)
	}
	threshold := math.Max(largest/2, 1e-3*m.Seconds*1e9) // no cause explains less
	busy := f.busyShare() > MinBusy && float64(m.LoopCPU) > largest
	switch c {
	case busyCause:
		return busy
	case unknownCause:
		return !busy && largest <= threshold
	}
	return !busy && times[c] > threshold
}

// busyShare returns the fraction of the window during which the loops worked.
func (f *Figures) busyShare() float64 {
	if f.Loops <= 0 || f.Measured.Seconds <= 0 {
		return 0
	}
	return float64(f.Measured.LoopCPU) / (float64(f.Loops) * f.Measured.Seconds * 1e9)
}

// generatorText returns the words for the load generator in a message. They name the generator's
// host if the run has several hosts and only one of them generated load.
func (f *Figures) generatorText() string {
	host := ""
	for i := range f.Hosts {
		switch h := &f.Hosts[i]; {
		case h.GeneratesLoad && host != "":
			return "the load generator" // R30 names each worker
		case h.GeneratesLoad:
			host = h.Name
		}
	}
	if host == "" {
		return "the load generator"
	}
	return "the load generator on " + host
}

// R5GeneratorPaused reports that the load generator's event loops missed their own wake-ups, if R6
// and R7 do not explain the delay.
func R5GeneratorPaused(f *Figures) finding {
	if !f.isMajorCause(stoppedCause) {
		return noFinding()
	}
	return f.judgeEffect(f.generatorEffect(), "%s was paused for %s in total%s, and for up to %s at once: %s",
		f.generatorText(), text.Duration(float64(f.Measured.Paused)), f.loopCountText(), text.Duration(float64(f.Measured.LongestPause)), f.stopReason())
}

// stopReason returns the probable reason why the generator's threads did not run. The system
// measures run queue wait and CPU steal. Neither includes the time during which a program was
// stopped or waited for a memory page.
func (f *Figures) stopReason() string {
	m := f.Measured
	if queued := m.RunDelay - min(f.ThrottledNS, m.RunDelay); 2*queued >= min(m.Paused, m.LongestPause) {
		return fmt.Sprintf("its threads waited %s for a CPU while other programs ran (low priority, or all CPUs busy)", text.Duration(float64(queued)))
	}
	return "the process was stopped, or the hypervisor withheld the CPU"
}

// loopCountText returns words that state the number of event loops over which a time was summed. It
// returns an empty string for a single loop.
func (f *Figures) loopCountText() string {
	switch {
	case f.Loops < 2:
		return ""
	case len(f.Workers) < 2:
		return fmt.Sprintf(" (sum over its %d loops)", f.Loops)
	}
	return fmt.Sprintf(" (sum over the %d loops of %d workers)", f.Loops, len(f.Workers))
}

// R6GeneratorThrottled reports that a control group's CPU quota paused the generator.
func R6GeneratorThrottled(f *Figures) finding {
	if !f.isMajorCause(throttledCause) {
		return noFinding()
	}
	return f.judgeEffect(f.generatorEffect(), "the control group of %s used up its CPU quota and was paused for %s (sum over its CPUs)",
		f.generatorText(), text.Duration(float64(f.ThrottledNS)))
}

// R7GeneratorStarved reports that the generator's loops were ready to run but waited for a CPU.
func R7GeneratorStarved(f *Figures) finding {
	if !f.isMajorCause(cpuWaitCause) {
		return noFinding()
	}
	return f.judgeEffect(f.generatorEffect(), "the threads of %s waited for a CPU for %s of the window",
		f.generatorText(), text.Share(float64(f.Measured.RunDelay)/(float64(max(f.Loops, 1))*f.Measured.Seconds*1e9)))
}

// R8GeneratorLate reports that the generator sent operations or read responses late.
func R8GeneratorLate(f *Figures) finding {
	if !f.isMajorCause(unknownCause) {
		return noFinding()
	}
	if late := measure.Percentile(f.Measured.Disturbance.OwnDelay, 0, 99); f.OpenLoop && late.NS > 0 { // the p99 of a single worker is not known
		return f.judgeEffect(f.generatorEffect(), "%s sent operations late (p99 %s) or read responses late", f.generatorText(), text.Duration(late.NS))
	}
	return f.judgeEffect(f.generatorEffect(), "%s sent operations or read responses late (on average %s per operation)", f.generatorText(), text.Duration(f.Added.MeanNS))
}

// R9GeneratorSaturated reports that the generator's loops were busy for most of the window.
func R9GeneratorSaturated(f *Figures) finding {
	if !f.isMajorCause(busyCause) {
		return noFinding()
	}
	return f.judgeEffect(f.generatorEffect(), "the event loops of %s were busy %s of the time, so responses had to wait; the figures partly describe the load generator instead of the store",
		f.generatorText(), text.Share(f.busyShare()))
}

// R10CPUSteal reports CPU time that the hypervisor withheld, as a fraction of the CPU time that
// programs needed. If the steal delayed the generator, Figures.Added includes the delay. The steal
// slowed members on the same machine down by the same fraction.
func R10CPUSteal(f *Figures) finding {
	if len(f.Hosts) > 0 {
		return f.judgeMachines(f.judgeSteal)
	}
	e := Effect{}
	if f.isMajorCause(stealCause) {
		e = f.generatorEffect()
	}
	share := f.StolenShare
	if f.BusyShare > 0 {
		share = f.StolenShare / (f.BusyShare + f.StolenShare)
	}
	if f.MembersOnMachine {
		by := f.missingCPUEffect(missingCPU{share, timeWithoutCPU(f.StolenShare, measure.OrZero(f.Machine).CPUs), f.MembersBusy, float64(f.Measured.LongestPause)})
		e = e.union(by)
	}
	return f.judgeEffect(e, "the hypervisor withheld %s of the CPU time that programs needed", text.Share(share))
}

// timeWithoutCPU returns an upper bound for the fraction of the window during which the hypervisor
// withheld at least one CPU. Even on an idle machine, operations cannot have waited for a CPU
// during a larger fraction of the window.
func timeWithoutCPU(stolen float64, processors int) float64 {
	if processors <= 0 {
		return 1
	}
	return min(stolen*float64(processors), 1)
}

// R23OtherPrograms reports other programs on a machine with members. R23 counts their CPU time only
// in proportion to how busy the machine was, because a program on an idle CPU slows nothing down.
func R23OtherPrograms(f *Figures) finding {
	if len(f.Hosts) > 0 {
		return f.judgeMachines(f.judgeOtherPrograms)
	}
	if !f.MembersOnMachine || f.ForeignShare <= 0 {
		return noFinding()
	}
	share := f.ForeignShare * math.Min(f.BusyShare+f.StolenShare, 1)
	e := f.missingCPUEffect(missingCPU{share, share, f.MembersBusy, float64(f.Measured.LongestPause)})
	return f.judgeEffect(e, "other programs used %s of the machine's CPU time", text.Share(f.ForeignShare))
}

package verdict

import (
	"fmt"
	"math"

	"github.com/quorumbench/quorumbench/internal/text"
)

// The rules R5 to R10 and R23 ask what disturbed the measuring. What the
// generator added to the times is measured as a whole (Added); of R5 to R9 those
// say so whose causes took most time from it, all with the one effect.

// MinBusy is the share of the window from which on a loop's own work is a
// cause of waiting: an event loop that is at work for half of the time lets
// answers wait for as long as its work takes on average.
const MinBusy = 0.50

// cause is why the generator was late.
type cause int

const (
	unknownCause cause = iota
	wasStopped
	wasThrottled
	waited
	wasBusy
	wasStolen
)

// blamed reports whether a cause took more than half as much time from the
// generator's loops as the one that took most. What they were not given a
// processor for is in the time that they waited, what they waited in the time
// that they paused; a single pause that is longer than that explains was a stop.
func (f *Figures) blamed(c cause) bool {
	stolen := f.StolenShare * f.Seconds * 1e9
	times := map[cause]float64{
		wasThrottled: float64(f.ThrottledNS),
		waited:       float64(f.RunDelayNS - min(f.ThrottledNS, f.RunDelayNS)),
		wasStolen:    stolen,
		wasStopped:   math.Max(float64(min(f.LongestPauseNS, f.PausedNS)), float64(f.PausedNS-f.RunDelayNS)-stolen),
	}
	most := 0.0
	for _, ns := range times {
		most = math.Max(most, ns)
	}
	least := math.Max(most/2, 1e-3*f.Seconds*1e9) // below, it is none of these
	busy := f.busy() > MinBusy && float64(f.LoopCPUNS) > most
	switch c {
	case wasBusy:
		return busy
	case unknownCause:
		return !busy && most <= least
	}
	return !busy && times[c] > least
}

// busy is the share of the window in which the loops were at work.
func (f *Figures) busy() float64 {
	if f.Loops <= 0 || f.Seconds <= 0 {
		return 0
	}
	return float64(f.LoopCPUNS) / (float64(f.Loops) * f.Seconds * 1e9)
}

// generator is what sentences call it: by its host, where that is one of several.
func (f *Figures) generator() string {
	on := ""
	for i := range f.Hosts {
		switch h := &f.Hosts[i]; {
		case h.Load && on != "":
			return "the generator" // R30 names each
		case h.Load:
			on = h.Name
		}
	}
	if on == "" {
		return "the generator"
	}
	return "the generator on " + on
}

// R5Stopped reports that the load generator's event loops were late for their own wake-ups,
// and that R6 and R7 do not explain it.
func R5Stopped(f *Figures) finding {
	if !f.blamed(wasStopped) {
		return fine()
	}
	return f.judged(f.added(), "%s stood still for %s in all%s, %s at once: %s",
		f.generator(), text.Duration(float64(f.PausedNS)), f.overLoops(), text.Duration(float64(f.LongestPauseNS)), f.whyStopped())
}

// whyStopped says what can have kept the generator's threads from running: the system
// counts for how long they were ready and waited in a run queue, and for how long the host
// took processors away; a program that is stopped, or sleeps on a page, is in neither.
func (f *Figures) whyStopped() string {
	if queued := f.RunDelayNS - min(f.ThrottledNS, f.RunDelayNS); 2*queued >= min(f.PausedNS, f.LongestPauseNS) {
		return fmt.Sprintf("the scheduler ran other programs while its threads waited %s for a processor; its priority (nice) is low, or the processors are full", text.Duration(float64(queued)))
	}
	return "it was stopped, or its host took the processor away"
}

// overLoops says what a time is the sum over, where that is more than one loop.
func (f *Figures) overLoops() string {
	switch {
	case f.Loops < 2:
		return ""
	case len(f.Workers) < 2:
		return fmt.Sprintf(" (the sum over its %d loops)", f.Loops)
	}
	return fmt.Sprintf(" (the sum over the %d loops of %d workers)", f.Loops, len(f.Workers))
}

// R6Throttled reports that a control group's processor quota held the generator back.
func R6Throttled(f *Figures) finding {
	if !f.blamed(wasThrottled) {
		return fine()
	}
	return f.judged(f.added(), "%s's control group was held back for %s (the sum over its processors): give it more processor time",
		f.generator(), text.Duration(float64(f.ThrottledNS)))
}

// R7WaitedForProcessor reports that the generator's loops were ready to run and waited for a processor.
func R7WaitedForProcessor(f *Figures) finding {
	if !f.blamed(waited) {
		return fine()
	}
	return f.judged(f.added(), "%s's threads waited for a processor for %s of %s",
		f.generator(), text.Share(float64(f.RunDelayNS)/(float64(max(f.Loops, 1))*f.Seconds*1e9)), "the window")
}

// R8SentLate reports that the generator sent due operations late, or read replies late.
func R8SentLate(f *Figures) finding {
	if !f.blamed(unknownCause) {
		return fine()
	}
	if f.OpenLoop {
		return f.judged(f.added(), "%s sent operations late (%s at p99) or read their answers late", f.generator(), text.Duration(f.OwnLatenessP99NS))
	}
	return f.judged(f.added(), "%s read answers late, or sent late what was due (%s an operation)", f.generator(), text.Duration(f.Added.MeanNS))
}

// R9GeneratorBusy reports that the generator's loops had hardly any time left.
func R9GeneratorBusy(f *Figures) finding {
	if !f.blamed(wasBusy) {
		return fine()
	}
	return f.judged(f.added(), "%s's loops were at work for %s of the time, so that answers waited for them: the figures are its limit as much as the store's",
		f.generator(), text.Share(f.busy()))
}

// R10Stolen reports CPU time that the machine's host withheld. It counts that time against
// the time in which the machine had work, or against the window where that is less. Where
// the generator was late because of it, the delay is in what the generator added; members on
// the same machine were slower by as much.
func R10Stolen(f *Figures) finding {
	if len(f.Hosts) > 0 {
		return f.eachMachine(f.stolenOn)
	}
	e := Effect{}
	if f.blamed(wasStolen) {
		e = f.added()
	}
	share := f.StolenShare
	if f.BusyShare > 0 {
		share = f.StolenShare / (f.BusyShare + f.StolenShare)
	}
	if f.MembersShare {
		by := f.slowed(missing{share, sometime(f.StolenShare, f.Processors), f.MembersBusy, float64(f.LongestPauseNS)})
		e = e.or(by)
	}
	return f.judged(e, "the machine's host took away %s of the processor time that was wanted", text.Share(share))
}

// sometime is the share of the window in which some of so many processors was taken
// away, at most: for no longer than that can an operation have waited for one,
// however little the machine had to do.
func sometime(stolen float64, processors int) float64 {
	if processors <= 0 {
		return 1
	}
	return min(stolen*float64(processors), 1)
}

// R23ForeignPrograms reports other programs on a machine with members. The CPU time that
// they used was missing only as far as the machine had no idle CPU.
func R23ForeignPrograms(f *Figures) finding {
	if len(f.Hosts) > 0 {
		return f.eachMachine(f.foreignOn)
	}
	if !f.MembersShare || f.ForeignShare <= 0 {
		return fine()
	}
	share := f.ForeignShare * math.Min(f.BusyShare+f.StolenShare, 1)
	e := f.slowed(missing{share, share, f.MembersBusy, float64(f.LongestPauseNS)})
	return f.judged(e, "other programs used %s of the machine's processor time", text.Share(f.ForeignShare))
}

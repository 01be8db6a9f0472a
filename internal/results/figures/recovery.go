package figures

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// recoveryTolerance is the relative difference from the level before the fault within which a
// figure counts as recovered. deviationFactor is a factor for the largest deviation before the
// fault. A deviation up to this product also counts as recovered, because it may be due to chance.
const (
	recoveryTolerance = 0.05
	deviationFactor   = 1.5
)

// computeRecovery sets the recovery of all faults that were injected, and adds one sentence about
// the outages of each kind of fault to the trial's notes. If it returns an error, the recovery is
// unknown.
func computeRecovery(t *record.Trial, read func() (*measure.WindowTimeline, error)) error {
	for i := range t.Faults {
		if at := t.Faults[i].BeganAt; at != nil && *at < 0 {
			return fmt.Errorf("fault %d began before the window", i+1)
		}
	}
	if len(t.Faults) > fault.MaxFaults {
		return fmt.Errorf("the trial has more than %d faults", fault.MaxFaults)
	}
	c, err := read()
	if err != nil {
		return err
	}
	seconds := float64(len(c.P99))
	if seconds < math.Floor(t.Seconds) {
		return fmt.Errorf("it describes %.0f of the %.0f seconds of the window", seconds, math.Floor(t.Seconds))
	}
	window := min(t.Seconds, seconds)
	findOutages(t.Faults, &c.Completed, window)
	findRecovery(t.Faults, c, window, t.Open(), func(number uint64) string { return memberName(t, number) })
	t.Notes, t.RecoveryKnown = append(t.Notes, record.OutageSentences(t.Faults)...), true
	return nil
}

// memberName returns the name of the member with the given number. It returns "" if the number is 0
// or not known.
func memberName(t *record.Trial, number uint64) string {
	for i := range t.ByMember {
		if m := &t.ByMember[i]; number != 0 && uint64(m.ID) == number {
			return m.Name
		}
	}
	return ""
}

// findOutages sets the outages of all faults that were injected. window is the length of the window
// in seconds.
func findOutages(all []record.Fault, p *measure.Pulse, window float64) {
	since := 0.0 // end of the previous fault's effects
	for i := range all {
		f := &all[i]
		if !f.Injected() || *f.BeganAt >= window {
			continue
		}
		until := nextFaultTime(all, i, window)
		if from := ms(*f.BeganAt); p.HasCompletion(ms(since), from) { // otherwise, no gap before the fault can be compared with the outage
			outage, before, ok := p.Outage(ms(since), from, ms(until))
			f.LongestGapBefore = new(float64(before.Length()) / 1000)
			if ok {
				f.Outage, f.OutageStart = new(float64(outage.Length())/1000), new(float64(outage.From)/1000)
				f.OutageUnfinished = outage.To >= ms(until)
				since = float64(outage.To) / 1000
			}
		}
		since = effectsEnd(f, p, since, until, window)
	}
}

// findRecovery sets the recovery of all faults that were injected. It must be called after
// findOutages. open reports whether the load is an open loop. The function `name` returns the name
// of the member with the given number, or "" if the member has no name.
func findRecovery(all []record.Fault, c *measure.WindowTimeline, window float64, open bool, name func(member uint64) string) {
	since, unfinished := 0.0, false // unfinished: the previous outage had not ended when the next fault began
	var injected []injectedFault
	for i := range all {
		f := &all[i]
		if !f.Injected() || *f.BeganAt >= window {
			continue
		}
		until := nextFaultTime(all, i, window)
		began := injectedFault{Fault: f, began: int(*f.BeganAt * slotsPerSecond), since: slot(since), affectedUntil: slot(since)}
		if unfinished {
			began.affectedUntil = began.began
		}
		injected, unfinished = append(injected, began), f.OutageUnfinished
		f.ByPart = partOutages(c, since, *f.BeganAt, until, name)
		f.Clients = clientOutages(c, since, *f.BeganAt, until)
		findWatchEffects(f, c.WatchTimeline, since, until, window)
		if f.LongestGapBefore != nil {
			ended := *f.BeganAt // end of the outage
			if f.Outage != nil {
				ended = *f.OutageStart + *f.Outage
			}
			if at, ok := findThroughputRecovery(c.Done, slot(since), slot(*f.BeganAt), slot(until), open); ok && !f.OutageUnfinished {
				f.ThroughputRecoveredAt = &ended
				if at > slot(*f.BeganAt) {
					f.ThroughputRecoveredAt = new(max(float64(at)/slotsPerSecond, ended))
				}
			}
			if at, ok := findP99Recovery(c.P99, since, *f.BeganAt, until); ok && !f.OutageUnfinished {
				f.P99RecoveredAt = new(max(at, ended))
			}
		}
		since = effectsEnd(f, &c.Completed, since, until, window)
	}
	attributeFailures(injected, c.Failures)
	attributeLateEvents(injected, c.WatchTimeline)
}

// effectsEnd returns the time at which the known effects of a fault and of the faults before it
// ended. `since` is this time for the faults before it, and `until` is the time at which the next
// fault began.
func effectsEnd(f *record.Fault, p *measure.Pulse, since, until, window float64) float64 {
	outageEnd := measure.OrZero(f.OutageStart) + measure.OrZero(f.Outage)
	if !p.HasCompletion(ms(*f.BeganAt), ms(until)) {
		outageEnd = until
	}
	return min(max(since, *f.BeganAt, outageEnd, measure.OrZero(f.HealedAt), measure.OrZero(f.RecoveredAt), measure.OrZero(f.ThroughputRecoveredAt)), window)
}

// nextFaultTime returns the time at which the next injected fault began, or the end of the window.
func nextFaultTime(all []record.Fault, i int, window float64) float64 {
	for _, next := range all[i+1:] {
		if next.Injected() {
			return min(window, *next.BeganAt)
		}
	}
	return window
}

// attributeFailures attributes each failure to the fault that caused it, and sets FirstFailureAt.
func attributeFailures(all []injectedFault, failures []measure.WindowFailures) {
	for _, failed := range failures {
		f := findCause(all, failed.Due, failed.End)
		if f == nil {
			continue
		}
		f.Definite += failed.Definite
		f.Indefinite += failed.Indefinite
		if at := max(float64(failed.End)/slotsPerSecond, *f.BeganAt); f.FirstFailureAt == nil || at < *f.FirstFailureAt {
			f.FirstFailureAt = &at
		}
	}
}

// findThroughputRecovery returns the first slot from which the throughput of every interval of one
// second is within the bounds. The bounds follow from the throughput before the fault.
func findThroughputRecovery(done []uint32, since, began, until int, open bool) (at int, ok bool) {
	until = min(until, len(done))
	if began-since < slotsPerSecond || until-began < slotsPerSecond {
		return 0, false
	}
	sums := make([]float64, until-since+1) // sums[i] is the sum of the first i slots from `since`
	for i, n := range done[since:until] {
		sums[i+1] = sums[i] + float64(n)
	}
	second := func(from int) float64 { return sums[from-since+slotsPerSecond] - sums[from-since] }
	mean := sums[began-since] / float64(began-since) * slotsPerSecond
	least, most := mean, mean
	for from := since; from+slotsPerSecond <= began; from++ {
		least, most = min(least, second(from)), max(most, second(from))
	}
	floor, ceiling := min(mean*(1-recoveryTolerance), mean-deviationFactor*(mean-least)), math.Inf(1)
	if open {
		ceiling = max(mean*(1+recoveryTolerance), mean+deviationFactor*(most-mean))
	}
	last := until - slotsPerSecond
	for at = last + 1; at > began; at-- {
		if x := second(at - 1); x < floor || x > ceiling {
			break
		}
	}
	return at, mean > 0 && at <= last
}

// findP99Recovery returns the time after which the p99 of every whole second is at most a bound
// that follows from the p99s before the fault.
// If this is true for all whole seconds since the start of the fault, it returns the start of the
// fault.
func findP99Recovery(all []measure.Figure, since, began, until float64) (at float64, ok bool) {
	var before []float64
	for i := int(math.Ceil(since)); i+1 <= int(began); i++ {
		if i < len(all) && all[i].Known {
			before = append(before, all[i].NS)
		}
	}
	if len(before) == 0 {
		return 0, false
	}
	median := stat.UpperMedian(before)
	bound := max(median*(1+recoveryTolerance), median+deviationFactor*(slices.Max(before)-median))
	at, ok = began, false
	for i := int(began); i+1 <= int(until) && i < len(all); i++ {
		switch {
		case all[i].Failed, all[i].Known && all[i].NS > bound:
			at, ok = float64(i+1), false
		case all[i].Known:
			ok = true
		}
	}
	return at, ok
}

// partOutages returns the outages of single members and of single operations.
func partOutages(c *measure.WindowTimeline, since, began, until float64, name func(uint64) string) (out []record.PartOutage) {
	add := func(p record.PartOutage, pulse *measure.Pulse) {
		if !pulse.HasCompletion(ms(since), ms(began)) {
			return
		}
		if outage, _, ok := pulse.Outage(ms(since), ms(began), ms(until)); ok {
			p.Outage, p.OutageStart = new(float64(outage.Length())/1000), new(float64(outage.From)/1000)
			p.Unfinished = outage.To >= ms(until)
		}
		out = append(out, p)
	}
	for member, pulse := range c.Members {
		if known := name(member); known != "" {
			add(record.PartOutage{Member: known}, pulse)
		}
	}
	for asked, pulse := range c.Operations {
		if p := (record.PartOutage{Operation: asked.Kind.String()}); len(c.Operations) > 1 {
			if asked.Kind.Reads() {
				p.Consistency = asked.Consistency.String()
			}
			add(p, pulse)
		}
	}
	slices.SortFunc(out, func(a, b record.PartOutage) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Consistency, b.Consistency), cmp.Compare(a.Member, b.Member))
	})
	return out
}

// clientOutages summarizes the outages of single clients.
func clientOutages(c *measure.WindowTimeline, since, began, until float64) *record.ClientOutages {
	if c.Clients <= 0 || c.WaitsTruncated {
		return nil
	}
	before, longest, lasted := 0, map[uint32]int{}, map[uint32]bool{}
	for _, w := range c.Waits {
		switch {
		case w.From < ms(since) || w.From >= ms(until): // the wait began before the effects of the previous fault had ended, or after this fault's period
		case w.To <= ms(began):
			before = max(before, w.Length())
		default:
			if length := min(w.To, ms(until)) - w.From; length > longest[w.Client] {
				longest[w.Client], lasted[w.Client] = length, w.To >= ms(until)
			}
		}
	}
	out := &record.ClientOutages{Clients: max(c.Clients, len(longest))}
	lengths := make([]float64, 0, len(longest)) // the outages of all other clients are 0; a damaged file may contain a huge number of clients
	for client, length := range longest {
		if length <= before+1 {
			length = 0
		} else if lasted[client] {
			out.UnfinishedOutages++
		}
		lengths = append(lengths, float64(length)/1000)
	}
	slices.Sort(lengths)
	if i := out.Clients/2 - (out.Clients - len(lengths)); i >= 0 && i < len(lengths) {
		out.Median = lengths[i]
	}
	if len(lengths) > 0 {
		out.Worst = lengths[len(lengths)-1]
	}
	return out
}

package record

import (
	"cmp"
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// within is the relative difference from the level before the fault within which a figure counts as
// recovered. beyond is a factor for the largest deviation before the fault. A deviation up to this
// product also counts as recovered, because it may be due to chance.
const (
	within = 0.05
	beyond = 1.5
)

// FindOutages sets the outages of all faults that were injected. window is the length of the window
// in seconds.
func FindOutages(all []Fault, p *measure.Pulse, window float64) {
	ms := func(s float64) int { return int(s * 1000) }
	since := 0.0 // end of the previous fault's effects
	for i := range all {
		f := &all[i]
		if !f.Done() || *f.Began >= window {
			continue
		}
		until := untilNext(all, i, window)
		if from := ms(*f.Began); p.AnyDone(ms(since), from) { // otherwise, no gap before the fault can be compared with the outage
			outage, before, ok := p.Outage(ms(since), from, ms(until))
			f.LongestBefore = new(float64(before.Length()) / 1000)
			if ok {
				f.Outage, f.OutageFrom = new(float64(outage.Length())/1000), new(float64(outage.From)/1000)
				f.OutageLasted = outage.To >= ms(until)
				since = float64(outage.To) / 1000
			}
		}
		since = max(since, *f.Began, orZero(f.Healed), orZero(f.Ready))
	}
}

// FindRecovery sets the recovery of all faults that were injected. It must be called after
// FindOutages. open reports whether the load is an open loop. The function `name` returns the name
// of the member with a number, or "" if the member has no name.
func FindRecovery(all []Fault, c *measure.WindowTimeline, window float64, open bool, name func(member uint64) string) {
	since := 0.0
	for i := range all {
		f := &all[i]
		if !f.Done() || *f.Began >= window {
			continue
		}
		until := untilNext(all, i, window)
		f.Recovery = Recovery{}
		f.failures(c, until)
		f.Parts = parts(c, since, *f.Began, until, name)
		f.Clients = clients(c, since, *f.Began, until)
		f.findWatchEffects(c.Watched, since, until)
		if f.LongestBefore != nil {
			ended := *f.Began // end of the outage
			if f.Outage != nil {
				ended = *f.OutageFrom + *f.Outage
			}
			if at, ok := throughputBack(c.Done, slot(since), slot(*f.Began), slot(until), open); ok && !f.OutageLasted {
				f.ThroughputBack = &ended
				if at > slot(*f.Began) {
					f.ThroughputBack = new(max(float64(at)/slotsPerSecond, ended))
				}
			}
			if at, ok := p99Back(c.P99, since, *f.Began, until); ok && !f.OutageLasted {
				f.P99Back = new(max(at, ended))
			}
		}
		since = max(since, *f.Began, orZero(f.Healed), orZero(f.Ready), orZero(f.ThroughputBack))
	}
}

const slotsPerSecond = measure.Slots

// slot returns the index of the first slot that begins at or after a time.
func slot(seconds float64) int { return int(math.Ceil(seconds*slotsPerSecond - 1e-9)) }

// untilNext returns the time at which the next injected fault began, or the end of the window.
func untilNext(all []Fault, i int, window float64) float64 {
	for _, next := range all[i+1:] {
		if next.Done() {
			return min(window, *next.Began)
		}
	}
	return window
}

// failures sets FirstFailure and counts the failures. It begins with the slot in which the fault
// began.
func (f *Fault) failures(c *measure.WindowTimeline, until float64) {
	first := int(*f.Began * slotsPerSecond)
	for at := first; at < min(int(until*slotsPerSecond), len(c.Done)); at++ {
		n := uint64(c.Definite[at]) + uint64(c.Indefinite[at])
		if n > 0 && f.FirstFailure == nil {
			f.FirstFailure = new(max(float64(at)/slotsPerSecond, *f.Began))
		}
		f.Definite += uint64(c.Definite[at])
		f.Indefinite += uint64(c.Indefinite[at])
	}
}

// throughputBack returns the first slot after which every interval of one second is within bounds.
func throughputBack(done []uint32, since, began, until int, open bool) (at int, ok bool) {
	until = min(until, len(done))
	if began-since < slotsPerSecond || until-began < slotsPerSecond {
		return 0, false
	}
	sums := make([]float64, until+1) // for each index, the sum of all slots before it
	for i := range until {
		sums[i+1] = sums[i] + float64(done[i])
	}
	second := func(from int) float64 { return sums[from+slotsPerSecond] - sums[from] }
	mean := (sums[began] - sums[since]) / float64(began-since) * slotsPerSecond
	least, most := mean, mean
	for from := since; from+slotsPerSecond <= began; from++ {
		least, most = min(least, second(from)), max(most, second(from))
	}
	floor, ceiling := min(mean*(1-within), mean-beyond*(mean-least)), math.Inf(1)
	if open {
		ceiling = max(mean*(1+within), mean+beyond*(most-mean))
	}
	last := until - slotsPerSecond
	for at = last + 1; at > began; at-- {
		if x := second(at - 1); x < floor || x > ceiling {
			break
		}
	}
	return at, mean > 0 && at <= last
}

// p99Back returns the time after which the p99 of every second is within bounds. If all seconds are
// within bounds, this is the start of the fault.
func p99Back(all []measure.Figure, since, began, until float64) (at float64, ok bool) {
	var before []float64
	for i := int(math.Ceil(since)); i+1 <= int(began); i++ {
		if i < len(all) && all[i].Known {
			before = append(before, all[i].NS)
		}
	}
	if len(before) == 0 {
		return 0, false
	}
	slices.Sort(before)
	median := before[len(before)/2]
	bound := max(median*(1+within), median+beyond*(before[len(before)-1]-median))
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

// parts returns the outages of single members and of single operations.
func parts(c *measure.WindowTimeline, since, began, until float64, name func(uint64) string) (out []PartOutage) {
	ms := func(s float64) int { return int(s * 1000) }
	add := func(p PartOutage, pulse *measure.Pulse) {
		if !pulse.AnyDone(ms(since), ms(began)) {
			return
		}
		if outage, _, ok := pulse.Outage(ms(since), ms(began), ms(until)); ok {
			p.Outage, p.From = new(float64(outage.Length())/1000), new(float64(outage.From)/1000)
			p.Lasted = outage.To >= ms(until)
		}
		out = append(out, p)
	}
	for member, pulse := range c.Members {
		if known := name(member); known != "" {
			add(PartOutage{Member: known}, pulse)
		}
	}
	for asked, pulse := range c.Operations {
		if p := (PartOutage{Operation: asked.Kind.String()}); len(c.Operations) > 1 {
			if asked.Kind.Reads() {
				p.Consistency = asked.Consistency.String()
			}
			add(p, pulse)
		}
	}
	slices.SortFunc(out, func(a, b PartOutage) int {
		return cmp.Or(cmp.Compare(a.Operation, b.Operation), cmp.Compare(a.Consistency, b.Consistency), cmp.Compare(a.Member, b.Member))
	})
	return out
}

// clients summarizes the outages of single clients.
func clients(c *measure.WindowTimeline, since, began, until float64) *ClientOutages {
	if c.Clients == 0 || c.Crowded {
		return nil
	}
	ms := func(s float64) int { return int(s * 1000) }
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
	out := &ClientOutages{Clients: max(c.Clients, len(longest))}
	all := make([]float64, out.Clients-len(longest), out.Clients)
	for client, length := range longest {
		if length <= before+1 {
			length = 0
		} else if lasted[client] {
			out.Lasted++
		}
		all = append(all, float64(length)/1000)
	}
	slices.Sort(all)
	out.Median, out.Worst = all[len(all)/2], all[len(all)-1]
	return out
}

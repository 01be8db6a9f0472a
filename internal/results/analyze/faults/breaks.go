// Package faults reports the outages that injected faults caused, and their lengths.
package faults

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// KindEffects holds the effects of one kind of fault on the cluster of a trial and its repeats,
// over all faults with completed operations before them.
type KindEffects struct {
	What  string // such as "kill leader for 3s"
	Row   *analyze.Row
	Times int
	// Lasted is the number of outages that were not over at the next fault or the end of the
	// window: their lengths are lower bounds.
	Lasted int
	// FailedOrInvalid is the number of faults that were not injected as configured
	// (record.Fault.Failure), or belong to an invalid trial. They count like the others.
	FailedOrInvalid int
	// Dependent reports whether several faults hit one cluster, and so share its state.
	Dependent bool
	last      *record.Trial // the trial of the last fault that was added
	// Definite and Indefinite count the errors of all faults (record.Recovery).
	Definite, Indefinite uint64
	// EventCounts sums over all faults; nil without watch events and expired leases.
	EventCounts *EventCounts
	Spans       []Period // in the order of PeriodKinds
}

// Period is one period of a kind of fault, with its lengths over all faults.
type Period struct {
	PeriodKind
	// All holds the known lengths in ascending order, in seconds; 0 for no outage.
	All []float64
	// Median is the median of All, with its interval if HasInterval (stats.Median).
	Median      stats.Interval
	HasInterval bool
}

// PeriodKind describes a period that is known for faults.
type PeriodKind struct {
	Name  string // in files
	Title string // in tables
	wide  bool   // left out of terminal tables
	// longest reports whether the period is the longest time without a success, for which 0 means
	// none.
	longest bool
	of      func(t *record.Trial, f *record.Fault) *float64
}

// PeriodKinds returns the periods that describe a fault, in seconds: the longest time without any
// success, that of the broken member and that of the others; the rest start with the fault.
func PeriodKinds() []PeriodKind { return append(outageSpans(), spansSinceFault()...) }

// outageSpans returns the longest times without a success, of all operations and of parts.
func outageSpans() []PeriodKind {
	return []PeriodKind{
		{"outage", "outage", false, true, func(_ *record.Trial, f *record.Fault) *float64 {
			if f.Outage == nil {
				return new(0.0)
			}
			return f.Outage
		}},
		{"faulted_member", "at the member", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			return partOutage(f, func(p *record.PartOutage) bool { return p.Member != "" && p.Member == f.Member })
		}},
		{"other_members", "at other members", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			return partOutage(f, func(p *record.PartOutage) bool {
				return p.Member != "" && p.Member != f.Member && f.Member != record.AllMembers
			})
		}},
		{"worst_client", "worst client", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			if f.Clients == nil || f.Clients.Lasted > 0 {
				return nil
			}
			return new(f.Clients.Worst)
		}},
		{"median_client", "median client", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			if f.Clients == nil || 2*f.Clients.Lasted >= f.Clients.Clients {
				return nil
			}
			return new(f.Clients.Median)
		}},
		{"writes", "write outage", true, true, func(_ *record.Trial, f *record.Fault) *float64 { return operationOutage(f, kv.Kind.Writes) }},
		{"reads", "read outage", true, true, func(_ *record.Trial, f *record.Fault) *float64 { return operationOutage(f, kv.Kind.Reads) }},
		{"events", "watch outage", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			switch {
			case f.Watch == nil || f.Watch.Lasted:
				return nil
			case f.Watch.Outage == nil:
				return new(0.0)
			}
			return f.Watch.Outage
		}},
		{"latest_event", "latest event", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			if f.Watch == nil {
				return nil
			}
			return f.Watch.Latest
		}},
	}
}

// spansSinceFault returns the times since the start of the fault.
func spansSinceFault() []PeriodKind {
	since := func(at func(*record.Fault) *float64) func(*record.Trial, *record.Fault) *float64 {
		return func(_ *record.Trial, f *record.Fault) *float64 {
			if x := at(f); x != nil {
				return new(*x - *f.Began)
			}
			return nil
		}
	}
	return []PeriodKind{
		{"first_failure", "first failure", true, false, since(func(f *record.Fault) *float64 { return f.FirstFailure })},
		{"first_success", "first success", true, false, since(func(f *record.Fault) *float64 {
			if f.Outage == nil || f.OutageLasted {
				return nil
			}
			return new(*f.OutageFrom + *f.Outage)
		})},
		{"throughput_recovered", "throughput recovered", false, false, since(func(f *record.Fault) *float64 { return f.ThroughputBack })},
		{"p99_recovered", "p99 recovered", false, false, since(func(f *record.Fault) *float64 { return f.P99Back })},
		{"detected", "detected", false, false, func(t *record.Trial, f *record.Fault) *float64 {
			return firstSaid(t, f, f.Member, stores.LeaderLost, stores.ElectionStarted)
		}},
		{"elected", "elected", false, false, func(t *record.Trial, f *record.Fault) *float64 { return firstSaid(t, f, "", stores.Elected) }},
		{"serving", "serving", true, false, servingAgain},
		{"recovered", "recovered", false, false, since(func(f *record.Fault) *float64 { return f.Ready })},
	}
}

// partOutage returns the longest outage of some members or operations; nil if none of them
// succeeded before, or one did not recover before the next fault or the window's end.
func partOutage(f *record.Fault, of func(*record.PartOutage) bool) *float64 {
	var longest *float64
	for i := range f.Parts {
		p := &f.Parts[i]
		if !of(p) {
			continue
		}
		if p.Lasted {
			return nil // its length is unknown
		}
		if longest == nil {
			longest = new(0.0)
		}
		if p.Outage != nil {
			longest = new(max(*longest, *p.Outage))
		}
	}
	return longest
}

// operationOutage returns the longest outage of one of several operations.
func operationOutage(f *record.Fault, of func(kv.Kind) bool) *float64 {
	return partOutage(f, func(p *record.PartOutage) bool {
		kind, err := kv.ParseKind(p.Operation)
		return p.Operation != "" && err == nil && of(kind)
	})
}

// firstSaid returns the seconds from a fault until the log of any member but one first reported
// one of kinds; nil if none did until the cluster was whole again or the next fault began.
// Events of the broken member may come from its own start.
func firstSaid(t *record.Trial, f *record.Fault, but string, kinds ...stores.SignalKind) *float64 {
	if t.Opened == nil {
		return nil
	}
	began, until := analyze.TimeInWindow(t, *f.Began), nextFault(t, f)
	if f.Ready != nil {
		until = analyze.TimeInWindow(t, *f.Ready)
	}
	var first *time.Time
	for i := range t.Events {
		e := &t.Events[i]
		if e.Line != "" && e.Count == 0 && (but == "" || e.Member != but) && slices.Contains(kinds, stores.SignalKind(e.Kind)) && !e.Time.Before(began) && !e.Time.After(until) &&
			(first == nil || e.Time.Before(*first)) {
			first = &e.Time
		}
	}
	if first == nil {
		return nil
	}
	return new(first.Sub(began).Seconds())
}

// nextFault returns the start of the next fault, or the window's end.
func nextFault(t *record.Trial, f *record.Fault) time.Time {
	until := analyze.WindowOf(t).To
	for i := range t.Faults {
		if next := &t.Faults[i]; next.Done() && *next.Began > *f.Began && analyze.TimeInWindow(t, *next.Began).Before(until) {
			until = analyze.TimeInWindow(t, *next.Began)
		}
	}
	return until
}

// servingAgain returns the seconds from a fault until the log of the broken member first reported,
// before the next fault, that it serves clients; if all members were broken, until the last of
// those that reported it. It returns nil if none did.
func servingAgain(t *record.Trial, f *record.Fault) *float64 {
	if t.Opened == nil {
		return nil
	}
	began, until := analyze.TimeInWindow(t, *f.Began), nextFault(t, f)
	first := map[string]time.Time{}
	for i := range t.Events {
		e := &t.Events[i]
		if e.Kind != string(stores.Serving) || e.Count != 0 || f.Member != record.AllMembers && e.Member != f.Member || e.Time.Before(began) || e.Time.After(until) {
			continue
		}
		if at, there := first[e.Member]; !there || e.Time.Before(at) {
			first[e.Member] = e.Time
		}
	}
	var last *float64
	for _, at := range first {
		if x := at.Sub(began).Seconds(); last == nil || x > *last {
			last = &x
		}
	}
	return last
}

// P90 returns the length that 90 % of the faults did not exceed; false if there are too few faults
// (measure.Supports).
func (b *Period) P90() (float64, bool) {
	n := len(b.All)
	if !measure.Supports(90, uint64(n)) {
		return 0, false
	}
	return b.All[(9*n+9)/10-1], true
}

// Max returns the longest time; false for none.
func (b *Period) Max() (float64, bool) {
	if len(b.All) == 0 {
		return 0, false
	}
	return b.All[len(b.All)-1], true
}

// FindEffects returns the effects of the faults in rows: for each kind of fault all stores next to
// each other, kinds and stores in the order of the scenario. The trials' events have been read
// (record.Run.ReadEvents).
func FindEffects(rows []*analyze.Row) (all []*KindEffects) {
	for _, r := range rows {
		for _, t := range r.Done {
			for i := range t.Faults {
				f := &t.Faults[i]
				if !f.Done() || f.LongestBefore == nil {
					continue
				}
				k := slices.IndexFunc(all, func(b *KindEffects) bool { return b.What == f.What && b.Row == r })
				if k < 0 {
					k = len(all)
					for j, b := range all { // after the last of its kind
						if b.What == f.What {
							k = j + 1
						}
					}
					all = slices.Insert(all, k, newBreaks(f.What, r))
				}
				all[k].add(t, f)
			}
		}
	}
	for _, b := range all {
		for i := range b.Spans {
			s := &b.Spans[i]
			slices.Sort(s.All)
			s.Median, s.HasInterval = stats.Median(s.All, stats.Level)
		}
	}
	return all
}

func newBreaks(what string, r *analyze.Row) *KindEffects {
	b := &KindEffects{What: what, Row: r, Dependent: r.Dependent}
	for _, s := range PeriodKinds() {
		b.Spans = append(b.Spans, Period{PeriodKind: s})
	}
	return b
}

func (b *KindEffects) add(t *record.Trial, f *record.Fault) {
	b.Times++
	b.Dependent, b.last = b.Dependent || b.last == t, t
	if f.Failure != "" || t.Verdict.State == verdict.Invalid {
		b.FailedOrInvalid++
	}
	b.Definite, b.Indefinite = b.Definite+f.Definite, b.Indefinite+f.Indefinite
	if f.OutageLasted {
		b.Lasted++
	}
	b.addEvents(f)
	for i := range b.Spans {
		if x := b.Spans[i].of(t, f); x != nil {
			b.Spans[i].All = append(b.Spans[i].All, *x)
		}
	}
}

// Outage returns the longest time without any success.
func (b *KindEffects) Outage() *Period { return &b.Spans[0] }

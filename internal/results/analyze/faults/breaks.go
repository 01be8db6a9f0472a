// Package faults reports the outages that injected faults caused, and their lengths.
package faults

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// KindEffects holds the effects that faults of one kind had on a cluster, in all repeats of a
// trial. It includes a fault only if operations completed before the fault.
type KindEffects struct {
	Description string // the fault, such as "kill leader for 3s"
	Row         *analyze.Row
	Count       int
	// UnfinishedOutages is the number of outages that had not ended when the next fault started or
	// the window ended. The lengths of these outages are lower bounds.
	UnfinishedOutages int
	// FailedOrInvalid is the number of faults that were not injected as configured (see
	// record.Fault.Failure) or that belong to an invalid trial. The other fields include these
	// faults.
	FailedOrInvalid int
	// Dependent is set if several faults hit the same cluster, and so share its state.
	Dependent   bool
	latestTrial *record.Trial // the trial that contains the most recently added fault
	// Definite and Indefinite are the numbers of errors over all faults (see record.Recovery).
	Definite, Indefinite uint64
	// EventCounts holds the sums over all faults. It is nil if no fault has watch events or expired
	// leases.
	EventCounts *EventCounts
	Periods     []Period // in the order of PeriodKinds
}

// Period is one kind of period after a fault, such as the outage, with its length for each fault.
type Period struct {
	PeriodKind
	// Lengths holds the known lengths in seconds, in ascending order. A length of 0 means no
	// outage.
	Lengths []float64
	// Median is the median of Lengths. Its interval is set only if HasInterval is set (see
	// stats.Median).
	Median      stats.Interval
	HasInterval bool
}

// PeriodKind describes a period that can be measured for a fault.
type PeriodKind struct {
	Name     string // the name in files
	Title    string // the column title in tables
	wideOnly bool   // omitted from tables on a terminal
	// longest is set if the period is the longest time without a success. For such a period, a
	// length of 0 means that there was no outage.
	longest bool
	seconds func(t *record.Trial, f *record.Fault) *float64
}

// PeriodKinds returns the periods that describe a fault. The first periods are the longest times
// without a success: over all operations, at the broken member, at the other members, and so on.
// The other periods begin at the start of the fault. All lengths are in seconds.
func PeriodKinds() []PeriodKind { return append(outagePeriods(), periodsSinceFault()...) }

// outagePeriods returns the periods that are the longest time without a success, over all
// operations and over parts of them.
func outagePeriods() []PeriodKind {
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
			if f.Clients == nil || f.Clients.UnfinishedOutages > 0 {
				return nil
			}
			return new(f.Clients.Worst)
		}},
		{"median_client", "median client", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			if f.Clients == nil || 2*f.Clients.UnfinishedOutages >= f.Clients.Clients {
				return nil
			}
			return new(f.Clients.Median)
		}},
		{"writes", "write outage", true, true, func(_ *record.Trial, f *record.Fault) *float64 { return operationOutage(f, kv.Kind.Writes) }},
		{"reads", "read outage", true, true, func(_ *record.Trial, f *record.Fault) *float64 { return operationOutage(f, kv.Kind.Reads) }},
		{"events", "watch outage", true, true, func(_ *record.Trial, f *record.Fault) *float64 {
			switch {
			case f.Watch == nil || f.Watch.Unfinished:
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
			return f.Watch.MaxDelay
		}},
	}
}

// periodsSinceFault returns the periods that begin at the start of the fault.
func periodsSinceFault() []PeriodKind {
	since := func(at func(*record.Fault) *float64) func(*record.Trial, *record.Fault) *float64 {
		return func(_ *record.Trial, f *record.Fault) *float64 {
			if x := at(f); x != nil {
				return new(*x - *f.BeganAt)
			}
			return nil
		}
	}
	return []PeriodKind{
		{"first_failure", "first failure", true, false, since(func(f *record.Fault) *float64 { return f.FirstFailureAt })},
		{"first_success", "first success", true, false, since(func(f *record.Fault) *float64 {
			if f.Outage == nil || f.OutageUnfinished {
				return nil
			}
			return new(*f.OutageStart + *f.Outage)
		})},
		{"throughput_recovered", "throughput recovered", false, false, since(func(f *record.Fault) *float64 { return f.ThroughputRecoveredAt })},
		{"p99_recovered", "p99 recovered", false, false, since(func(f *record.Fault) *float64 { return f.P99RecoveredAt })},
		{"detected", "detected", false, false, func(t *record.Trial, f *record.Fault) *float64 {
			return secondsToLogEvent(t, f, f.Member, stores.LeaderLost, stores.ElectionStarted)
		}},
		{"elected", "elected", false, false, func(t *record.Trial, f *record.Fault) *float64 { return secondsToLogEvent(t, f, "", stores.Elected) }},
		{"serving", "serving", true, false, secondsToServing},
		{"recovered", "recovered", false, false, since(func(f *record.Fault) *float64 { return f.RecoveredAt })},
	}
}

// partOutage returns the longest outage among the parts of the operations for which `include`
// returns true. It returns nil if none of these parts had a success before the fault, or if one of
// them did not recover before the next fault or the end of the window.
func partOutage(f *record.Fault, include func(*record.PartOutage) bool) *float64 {
	var longest *float64
	for i := range f.ByPart {
		p := &f.ByPart[i]
		if !include(p) {
			continue
		}
		if p.Unfinished {
			return nil // the length of this part's outage is unknown
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

// operationOutage returns the longest outage among the kinds of operations for which `include`
// returns true.
func operationOutage(f *record.Fault, include func(kv.Kind) bool) *float64 {
	return partOutage(f, func(p *record.PartOutage) bool {
		kind, err := kv.ParseKind(p.Operation)
		return p.Operation != "" && err == nil && include(kind)
	})
}

// secondsToLogEvent returns the seconds from a fault until a member's log first reported an event
// of one of the given kinds. It skips the log of the member with the name `ignored`. This is
// usually the broken member, whose log may contain events from its own start. If `ignored` is
// empty, secondsToLogEvent uses all logs. The result is nil if no log reported such an event before
// the cluster had recovered completely or the next fault began.
func secondsToLogEvent(t *record.Trial, f *record.Fault, ignored string, kinds ...stores.SignalKind) *float64 {
	if t.Opened == nil {
		return nil
	}
	began, until := samples.TimeInWindow(t, *f.BeganAt), nextFault(t, f)
	if f.RecoveredAt != nil {
		until = samples.TimeInWindow(t, *f.RecoveredAt)
	}
	var first *time.Time
	for i := range t.Events {
		e := &t.Events[i]
		if e.Line != "" && e.Count == 0 && (ignored == "" || e.Member != ignored) && slices.Contains(kinds, stores.SignalKind(e.Kind)) && !e.Time.Before(began) && !e.Time.After(until) &&
			(first == nil || e.Time.Before(*first)) {
			first = &e.Time
		}
	}
	if first == nil {
		return nil
	}
	return new(first.Sub(began).Seconds())
}

// nextFault returns the start of the next fault, or the end of the window if there is none.
func nextFault(t *record.Trial, f *record.Fault) time.Time {
	until := samples.WindowOf(t).To
	for i := range t.Faults {
		if next := &t.Faults[i]; next.Injected() && *next.BeganAt > *f.BeganAt && samples.TimeInWindow(t, *next.BeganAt).Before(until) {
			until = samples.TimeInWindow(t, *next.BeganAt)
		}
	}
	return until
}

// secondsToServing returns the seconds from a fault until the broken member's log first reported
// that the member serves clients. If all members were broken, it returns the time of the last
// member that reported this. It returns nil if no member reported it before the next fault.
func secondsToServing(t *record.Trial, f *record.Fault) *float64 {
	if t.Opened == nil {
		return nil
	}
	began, until := samples.TimeInWindow(t, *f.BeganAt), nextFault(t, f)
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

// P90 returns the length that 90 % of the faults did not exceed. It returns false if there are too
// few faults (see measure.Supports).
func (b *Period) P90() (float64, bool) {
	n := len(b.Lengths)
	if !measure.Supports(90, uint64(n)) {
		return 0, false
	}
	return b.Lengths[(9*n+9)/10-1], true
}

// Max returns the longest length. It returns false if no length is known.
func (b *Period) Max() (float64, bool) {
	if len(b.Lengths) == 0 {
		return 0, false
	}
	return b.Lengths[len(b.Lengths)-1], true
}

// FindEffects returns the effects of the faults in the given rows. The entries for the same kind of
// fault on different stores are adjacent. Kinds and stores are in the order of the scenario. The
// caller must have read the trials' events (see figures.ReadTrialFiles).
func FindEffects(rows []*analyze.Row) (all []*KindEffects) {
	for _, r := range rows {
		for _, t := range r.Done {
			for i := range t.Faults {
				f := &t.Faults[i]
				if !f.Injected() || f.LongestGapBefore == nil {
					continue
				}
				k := slices.IndexFunc(all, func(b *KindEffects) bool { return b.Description == f.Description && b.Row == r })
				if k < 0 {
					k = len(all)
					for j, b := range all { // insert after the last entry of the same kind
						if b.Description == f.Description {
							k = j + 1
						}
					}
					all = slices.Insert(all, k, newKindEffects(f.Description, r))
				}
				all[k].add(t, f)
			}
		}
	}
	for _, b := range all {
		for i := range b.Periods {
			s := &b.Periods[i]
			slices.Sort(s.Lengths)
			s.Median, s.HasInterval = stats.Median(s.Lengths, stats.Level)
		}
	}
	return all
}

func newKindEffects(description string, r *analyze.Row) *KindEffects {
	b := &KindEffects{Description: description, Row: r, Dependent: r.Dependent}
	for _, s := range PeriodKinds() {
		b.Periods = append(b.Periods, Period{PeriodKind: s})
	}
	return b
}

func (b *KindEffects) add(t *record.Trial, f *record.Fault) {
	b.Count++
	b.Dependent, b.latestTrial = b.Dependent || b.latestTrial == t, t
	if f.Failure != "" || t.Verdict.State == verdict.Invalid {
		b.FailedOrInvalid++
	}
	b.Definite, b.Indefinite = b.Definite+f.Definite, b.Indefinite+f.Indefinite
	if f.OutageUnfinished {
		b.UnfinishedOutages++
	}
	b.addEvents(f)
	for i := range b.Periods {
		if x := b.Periods[i].seconds(t, f); x != nil {
			b.Periods[i].Lengths = append(b.Periods[i].Lengths, *x)
		}
	}
}

// Outage returns the period without a success over all operations.
func (b *KindEffects) Outage() *Period { return &b.Periods[0] }

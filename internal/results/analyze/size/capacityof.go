package size

import (
	"cmp"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/capacity"
	"github.com/quorumbench/quorumbench/internal/results/record"
	stores "github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// CapacityFindings holds the results of the capacity searches in a run: a single search, or one
// search for each value of a parameter.
type CapacityFindings struct {
	Run       *record.Run
	Parameter string // the key of the parameter; empty for a single search
	All       []*CapacityFinding
}

// CapacityFinding is the result of one capacity search.
type CapacityFinding struct {
	*record.Capacity
	// Value is the value of the parameter, as the user wrote it. It is empty for a single search.
	Value string
	// First is the search's first trial, or nil if no trial began.
	First *record.Trial
	// Seconds is the time from the start of the search's first trial to the end of the search.
	Seconds float64
	// Curve contains the search's trials in ascending order of rate, except those that only warm up
	// the store or let it settle. It includes void trials, which are not evidence about the store.
	Curve []CapacityPoint
	// AllTrials contains all trials of the search in ascending order of rate, including those that
	// only warm up the store or let it settle.
	AllTrials []CapacityPoint
	// Percentiles lists the percentiles for which the objective has bounds. It omits percentiles
	// that trials do not record.
	Percentiles []float64
	// Void lists the reasons why trials of the curve are void, the most frequent reason first.
	Void []VoidTrials
	// Ladder shows the valid trials of the curve as the steps of one load, with its knee and
	// scalability law. It does not affect the result of the search. It is nil if there are too few
	// steps.
	Ladder *Ladder
	// Snapshots and Compactions are the numbers of snapshots and compactions of the store in the
	// trials' windows. They are read from the store's logs. LogsRead is set if the logs were read.
	Snapshots, Compactions uint64
	LogsRead               bool
	// Absent lists the members that did not respond before at least one trial. Each member is
	// listed only once.
	Absent []record.AbsentMember
}

// CapacityPoint is a trial on the curve.
type CapacityPoint struct {
	Trial *record.Trial
	record.CapacityTrial
}

// VoidTrials describes the trials that are void for one reason.
type VoidTrials struct {
	Trials int
	Reason string // in the latest of these trials; a sentence without the full stop
	Remedy string // how the user can avoid such trials; empty if unknown
}

// CapacitiesOf returns the results of a run's capacity searches, or nil if the run contains no
// search. The caller must have read the run's events (figures.ReadTrialFiles).
func CapacitiesOf(run *record.Run) *CapacityFindings {
	f := &CapacityFindings{Run: run}
	rows := analyze.Rows(run)
	switch {
	case run.CapacityByParameter != nil:
		f.Parameter = run.CapacityByParameter.Parameter
		from := 0
		for i := range run.CapacityByParameter.Searches {
			s := &run.CapacityByParameter.Searches[i]
			one := capacityOf(run, &s.Capacity, from, rows)
			if one.Value = s.Value; one.Ladder != nil {
				one.Ladder.Name = f.Parameter + "=" + s.Value
			}
			from = min(from+len(s.Trials), len(run.Trials))
			f.All = append(f.All, one)
		}
	case run.Capacity != nil:
		f.All = []*CapacityFinding{capacityOf(run, run.Capacity, 0, rows)}
	default:
		return nil
	}
	return f
}

// capacityOf returns the result of one search. The search's trials start at the index `start` of
// run.Trials.
func capacityOf(run *record.Run, c *record.Capacity, start int, rows []*analyze.Row) *CapacityFinding {
	found := *c
	f := &CapacityFinding{Capacity: &found, Percentiles: percentilesOf(found.Objective)}
	if found.Status == record.CapacitySearching {
		switch run.State {
		case record.Interrupted:
			found.Status, found.Reason = string(capacity.Interrupted), "it was interrupted"
		case record.Failed:
			found.Status, found.Reason = string(record.Failed), run.Failure
		}
	}
	for i := range run.Clusters {
		f.LogsRead = f.LogsRead || run.Clusters[i].Started
	}
	counted := f.addTrials(run.Trials[start:min(start+len(found.Trials), len(run.Trials))])
	var steps []*analyze.Row
	for _, r := range rows {
		if counted[r.First().Number] {
			steps = append(steps, r)
		}
	}
	// loads with different values of a parameter are not steps of one load
	if len(steps) == 0 || f.Parameter != "" {
		return f
	}
	if l, ok := newLadder(steps); ok {
		f.Ladder = &l
	}
	return f
}

// addTrials adds the search's trials. It returns the trial numbers (record.Trial.Number) of those
// trials that are valid evidence.
func (f *CapacityFinding) addTrials(trials []record.Trial) (counted map[int]bool) {
	counted = map[int]bool{}
	for i := range trials {
		t, tried := &trials[i], f.Trials[i]
		if f.First == nil {
			f.First = t
		}
		for _, m := range t.Absent {
			if !slices.ContainsFunc(f.Absent, func(o record.AbsentMember) bool { return o.Endpoint == m.Endpoint }) {
				f.Absent = append(f.Absent, m)
			}
		}
		f.AllTrials = append(f.AllTrials, CapacityPoint{t, tried})
		if tried.Purpose == record.PurposeWarmUp {
			f.Seconds = t.Started.Sub(f.First.Started).Seconds() + t.Seconds
			continue
		}
		f.span(t, f.First.Started.Sub(t.Started).Seconds())
		point := CapacityPoint{t, tried}
		if !point.Counts() {
			continue
		}
		f.Curve = append(f.Curve, point)
		if tried.VoidReason != "" {
			f.addVoid(t, tried.VoidReason)
			continue
		}
		counted[t.Number] = true
	}
	slices.SortStableFunc(f.Void, func(a, b VoidTrials) int { return cmp.Compare(b.Trials, a.Trials) })
	byRate := func(a, b CapacityPoint) int { return cmp.Compare(a.Rate, b.Rate) }
	slices.SortStableFunc(f.Curve, byRate)
	slices.SortStableFunc(f.AllTrials, byRate)
	return counted
}

// LaddersOf returns the ladders in a run. The trials of a capacity search form a single ladder,
// even though their windows differ in length.
func LaddersOf(run *record.Run, rows []*analyze.Row) (all []Ladder) {
	found := CapacitiesOf(run)
	if found == nil {
		return Ladders(rows)
	}
	for _, f := range found.All {
		if f.Ladder != nil {
			all = append(all, *f.Ladder)
		}
	}
	return all
}

// span extends the search's duration to the end of a trial, and adds the snapshots and compactions
// in the trial. The parameter `searchStart` is the start of the search's first trial, in seconds
// relative to the start of this trial; it is negative or 0.
func (f *CapacityFinding) span(t *record.Trial, searchStart float64) {
	f.Seconds = max(f.Seconds, t.Seconds-searchStart)
	h := analyze.EventsOf(t)
	for _, e := range h.Counted {
		switch e.Kind {
		case stores.SnapshotDone:
			f.Snapshots += e.Occurrences
		case stores.Compaction:
			f.Compactions += e.Occurrences
		}
	}
}

// percentilesOf returns the percentiles for which an objective has bounds, without those that
// trials do not record.
func percentilesOf(objective string) (all []float64) {
	o, err := ParseObjective(objective)
	if err != nil {
		return nil // the record was written by another program
	}
	for i := range o.Parts {
		if p, ok := percentile100(&o.Parts[i]); ok && slices.Contains(measure.Percentiles, p) {
			all = append(all, p)
		}
	}
	return all
}

// Counts reports whether the search used the trial as evidence, or would have used the trial if the
// trial were not void.
func (p *CapacityPoint) Counts() bool {
	return p.Purpose != record.PurposeWarmUp && p.Purpose != string(capacity.Settle)
}

// addVoid adds a void trial to the entry for its reason.
func (f *CapacityFinding) addVoid(t *record.Trial, reason string) {
	one := VoidTrials{1, reason, remedyOf(t)}
	for i := range f.Void {
		if v := &f.Void[i]; v.Remedy == one.Remedy && (one.Remedy != "" || v.Reason == reason) {
			one.Trials += v.Trials
			*v = one
			return
		}
	}
	f.Void = append(f.Void, one)
}

// CountMisses returns how many trials of the curve missed the objective. The result `disturbed` is
// the number of those trials in which other programs or the machine's host used CPU time that the
// members needed. The capacity may be higher if nothing else uses the CPUs.
func (f *CapacityFinding) CountMisses() (missed, disturbed int) {
	for _, p := range f.Curve {
		if p.VoidReason != "" || p.Holds {
			continue
		}
		missed++
		if slices.ContainsFunc(p.Trial.Verdict.Reasons, func(r verdict.Reason) bool { return otherProgramRules[r.Rule] }) {
			disturbed++
		}
	}
	return missed, disturbed
}

// HasEvidence reports whether at least one trial of the curve is evidence about the store.
func (f *CapacityFinding) HasEvidence() bool {
	return slices.ContainsFunc(f.Curve, func(p CapacityPoint) bool { return p.VoidReason == "" })
}

// HoldsNowhere reports whether the objective did not hold at any rate.
func (f *CapacityFinding) HoldsNowhere() bool { return f.Status == string(capacity.HoldsNowhere) }

// Known reports whether the search showed something about the capacity, for example that the
// objective does not hold at any rate. In a search for a parameter, the capacity is also known if
// its interval starts at 0, as long as the search ended with Found or the objective held in at
// least one trial.
func (f *CapacityFinding) Known() bool {
	switch {
	case f.HoldsNowhere():
		return true
	case f.Status == string(capacity.Undecided) || !f.HasEvidence():
		return false
	case f.Parameter == "" || f.LowerPerSecond > 0:
		return f.LowerPerSecond > 0
	case f.Status == string(capacity.Found):
		return true
	}
	return slices.ContainsFunc(f.Trials, func(t record.CapacityTrial) bool { return t.Holds })
}

// Width returns the width of the interval divided by its middle. It returns false if the interval
// has no upper bound.
func (f *CapacityFinding) Width() (float64, bool) {
	if f.UpperPerSecond == nil || f.HoldsNowhere() || !f.Known() {
		return 0, false
	}
	i := capacity.Interval{Lower: f.LowerPerSecond, Upper: *f.UpperPerSecond}
	if f.Lower != nil && f.Upper != nil {
		i.Lower, i.Upper = *f.Lower, *f.Upper
	}
	return i.Width(), true
}

// MinBeyondPercentile is the minimum number of operations above a percentile for which the
// percentile is known.
const MinBeyondPercentile = measure.MinBeyond

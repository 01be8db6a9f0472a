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

// CapacityFindings holds the results of a run's searches: one, or one for each value of a
// parameter.
type CapacityFindings struct {
	Run       *record.Run
	Parameter string // its key; empty for a single search
	All       []*CapacityFinding
}

// CapacityFinding is the result of a search for a capacity.
type CapacityFinding struct {
	*record.Capacity
	// Value is the value of the parameter, as written; empty for the only search of a run.
	Value string
	// First is the search's first trial; nil if none began.
	First *record.Trial
	// Seconds is the duration of the search since the start of its first trial.
	Seconds float64
	// Curve has every trial that was not only for settling or warming up, by ascending rate.
	// Void trials are no evidence about the store.
	Curve []CapacityPoint
	// Tried has every trial of the search by ascending rate: the trials of Curve, and those for
	// settling or warming up.
	Tried []CapacityPoint
	// Percentiles lists the percentiles that the objective bounds, as far as trials record them.
	Percentiles []float64
	// Void lists the reasons why trials of the curve are void, the most frequent first.
	Void []VoidTrials
	// Ladder is the curve as steps of one load, with its knee and scalability law, which do not
	// affect the result. It is nil if there are too few steps.
	Ladder *Ladder
	// Snapshots and Compactions count the store's snapshots and compactions in the trials' windows;
	// LogsRead reports whether its logs, which record them, were read.
	Snapshots, Compactions uint64
	LogsRead               bool
	// Absent lists the members that did not respond before some of the trials, each once.
	Absent []record.AbsentMember
}

// CapacityPoint is a trial of the curve.
type CapacityPoint struct {
	Trial *record.Trial
	record.CapacityTrial
}

// VoidTrials are trials that are void for the same reason.
type VoidTrials struct {
	Trials int
	Why    string // for the last of them, a sentence without a full stop
	Remedy string // what to do about it; empty if not known
}

// CapacitiesOf returns the results of a run's searches, whose events have been read
// (record.Run.ReadEvents); nil for a run without a search.
func CapacitiesOf(run *record.Run) *CapacityFindings {
	f := &CapacityFindings{Run: run}
	rows := analyze.Rows(run)
	switch {
	case run.CapacityOver != nil:
		f.Parameter = run.CapacityOver.Parameter
		from := 0
		for i := range run.CapacityOver.Searches {
			s := &run.CapacityOver.Searches[i]
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

// capacityOf returns the result of a search whose trials start at index from of the run's.
func capacityOf(run *record.Run, c *record.Capacity, from int, rows []*analyze.Row) *CapacityFinding {
	found := *c
	f := &CapacityFinding{Capacity: &found, Percentiles: percentilesOf(found.Objective)}
	if found.Status == record.CapacitySearching {
		switch run.State {
		case record.Interrupted:
			found.Status, found.Why = string(capacity.Interrupted), "it was interrupted"
		case record.Failed:
			found.Status, found.Why = string(record.Failed), run.Failure
		}
	}
	for i := range run.Clusters {
		f.LogsRead = f.LogsRead || run.Clusters[i].Started
	}
	counted := f.addTrials(run.Trials[from:min(from+len(found.Trials), len(run.Trials))])
	var steps []*analyze.Row
	for _, r := range rows {
		if counted[r.First().Number] {
			steps = append(steps, r)
		}
	}
	if len(steps) == 0 || f.Parameter != "" { // loads with different values of a parameter are not steps of one load
		return f
	}
	if l, ok := newLadder(steps); ok {
		f.Ladder = &l
	}
	return f
}

// addTrials adds the search's trials, and returns the numbers of those that count and are
// not void.
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
		f.Tried = append(f.Tried, CapacityPoint{t, tried})
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
		if tried.Void != "" {
			f.addVoid(t, tried.Void)
			continue
		}
		counted[t.Number] = true
	}
	slices.SortStableFunc(f.Void, func(a, b VoidTrials) int { return cmp.Compare(b.Trials, a.Trials) })
	byRate := func(a, b CapacityPoint) int { return cmp.Compare(a.Rate, b.Rate) }
	slices.SortStableFunc(f.Curve, byRate)
	slices.SortStableFunc(f.Tried, byRate)
	return counted
}

// LaddersOf returns the ladders of a run's rows. The trials of a search for a capacity form one,
// although their windows differ in length.
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

// span adds a trial's time and the store's work in it; the trial started before seconds after
// the first.
func (f *CapacityFinding) span(t *record.Trial, before float64) {
	f.Seconds = max(f.Seconds, t.Seconds-before)
	h := analyze.EventsOf(t)
	for _, e := range h.Counted {
		switch e.Kind {
		case stores.SnapshotDone:
			f.Snapshots += e.Times
		case stores.Compaction:
			f.Compactions += e.Times
		}
	}
}

// percentilesOf returns the percentiles that an objective bounds, as far as trials record
// them.
func percentilesOf(objective string) (all []float64) {
	o, err := ParseObjective(objective)
	if err != nil {
		return nil // the record comes from another program
	}
	for i := range o.Parts {
		if p, ok := percentile100(&o.Parts[i]); ok && slices.Contains(measure.Percentiles, p) {
			all = append(all, p)
		}
	}
	return all
}

// Counts reports whether the search used the trial as evidence, or would have if it were not void.
func (p *CapacityPoint) Counts() bool {
	return p.Purpose != record.PurposeWarmUp && p.Purpose != string(capacity.Settle)
}

// addVoid adds a void trial to those of its reason.
func (f *CapacityFinding) addVoid(t *record.Trial, why string) {
	one := VoidTrials{1, why, remedyOf(t)}
	for i := range f.Void {
		if v := &f.Void[i]; v.Remedy == one.Remedy && (one.Remedy != "" || v.Why == why) {
			one.Trials += v.Trials
			*v = one
			return
		}
	}
	f.Void = append(f.Void, one)
}

// CountMisses returns the number of trials of the curve that missed the objective, and the number
// of those in which other programs or the machine's host used CPU time that the members needed:
// without them the capacity may be higher.
func (f *CapacityFinding) CountMisses() (missed, disturbed int) {
	for _, p := range f.Curve {
		if p.Void != "" || p.Holds {
			continue
		}
		missed++
		if slices.ContainsFunc(p.Trial.Verdict.Reasons, func(r verdict.Reason) bool { return ofOthers[r.Rule] }) {
			disturbed++
		}
	}
	return missed, disturbed
}

// HasEvidence reports whether any trial of the curve is evidence about the store.
func (f *CapacityFinding) HasEvidence() bool {
	return slices.ContainsFunc(f.Curve, func(p CapacityPoint) bool { return p.Void == "" })
}

// HoldsNowhere reports whether the objective held nowhere.
func (f *CapacityFinding) HoldsNowhere() bool { return f.Status == string(capacity.HoldsNowhere) }

// Known reports whether anything is known about the capacity, such as that the objective holds
// nowhere. An interval of whole numbers from 0 is known: 1 was tried and held, but is not certain.
func (f *CapacityFinding) Known() bool {
	switch {
	case f.HoldsNowhere():
		return true
	case f.Status == string(capacity.NotKnown) || !f.HasEvidence():
		return false
	case f.Parameter == "" || f.LowerPerSecond > 0:
		return f.LowerPerSecond > 0
	case f.Status == string(capacity.Found):
		return true
	}
	return slices.ContainsFunc(f.Trials, func(t record.CapacityTrial) bool { return t.Holds })
}

// Width returns the width of the interval as a share of its middle; false if it is open.
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

// FewestBeyond is the number of operations that must be above a percentile before it is known.
const FewestBeyond = measure.MinBeyond

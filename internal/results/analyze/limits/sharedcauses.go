package limits

import (
	"slices"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// SharedCause is a kind of cause, with all trials that it limited.
type SharedCause struct {
	// WorstTrial is the label of the trial that exceeded the cause's limit most, and Cause is the
	// cause in this trial. If the cause has no limit, both are from the first trial.
	Cause
	WorstTrial string
	// Trials holds the labels of the trials; repeats of a trial are combined into one label. Count
	// is the number of trials.
	Trials []string
	Count  int
	// SameText is set if the sentence is the same for all trials.
	SameText bool
	// OtherCauses is the number of other causes of this kind in the trial WorstTrial.
	OtherCauses int
}

// trialCauses holds a trial's causes. OtherCauses[i] is the number of other causes of the same kind
// as Causes[i].
type trialCauses struct {
	Trial       *record.Trial
	Causes      []Cause
	OtherCauses []int
}

// FindShared returns the causes that limited trials. Limits.MainCauses determines the causes of
// each trial.
func FindShared(trials []*record.Trial) []SharedCause {
	all := make([]trialCauses, 0, len(trials))
	for _, t := range trials {
		l := Find(t)
		causes, more := l.MainCauses()
		all = append(all, trialCauses{Trial: t, Causes: causes, OtherCauses: more})
	}
	return groupCauses(all)
}

// groupCauses groups trials by the kind of cause that limited them. So a cause that limited ten
// trials is reported only once. The kinds are in the order of their first appearance.
func groupCauses(all []trialCauses) (out []SharedCause) {
	var trialsByCause [][]*record.Trial
	for _, of := range all {
		for k, c := range of.Causes {
			more := 0
			if k < len(of.OtherCauses) {
				more = of.OtherCauses[k]
			}
			i := slices.IndexFunc(out, func(s SharedCause) bool { return s.Kind == c.Kind })
			if i < 0 {
				out = append(out, SharedCause{Cause: c, WorstTrial: analyze.Label(of.Trial), SameText: true, OtherCauses: more})
				trialsByCause = append(trialsByCause, []*record.Trial{of.Trial})
				continue
			}
			s := &out[i]
			trialsByCause[i], s.SameText = analyze.AppendNew(trialsByCause[i], of.Trial), s.SameText && s.Text == c.Text
			if c.Limit > 0 && s.Limit > 0 && c.excessRatio() > s.excessRatio() {
				s.Cause, s.WorstTrial, s.OtherCauses = c, analyze.Label(of.Trial), more
			}
		}
	}
	for i := range out {
		out[i].Trials, out[i].Count = analyze.RepeatLabels(trialsByCause[i]), len(trialsByCause[i])
	}
	return out
}

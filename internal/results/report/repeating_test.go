package report

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// repeated returns a run with a single trial, named "put", which it repeats until the throughput is
// precise to 2 %. The throughputs of the repeats alternate between 1,000 and 1,000 × (1 + more).
func repeated(repeats int, more float64, change func(*record.Run)) *record.Run {
	run := &record.Run{State: record.Complete, RepeatRule: &record.RepeatRule{Precision: 0.02, AtMostNS: 30 * 60e9, Metrics: []string{"ops"}}}
	for i := range repeats {
		t := record.Trial{State: record.Complete, Counts: record.Counts{PerSecond: 1000 * (1 + more*float64(i%2))}, Verdict: verdict.Verdict{State: verdict.Valid}}
		t.Name, t.Number, t.Repeat = "put", 1, i+1
		run.Trials = append(run.Trials, t)
	}
	change(run)
	return run
}

func TestReportsSayWhyTheRepeatingEnded(t *testing.T) {
	ended := func(why record.EndReason) func(*record.Run) {
		return func(r *record.Run) { r.RepeatRule.EndReason = why }
	}
	for _, test := range []struct {
		run  *record.Run
		want []string
	}{
		{repeated(10, 0.02, ended(record.EndedPrecise)),
			[]string{"Stopped after 10 repeats: every 95 % interval of ops is within ± 2 %; widest: ops of put (± 0.79 %)."}},
		{repeated(12, 0.1, ended(record.EndedTime)),
			[]string{"Stopped after 12 repeats: time limit 30m; not every 95 % interval is within ± 2 %. Not precise: ops of put (± 3.34 %)."}},
		{repeated(3, 0.1, ended(record.EndedTime)),
			[]string{"Stopped after 3 repeats: time limit 30m; not every 95 % interval is within ± 2 %. Not precise: ops of put (± 15.64 %) (minimum 10 repeats)."}},
		{repeated(1000, 3, ended(record.EndedMaxRepeats)),
			[]string{"Stopped after 1,000 repeats, the maximum; not every 95 % interval is within ± 2 %. Not precise: ops of put (± 3.90 %)."}},
		{repeated(10, 0, func(r *record.Run) {
			r.RepeatRule.EndReason = record.EndedHopeless
			for i := range r.Trials {
				r.Trials[i].Verdict = verdict.Verdict{State: verdict.Suspect, Reasons: []verdict.Reason{{Rule: 26}}}
			}
		}), []string{
			"Stopped after 10 repeats: some figures cannot become precise (within ± 2 %), because they have no usable repeat, or a repeat in which they are unknown, 0 or failed. Not precise: ops of put (no usable repeat).",
			"Not used: put, 10 of 10 (suspect R26).",
		}},
		{repeated(10, 0.01, func(r *record.Run) {
			r.RepeatRule.EndReason = record.EndedDisturbed
			for i := range r.Trials { // disturbances may have lowered the figure by up to 5 %
				r.Trials[i].Verdict = verdict.Verdict{State: verdict.Suspect, Reasons: []verdict.Reason{{Rule: 10}}, Effect: verdict.Effect{Throughput: 0.05}}
			}
		}), []string{
			"Stopped after 10 repeats: more repeats cannot bring every 95 % interval within ± 2 %, because disturbances may have moved some figures by more than that. Not precise: ops of put (± 5.66 %, of which disturbances may have caused 5.26 %).",
		}},
		{repeated(3, 0.1, func(r *record.Run) {
			r.State, r.Trials[2].State = record.Interrupted, record.Interrupted
		}), []string{
			"The run is interrupted after 2 repeats. It should repeat its trials until every 95 % interval is within ± 2 %. Not precise: ops of put (± 75.69 %) (minimum 10 repeats).",
			"Not used: put, 1 of 3 (interrupted).",
		}},
		{repeated(5, 0, func(r *record.Run) { r.RepeatRule = nil }), nil},
	} {
		if got := RepeatProgressLines(test.run); !slices.Equal(got, test.want) {
			t.Errorf("the lines are %q, want %q", got, test.want)
		}
	}
	run := repeated(10, 0.02, func(*record.Run) {})
	if got, want := RoundProgress(compare.RepeatProgressOfRun(run)), "after 10 repeats: 1 of 1 intervals are precise to ± 2 %, widest: ops of put (± 0.79 %)"; got != want {
		t.Errorf("the progress is %q, want %q", got, want)
	}
}

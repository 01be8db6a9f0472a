package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
)

// openRepeats opens a recorded run with three trials of puts. Each trial has five repeats.
func openRepeats(t *testing.T) *record.Run {
	t.Helper()
	run, err := record.Open(runs.Unpack(t, t.TempDir(), "repeats"))
	must(t, err)
	if len(run.Problems) > 0 || len(run.Trials) != 15 {
		t.Fatalf("%d trials, %v", len(run.Trials), run.Problems)
	}
	return run
}

// The result of a recorded trial and its histograms contain the same figures.
func TestFiguresOfARecordedRun(t *testing.T) {
	run := openRepeats(t)
	for i := range run.Trials {
		trial := &run.Trials[i]
		whole := measure.NewHistogram()
		must(t, EachSecond(trial, func(s *Second) error {
			whole = measure.Add(whole, s.Times.Histogram())
			return nil
		}))
		for _, p := range measure.Percentiles {
			if got, want := measure.Percentile(whole, trial.Errors, p), trial.ServiceTime.Percentile(p); got != want {
				t.Errorf("repeat %d: p%v is %+v by the seconds and %+v by the result", trial.Repeat, p, got, want)
			}
		}
	}
	for _, text := range []string{"p99<40ms", "p93.3<5s", "service-p98.5<1s"} {
		threshold, err := ParseThreshold(text)
		must(t, err)
		if missed, err := CheckRun([]Threshold{threshold}, run); err != nil || len(missed) > 0 {
			t.Errorf("%s: %v, %v", text, missed, err)
		}
	}
}

package analyze

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// older is a run directory that the version of f24541c wrote: two repeats of
// puts, with histograms whose steps are 64 ns.
const older = "testdata/older"

func openOlder(t *testing.T) *record.Run {
	t.Helper()
	run, err := record.Open(older)
	must(t, err)
	if len(run.Problems) > 0 || len(run.Trials) != 2 {
		t.Fatalf("%d trials, %v", len(run.Trials), run.Problems)
	}
	return run
}

// A record of an older version has the figures that it had then, from its
// result and from its histograms alike.
func TestFiguresOfAnOlderRecord(t *testing.T) {
	run := openOlder(t)
	for i := range run.Trials {
		trial := &run.Trials[i]
		whole := measure.NewHistogram()
		must(t, EachSecond(trial, func(s *Second) error {
			whole = measure.Add(whole, s.Times.Histogram())
			return nil
		}))
		for _, p := range measure.Percentiles {
			if got, want := measure.Percentile(whole, trial.Errors, p), trial.ServiceTime.At(p); got != want {
				t.Errorf("repeat %d: p%v is %+v by the seconds and %+v by the result", trial.Repeat, p, got, want)
			}
		}
	}
	for _, text := range []string{"p99<16ms", "p93.3<5s", "service-p98.5<1s"} {
		threshold, err := ParseThreshold(text)
		must(t, err)
		if missed, err := CheckRun([]Threshold{threshold}, run); err != nil || len(missed) > 0 {
			t.Errorf("%s: %v, %v", text, missed, err)
		}
	}
}

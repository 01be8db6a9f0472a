package analyze

import (
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// The text about a resumed run includes the dates, so that readers notice if the run was resumed on
// another day.
func TestResumptionTextHasTheTimes(t *testing.T) {
	evening := time.Date(2026, 3, 1, 20, 0, 0, 0, time.UTC)
	run := &record.Run{Starts: []record.Start{{At: evening}}}
	if got := ResumptionText(run); got != "" {
		t.Errorf("the resumption text of a run that was not resumed is %q", got)
	}
	run.Starts = []record.Start{
		{At: evening, State: record.Incomplete, SetAsideFolders: []string{"cut-off/1-trial-02-put"}},
		{At: evening.Add(12 * time.Hour), TrialsBefore: 1, State: record.Interrupted, Finished: new(evening.Add(13 * time.Hour))},
		{At: evening.Add(24 * time.Hour), TrialsBefore: 3},
	}
	want := "2026-03-02 08:00:00 UTC after 1 trial (previous start 2026-03-01 20:00:00 UTC, killed; its unfinished trial is in cut-off/1-trial-02-put); " +
		"2026-03-02 20:00:00 UTC after 3 trials (previous start 2026-03-02 08:00:00 UTC, interrupted 2026-03-02 09:00:00 UTC)"
	if got := ResumptionText(run); got != want {
		t.Errorf("%q\nnot\n%q", got, want)
	}
}

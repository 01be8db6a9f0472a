package analyze

import (
	"fmt"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// ResumptionText describes when a run was resumed, and how it had ended before that. It returns an
// empty string if the run was not resumed.
func ResumptionText(run *record.Run) string {
	moment := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }
	var all []string
	for i, s := range run.Starts {
		if i == 0 {
			continue
		}
		was := run.Starts[i-1]
		how := "killed"
		if was.Finished != nil {
			how = fmt.Sprintf("%s %s", was.State, moment(*was.Finished))
		}
		words := fmt.Sprintf("%s after %s (previous start %s, %s", moment(s.At), text.Plural(uint64(max(s.TrialsBefore, 0)), "trial"), moment(was.At), how)
		if n := len(was.SetAsideFolders); n > 0 {
			words += "; its unfinished trial is in " + strings.Join(was.SetAsideFolders, ", ")
		}
		all = append(all, words+")")
	}
	return strings.Join(all, "; ")
}

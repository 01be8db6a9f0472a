package report

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// reasons writes why trials are not valid, and the notes.
func reasons(b *bytes.Buffer, run *record.Run) {
	why, notes := analyze.Reasons(run)
	list(b, "Verdicts", about(why, len(run.Trials)))
	list(b, "Notes", about(notes, len(run.Trials)))
}

// about are sentences with the trials that they are about, of so many, before
// them.
func about(all []analyze.Said, trials int) []string {
	lines := make([]string, 0, len(all))
	for _, s := range all {
		who := strings.Join(s.Trials, ", ")
		if len(s.Trials) == trials && trials > 1 {
			who = "all trials"
		}
		lines = append(lines, who+": "+s.Text)
	}
	return lines
}

// list writes a numbered list under a heading, or nothing.
func list(b *bytes.Buffer, head string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n%s\n", head)
	for i, line := range lines {
		fmt.Fprintf(b, "%3d. %s\n", i+1, line)
	}
}

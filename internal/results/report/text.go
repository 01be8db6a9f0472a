// Package report turns a record into what people read: text for the terminal
// and one JSON object for programs. It sees nothing but the record.
package report

import (
	"bytes"
	"fmt"
	"io"

	"github.com/quorumbench/quorumbench/internal/printable"
	"github.com/quorumbench/quorumbench/internal/readable"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Text writes a run's table with its conditions above and the verdicts' reasons
// below. dir is the run directory's path; empty for none.
func Text(w io.Writer, run *record.Run, dir string) error {
	var b bytes.Buffer
	all := analyze.Rows(run)
	fmt.Fprintf(&b, "%s: %s\n", run.Name, progress(run))
	if run.Failure != "" {
		fmt.Fprintf(&b, "%s\n", run.Failure)
	}
	if len(all) > 0 {
		if err := facts(&b, analyze.SharedConditions(run, all)); err != nil {
			return err
		}
		if err := tables(analyze.Tables(all), textTable(&b)); err != nil {
			return err
		}
		lateness(&b, all)
		if err := tables(analyze.WatchTables(all), textTable(&b)); err != nil {
			return err
		}
		events(&b, run.Trials)
		limited(&b, run.Trials)
		lostConnections(&b, run.Trials)
		reasons(&b, run)
	}
	list(&b, "Problems of the record", run.Problems)
	if dir != "" {
		fmt.Fprintf(&b, "\nRun directory: %s\n", printable.Line(dir, printable.OfOutput))
	}
	_, err := w.Write(b.Bytes())
	return err
}

// progress says how far the run came.
func progress(run *record.Run) string {
	finished := 0
	for i := range run.Trials {
		if analyze.Measured(&run.Trials[i]) {
			finished++
		}
	}
	trials := readable.Plural(uint64(finished), "trial")
	if run.Planned > finished {
		trials = fmt.Sprintf("%d of %d trials", finished, run.Planned)
	}
	return fmt.Sprintf("%s, %s", run.State, trials)
}

// lateness writes how late the open loops sent.
func lateness(b *bytes.Buffer, all []*analyze.Row) {
	for _, r := range all {
		for _, t := range r.Done {
			if l := t.Lateness; l != nil {
				fmt.Fprintf(b, "%s: sent late by p50 %s, p99 %s, p99.9 %s\n", analyze.Label(t),
					readable.Figure(l.At(50)), readable.Figure(l.At(99)), readable.Figure(l.At(99.9)))
			}
		}
	}
}

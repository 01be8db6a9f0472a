package cli

import (
	"fmt"
	"io"
	"os"

	"github.com/quorumbench/quorumbench/internal/results/analyze/compare"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/results/report"
	"github.com/quorumbench/quorumbench/internal/results/web"
)

// reportFiles writes report.html and report.md into the directory of a finished run, and junit.xml
// if thresholds were given. If quiet is false, reportFiles prints the path of the HTML page. quiet
// is true if standard output must contain only JSON.
func (a *commandLine) reportFiles(run *record.Run, dir string, quiet bool) error {
	comparisons := compare.EvaluateParts(run)
	parts := []part{
		{name: "report.md", write: func(w io.Writer) error { return report.Markdown(w, report.Run(run, comparisons, "")) }},
		{name: "report.html", write: func(w io.Writer) error { return web.HTML(w, run, comparisons) }},
	}
	if len(a.Gate.Thresholds) > 0 {
		parts = append(parts, junitPart(a.Gate, run))
	}
	for _, p := range parts {
		path, err := p.writeTo(dir)
		if err != nil {
			return err
		}
		if err := os.Chmod(path, 0o600); err != nil { // the same permissions as the other files in the directory
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
		if p.name == "report.html" && !quiet {
			a.Printf("Report: %s\n", path)
		}
	}
	return nil
}

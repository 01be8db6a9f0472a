package report

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze/overtime"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Trace writes a run in the Trace Event Format, which Perfetto and Chrome's tracing page can read.
// The caller must have read the events of the run with figures.ReadTrialFiles.
func Trace(w io.Writer, run *record.Run) error {
	b, err := json.Marshal(map[string]any{"displayTimeUnit": "ms", "traceEvents": overtime.Trace(run), "otherData": map[string]any{
		"run": text.Line(run.Name, text.MaxField), "started": run.Started.UTC().Format(time.RFC3339Nano), "tool": "quorumbench " + text.OrDash(run.Tool.Version),
	}})
	if err != nil {
		return fmt.Errorf("cannot encode the trace: %w", err)
	}
	_, err = w.Write(append(b, '\n'))
	return err
}

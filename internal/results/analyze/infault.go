package analyze

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// faulty reports whether a fault of the scenario was done in the trial.
func faulty(t *record.Trial) bool {
	return slices.ContainsFunc(t.Faults, func(f record.Fault) bool { return f.Done() })
}

// TimeInWindow returns a time of the trial's window, which was opened, in seconds of it.
func TimeInWindow(t *record.Trial, seconds float64) time.Time {
	return t.Opened.Add(time.Duration(seconds * 1e9))
}

// inFault reports whether a part of a span is within a fault of the scenario, whose
// doing it may be.
func inFault(t *record.Trial, s Span) bool {
	return t.Opened != nil && record.CausedWithin(t.Faults, s.From.Sub(*t.Opened).Seconds(), s.To.Sub(*t.Opened).Seconds())
}

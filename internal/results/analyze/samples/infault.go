package samples

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// HasFault reports whether a fault from the scenario was injected into the trial.
func HasFault(t *record.Trial) bool {
	return slices.ContainsFunc(t.Faults, func(f record.Fault) bool { return f.Injected() })
}

// TimeInWindow converts seconds since the start of the window to a time.
func TimeInWindow(t *record.Trial, seconds float64) time.Time {
	return t.Opened.Add(time.Duration(seconds * 1e9))
}

// OverlapsFault reports whether a span overlaps an injected fault, so that the fault may have
// caused what happened in the span.
func OverlapsFault(t *record.Trial, s Span) bool {
	return t.Opened != nil && record.OverlapsFault(t.Faults, s.From.Sub(*t.Opened).Seconds(), s.To.Sub(*t.Opened).Seconds())
}

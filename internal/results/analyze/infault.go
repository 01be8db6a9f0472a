package analyze

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// faulty reports whether the trial injected a fault of the scenario.
func faulty(t *record.Trial) bool {
	return slices.ContainsFunc(t.Faults, func(f record.Fault) bool { return f.Done() })
}

// TimeInWindow returns the time that is seconds after the window was opened.
func TimeInWindow(t *record.Trial, seconds float64) time.Time {
	return t.Opened.Add(time.Duration(seconds * 1e9))
}

// inFault reports whether a part of a span is within an injected fault, which may have caused
// it.
func inFault(t *record.Trial, s Span) bool {
	return t.Opened != nil && record.OverlapsFault(t.Faults, s.From.Sub(*t.Opened).Seconds(), s.To.Sub(*t.Opened).Seconds())
}

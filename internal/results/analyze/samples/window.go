// Package samples selects the data of a trial that belongs to a span of time, such as the rows of
// its window, and computes how much of a machine was used between two samples.
package samples

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Span is the period from one time to another.
type Span struct{ From, To time.Time }

// Overlaps reports whether two spans have a point in time in common.
func (a Span) Overlaps(b Span) bool { return !a.From.After(b.To) && !b.From.After(a.To) }

// OverlapSeconds returns how long two spans overlap, in seconds.
func (a Span) OverlapSeconds(b Span) float64 {
	from, to := a.From, a.To
	if b.From.After(from) {
		from = b.From
	}
	if b.To.Before(to) {
		to = b.To
	}
	return max(to.Sub(from).Seconds(), 0)
}

// OverlapShare returns the share of a period that is in the span. The time `to` must be later than
// `from`.
func (a Span) OverlapShare(from, to time.Time) float64 {
	return a.OverlapSeconds(Span{from, to}) / to.Sub(from).Seconds()
}

// WindowOf returns a trial's measurement window. The window must have been opened.
func WindowOf(t *record.Trial) Span {
	return Span{*t.Opened, t.Opened.Add(time.Duration(t.Seconds * 1e9))}
}

// MinIntervalSeconds is the minimum length, in seconds, that an interval must have for its
// throughput to be comparable with that of whole seconds.
const MinIntervalSeconds = 0.2

// MeasuredRows returns the rows (one per second) in a trial's measurement window.
func MeasuredRows(t *record.Trial) (rows []*record.Row) {
	for i := range t.Timeline {
		if r := &t.Timeline[i]; r.Phase == measure.Measured.String() {
			rows = append(rows, r)
		}
	}
	return rows
}

// WholeSeconds returns the number of operations done in each complete second of a trial's window.
// It returns nil if a second before the last recorded second is missing. The result does not
// contain seconds that are missing at the end.
func WholeSeconds(t *record.Trial) (done []float64) {
	for _, r := range MeasuredRows(t) {
		if float64(r.Second+1) > t.Seconds {
			break
		}
		if r.Second != len(done) {
			return nil
		}
		done = append(done, float64(r.Done))
	}
	return done
}

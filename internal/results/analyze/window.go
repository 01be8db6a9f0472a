package analyze

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Span is the period from one time to another.
type Span struct{ From, To time.Time }

func (a Span) overlaps(b Span) bool { return !a.From.After(b.To) && !b.From.After(a.To) }

// overlapSeconds returns how long two spans overlap, in seconds.
func (a Span) overlapSeconds(b Span) float64 {
	from, to := a.From, a.To
	if b.From.After(from) {
		from = b.From
	}
	if b.To.Before(to) {
		to = b.To
	}
	return max(to.Sub(from).Seconds(), 0)
}

// WindowOf returns a trial's measurement window. The window must have been opened.
func WindowOf(t *record.Trial) Span {
	return Span{*t.Opened, t.Opened.Add(time.Duration(t.Seconds * 1e9))}
}

// measuredRows returns the rows (one per second) in a trial's measurement window.
func measuredRows(t *record.Trial) (rows []*record.Row) {
	for i := range t.Timeline {
		if r := &t.Timeline[i]; r.Phase == measure.Measured.String() {
			rows = append(rows, r)
		}
	}
	return rows
}

// wholeSeconds returns the number of operations done in each complete second of a trial's window.
// It returns nil if the record does not contain all of these seconds.
func wholeSeconds(t *record.Trial) (done []float64) {
	for _, r := range measuredRows(t) {
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

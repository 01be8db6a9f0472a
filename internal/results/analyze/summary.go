package analyze

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Throughputs are operations a second over the whole seconds of a window. None
// is known where no second is whole.
type Throughputs struct {
	Max, Mean, Min measure.Figure // a second, not nanoseconds
	seconds        int
	done           uint64
}

// Add takes the next second.
func (t *Throughputs) Add(s *Second) {
	rate, ok := s.PerSecond()
	if !ok || !s.Whole {
		return
	}
	if t.seconds == 0 || rate > t.Max.NS {
		t.Max = measure.Figure{NS: rate, Known: true}
	}
	if t.seconds == 0 || rate < t.Min.NS {
		t.Min = measure.Figure{NS: rate, Known: true}
	}
	t.seconds++
	t.done += s.Done
	t.Mean = measure.Figure{NS: float64(t.done) / float64(t.seconds), Known: true}
}

// Measured reports whether a trial came to have figures.
func Measured(t *record.Trial) bool {
	return t.State == record.Complete || t.State == record.Interrupted && t.Seconds > 0
}

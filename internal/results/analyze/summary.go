package analyze

import (
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Throughputs are operations a second over the whole seconds of a window. None
// is known where no second is whole.
type Throughputs struct {
	Max, Mean, Min record.Value
	seconds        int
	done           uint64
}

// Add takes the next second.
func (t *Throughputs) Add(s *Second) {
	rate, ok := s.PerSecond()
	if !ok || !s.Whole {
		return
	}
	if t.seconds == 0 || rate > t.Max.Number {
		t.Max = perSecond(rate)
	}
	if t.seconds == 0 || rate < t.Min.Number {
		t.Min = perSecond(rate)
	}
	t.seconds++
	t.done += s.Done
	t.Mean = perSecond(float64(t.done) / float64(t.seconds))
}

func perSecond(rate float64) record.Value {
	return record.Value{Number: rate, Unit: measure.Rate, Known: true}
}

// Measured reports whether a trial came to have figures.
func Measured(t *record.Trial) bool {
	return t.State == record.Complete || t.State == record.Interrupted && t.Seconds > 0
}

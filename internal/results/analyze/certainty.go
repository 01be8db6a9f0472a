package analyze

import (
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Certainty is an interval of a figure's mean, at stats.Level.
type Certainty struct {
	Low, High record.Value
	// Repeats is over how many repeats it is; 0 for one within a single run only,
	// which says nothing of another run.
	Repeats int
	// Seconds is how many seconds a single run's interval is of, and Effective how
	// many independent ones would know the mean as well. Short says that the run
	// is too short for what varied in it.
	Seconds   int
	Effective float64
	Short     bool
}

// CertaintyOf is how sure a row's figure is: over its repeats, from MinRepeats on.
// Of a single run it is that of the throughput within this run.
func CertaintyOf(r *Row, f *record.Figure) (c Certainty, ok bool) {
	var i stats.Interval
	switch {
	case len(r.Done) >= MinRepeats:
		values, positive := positive(r.values(f))
		if !positive {
			return c, false
		}
		i, ok = stats.OverRepeats(values, stats.Level)
		c.Repeats = len(values)
	case len(r.Done) == 1 && f.Name == "ops":
		seconds := wholeSeconds(r.Done[0])
		var within stats.Within
		within, ok = stats.MeanWithinRun(seconds, stats.Level)
		i, c.Seconds, c.Short = within.Interval, len(seconds), within.Short
		if ok {
			c.Effective = min(stats.EffectiveSize(seconds), float64(len(seconds)))
		}
	}
	c.Low = record.Value{Number: max(i.Low, 0), Unit: f.Unit, Known: ok}
	c.High = record.Value{Number: i.High, Unit: f.Unit, Known: ok}
	return c, ok
}

// wholeSeconds are the operations done in each whole second of a trial's window;
// nil where the record lacks one.
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

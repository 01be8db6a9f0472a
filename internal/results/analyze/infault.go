package analyze

import (
	"math"
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

// slowBesideFaults is Slow of a trial with faults, by the seconds outside of them
// alone: half of these have a p99 that is too long, or together they did not keep the
// rate.
func slowBesideFaults(t *record.Trial) bool {
	if t.Opened == nil {
		return false
	}
	var tails []float64
	done, seconds := uint64(0), 0.0
	end := WindowOf(t).To
	for _, r := range measuredRows(t) {
		if inFault(t, Span{r.Time, r.Time.Add(time.Second)}) {
			continue
		}
		done, seconds = done+r.Done, seconds+max(0, min(1, end.Sub(r.Time).Seconds())) // the last row may be of a part of a second
		switch {
		case r.P99.Known:
			tails = append(tails, r.P99.NS)
		case r.Errors > 0: // it failed
			tails = append(tails, math.Inf(1))
		}
	}
	if seconds == 0 {
		return false
	}
	if t.Open() && t.Rate != nil && float64(done) <= leastShare**t.Rate*seconds {
		return true
	}
	slices.Sort(tails)
	return len(tails) > 0 && tails[len(tails)/2] > float64(mostP99)
}

package analyze

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Limits of a slow trial: a low share of its rate, or long times. They are the limits of `check
// perf`.
const (
	leastShare = 0.9
	mostP99    = 100 * time.Millisecond
	mostSlow   = 500 * time.Millisecond // of one operation
)

// slowOutsideFaults is like IsSlow, for a trial with faults. It judges the seconds outside of them:
// half of these have a long p99, or together they did not keep the rate.
func slowOutsideFaults(t *record.Trial) bool {
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
		case r.Errors > 0: // its p99 failed
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

// IsSlow reports whether a trial's bottleneck needs an explanation: it did not keep its rate, if it
// had one, or its times were long.
func IsSlow(t *record.Trial) bool {
	if !HasFigures(t) || t.State == record.Interrupted {
		return false
	}
	if faulty(t) {
		return slowOutsideFaults(t)
	}
	p99 := t.ResponseTime.Percentile(99)
	switch {
	case t.Open() && t.Rate != nil && t.Seconds >= 1 && // in less, a rate is chance
		t.PerSecond <= leastShare**t.Rate:
		return true
	case p99.Failed || p99.Known && p99.NS > float64(mostP99):
		return true
	}
	slowest := t.SuccessResponseTime.Max
	return slowest.Known && slowest.NS > float64(mostSlow) || t.LongestGap > mostSlow.Seconds()
}

package limits

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/samples"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// Limits beyond which a trial is slow: its throughput is too low compared with its rate, or its
// times are too long. `check perf` uses minThroughputShare and maxSlowest, too.
const (
	minThroughputShare = 0.9
	maxP99             = 100 * time.Millisecond
	maxSlowest         = 500 * time.Millisecond // for a single operation
)

// slowOutsideFaults decides for a trial with injected faults what isSlow decides for other trials.
// It uses only the throughput and the p99 of the seconds without a fault. The trial is slow if at
// least half of those seconds that have a p99 have a long one, or if their total throughput is too
// low compared with the rate.
func slowOutsideFaults(t *record.Trial) bool {
	if t.Opened == nil {
		return false
	}
	var tails []float64
	done, seconds := uint64(0), 0.0
	end := samples.WindowOf(t).To
	for _, r := range samples.MeasuredRows(t) {
		if samples.OverlapsFault(t, samples.Span{From: r.Time, To: r.Time.Add(time.Second)}) {
			continue
		}
		// the last row may cover only a part of a second
		done, seconds = done+r.Done, seconds+max(0, min(1, end.Sub(r.Time).Seconds()))
		switch {
		case r.P99.Known:
			tails = append(tails, r.P99.NS)
		case r.Errors > 0: // the operation at the rank of the p99 failed
			tails = append(tails, math.Inf(1))
		}
	}
	if seconds == 0 {
		return false
	}
	if t.Open() && t.Rate != nil && float64(done) <= minThroughputShare**t.Rate*seconds {
		return true
	}
	return stat.UpperMedian(tails) > float64(maxP99)
}

// isSlow reports whether a trial was so slow that its bottleneck needs an explanation: it did not
// reach its rate (in an open loop), or its times were long.
func isSlow(t *record.Trial) bool {
	if !analyze.HasFigures(t) || t.State == record.Interrupted {
		return false
	}
	if samples.HasFault(t) {
		return slowOutsideFaults(t)
	}
	p99 := t.ResponseTime.Percentile(99)
	switch {
	// in a window shorter than 1 s, the throughput depends on chance
	case t.Open() && t.Rate != nil && t.Seconds >= 1 &&
		t.PerSecond <= minThroughputShare**t.Rate:
		return true
	case p99.Failed || p99.Known && p99.NS > float64(maxP99):
		return true
	}
	slowest := t.SuccessResponseTime.Max
	return slowest.Known && slowest.NS > float64(maxSlowest) || t.LongestGap > maxSlowest.Seconds()
}

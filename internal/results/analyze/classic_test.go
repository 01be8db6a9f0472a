package analyze

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

func TestClassicBinsCountEverything(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		h := measure.NewHistogram()
		n := 1 + r.Int64N(2000)
		for range n {
			_ = h.RecordValue(1000 + int64(1e6*r.ExpFloat64()))
		}
		bins := classicBins(h)
		var sum int64
		longest := 0
		for i, bin := range bins {
			sum += bin.Count
			longest = max(longest, bin.Bar)
			if i > 0 && bin.UpperBound < bins[i-1].UpperBound {
				t.Fatalf("seed %d: the bounds of the bins decrease: %v", seed, bins)
			}
		}
		if sum != n || len(bins) != classicSteps+1 || longest != ClassicBar {
			t.Fatalf("seed %d: %d of %d operations in %d bins, the longest bar %d", seed, sum, n, len(bins), longest)
		}
		if bins[0].Count < 1 || n > 1 && h.Max() > h.Min() && bins[classicSteps].Count < 1 {
			t.Fatalf("seed %d: the first or the last bin is empty: %v", seed, bins)
		}
	}
}

// The parts count each operation in the window exactly once: separately for reads and writes,
// including failures, and with matching counts for each second.
func TestClassicPartsHoldEverything(t *testing.T) {
	opened := time.Unix(1_700_000_000, 0).UTC()
	trial := &record.Trial{State: record.Complete, Opened: &opened, Seconds: 2}
	files := &record.Files{}
	add := func(phase measure.Phase, time record.Time, kind kv.Kind, second, n int) {
		h := measure.NewHistogram()
		for i := range n {
			_ = h.RecordValue(int64(i+1) * 1e6)
		}
		tag := record.Tag{Phase: phase, Time: time, Series: measure.Series{Kind: kind}}
		if time == record.ErrorTime {
			tag.Error = kv.TimedOut
		}
		files.Intervals = append(files.Intervals, record.Interval{Tag: tag, Start: opened.Add(secondsOf(second)), Steps: measure.NonEmptySteps(h)})
	}
	add(measure.Warmup, record.Service, kv.Get, 0, 1000)
	add(measure.Measured, record.Service, kv.Get, 0, 100)
	add(measure.Measured, record.Response, kv.Get, 0, 100)
	add(measure.Measured, record.Service, kv.Put, 1, 60)
	add(measure.Measured, record.ErrorTime, kv.Put, 1, 40)
	parts := ClassicParts(trial, files, ClassicSections{})
	if len(parts) != 2 {
		t.Fatalf("%+v", parts)
	}
	reads, writes := parts[0], parts[1]
	if reads.Name != "Read" || reads.Operations != 100 || reads.Times.PerSecond != 50 || len(reads.Errors) != 0 || len(reads.Seconds) != 1 || reads.Seconds[0].Done != 100 {
		t.Errorf("reads: %+v", reads)
	}
	if writes.Name != "Write" || writes.Operations != 100 || writes.Times.PerSecond != 30 || len(writes.Errors) != 1 || writes.Errors[0] != (ClassicError{40, "timeout"}) {
		t.Errorf("writes: %+v", writes)
	}
	for _, p := range writes.Percentiles {
		if p.Failed != (p.Percentile > 60) {
			t.Errorf("p%g of 60 successes and 40 failures: %+v", p.Percentile, p)
		}
	}
	// If there is only one part, the timeline determines the second in which operations were done.
	files.Intervals = files.Intervals[:2]
	files.Timeline = []record.Row{{Phase: "measured", Time: opened.Add(time.Millisecond), Done: 70}, {Phase: "measured", Time: opened.Add(time.Second), Done: 30}}
	if p := ClassicParts(trial, files, ClassicSections{})[0]; len(p.Seconds) != 2 || p.Seconds[0].Done != 70 || p.Seconds[1].Done != 30 || !p.Seconds[0].Known || p.Seconds[1].Known {
		t.Errorf("%+v", p.Seconds)
	}
}

func secondsOf(n int) time.Duration { return time.Duration(n) * time.Second }

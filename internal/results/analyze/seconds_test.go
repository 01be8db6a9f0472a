package analyze

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The seconds contain every recorded operation, and their sum equals the whole window. This is true
// for closed and open loops, with failures, with an idle second, and if the last second is
// incomplete.
func TestSecondsAddUpToTheWindow(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed, s := range []shape{
		{seconds: 4, perSecond: 3000, idle: -1},
		{seconds: 3.4, perSecond: 3000, failures: 0.02, idle: 1},
		{seconds: 5.25, perSecond: 2000, failures: 0.5, open: true, idle: 0},
		{seconds: 2, perSecond: 500, failures: 1, open: true, idle: -1},
		{seconds: 0.2, perSecond: 900, idle: -1},
	} {
		s.seed = uint64(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := s.record(t)
			trial := &m.run.Trials[0]
			want := m.service
			if s.open {
				want = m.response
			}
			whole, keys, rates := measure.NewHistogram(), &Keys{}, Throughputs{}
			var errors, done uint64
			length := 0.0
			n := 0
			must(t, EachSecond(trial, func(sec *Second) error {
				if sec.Second != n || !sec.Time.Equal(noon.Add(time.Duration(1+n)*time.Second)) || sec.Missing {
					t.Errorf("second %d is %d at %v, missing %t", n, sec.Second, sec.Time, sec.Missing)
				}
				if got := uint64(sec.Times.Total()) + sec.Errors; got != sec.Due {
					t.Errorf("second %d: %d were due and %d ended", n, sec.Due, got)
				}
				if n == s.idle && (sec.Times.Total() > 0 || sec.Due != 0) {
					t.Error("an idle second has a latency")
				}
				n++
				whole.Merge(sec.Times.Histogram())
				errors, done, length = errors+sec.Errors, done+sec.Done, length+sec.Length
				keys.Add(sec)
				rates.Add(sec)
				return nil
			}))
			if !whole.Equals(want) || errors != m.failed || errors != trial.Errors || done != trial.Completed || math.Abs(length-s.seconds) > 1e-9 {
				t.Errorf("merged: %d times of %d, %d errors of %d, %d done of %d, %v s of %v", whole.TotalCount(), want.TotalCount(), errors, m.failed, done, trial.Completed, length, s.seconds)
			}
			checkKeys(t, keys.Table(), uint64(want.TotalCount()), m.failed, want)
			checkRates(t, rates, m.done, s.seconds)
		})
	}
}

func checkRates(t *testing.T, got Throughputs, done []uint64, seconds float64) {
	t.Helper()
	whole := done[:int(seconds)]
	if len(whole) == 0 {
		if got.Max.Known || got.Min.Known || got.Mean.Known {
			t.Error("no second is whole, and there is a throughput")
		}
		return
	}
	most, least, sum := whole[0], whole[0], uint64(0)
	for _, n := range whole {
		most, least, sum = max(most, n), min(least, n), sum+n
	}
	if got.Max.Number != float64(most) || got.Min.Number != float64(least) || math.Abs(got.Mean.Number-float64(sum)/float64(len(whole))) > 1e-9 {
		t.Errorf("max %v, mean %v, min %v of %v", got.Max.Number, got.Mean.Number, got.Min.Number, whole)
	}
}

// A second that was not recorded is missing, not 0.
func TestMissingSeconds(t *testing.T) {
	m := shape{seconds: 5, perSecond: 100, idle: -1, skip: []int{1, 2}}.record(t)
	var missing []int
	must(t, EachSecond(&m.run.Trials[0], func(s *Second) error {
		if s.Missing {
			missing = append(missing, s.Second)
			if _, ok := s.PerSecond(); ok || s.Complete || s.Times.Total() != 0 {
				t.Errorf("second %d has figures", s.Second)
			}
		}
		return nil
	}))
	if fmt.Sprint(missing) != "[1 2]" {
		t.Errorf("missing are %v", missing)
	}
}

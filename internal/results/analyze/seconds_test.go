package analyze

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/testing/runs"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// The seconds contain every recorded operation, and their sum equals the whole window. This is true
// for closed and open loops, with failures, with an idle second, and if the last second is
// incomplete.
func TestSecondsAddUpToTheWindow(t *testing.T) {
	settle.SkipUnderRace(t)
	for seed, s := range []runs.Random{
		{Seconds: 4, PerSecond: 3000, Idle: -1},
		{Seconds: 3.4, PerSecond: 3000, Failures: 0.02, Idle: 1},
		{Seconds: 5.25, PerSecond: 2000, Failures: 0.5, Open: true, Idle: 0},
		{Seconds: 2, PerSecond: 500, Failures: 1, Open: true, Idle: -1},
		{Seconds: 0.2, PerSecond: 900, Idle: -1},
	} {
		s.Seed = uint64(seed)
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := s.Record(t)
			trial := &m.Run.Trials[0]
			want := m.Service
			if s.Open {
				want = m.Response
			}
			whole, keys, rates := measure.NewHistogram(), &Keys{}, Throughputs{}
			var errors, done uint64
			length := 0.0
			n := 0
			must(t, EachSecond(trial, func(sec *Second) error {
				if sec.Second != n || !sec.Time.Equal(noon.Add(time.Duration(1+n)*time.Second)) || sec.Missing {
					t.Errorf("second %d has the index %d and the time %v, missing %t", n, sec.Second, sec.Time, sec.Missing)
				}
				if got := uint64(sec.Times.Total()) + sec.Errors; got != sec.Due {
					t.Errorf("second %d: %d operations were due and %d ended", n, sec.Due, got)
				}
				if n == s.Idle && (sec.Times.Total() > 0 || sec.Due != 0) {
					t.Error("the idle second has operations")
				}
				n++
				whole.Merge(sec.Times.Histogram())
				errors, done, length = errors+sec.Errors, done+sec.Done, length+sec.Length
				keys.Add(sec)
				rates.Add(sec)
				return nil
			}))
			if !whole.Equals(want) || errors != m.Failed || errors != trial.Errors || done != trial.Completed || math.Abs(length-s.Seconds) > 1e-9 {
				t.Errorf("the merged seconds have %d times of %d, %d errors of %d, %d completed of %d, and last %v s of %v s", whole.TotalCount(), want.TotalCount(), errors, m.Failed, done, trial.Completed, length, s.Seconds)
			}
			checkKeys(t, keys.Table(), uint64(want.TotalCount()), m.Failed, want)
			checkRates(t, rates, m.Done, s.Seconds)
		})
	}
}

func checkRates(t *testing.T, got Throughputs, done []uint64, seconds float64) {
	t.Helper()
	whole := done[:int(seconds)]
	if len(whole) == 0 {
		if got.Max.Known || got.Min.Known || got.Mean.Known {
			t.Error("no second is whole, but a throughput is known")
		}
		return
	}
	most, least, sum := whole[0], whole[0], uint64(0)
	for _, n := range whole {
		most, least, sum = max(most, n), min(least, n), sum+n
	}
	if got.Max.Number != float64(most) || got.Min.Number != float64(least) || math.Abs(got.Mean.Number-float64(sum)/float64(len(whole))) > 1e-9 {
		t.Errorf("max %v, mean %v and min %v are not those of %v", got.Max.Number, got.Mean.Number, got.Min.Number, whole)
	}
}

// A second that was not recorded is missing, not 0.
func TestMissingSeconds(t *testing.T) {
	m := runs.Random{Seconds: 5, PerSecond: 100, Idle: -1, Skip: []int{1, 2}}.Record(t)
	var missing []int
	must(t, EachSecond(&m.Run.Trials[0], func(s *Second) error {
		if s.Missing {
			missing = append(missing, s.Second)
			if _, ok := s.PerSecond(); ok || s.Complete || s.Times.Total() != 0 {
				t.Errorf("the missing second %d has figures", s.Second)
			}
		}
		return nil
	}))
	if fmt.Sprint(missing) != "[1 2]" {
		t.Errorf("missing are %v", missing)
	}
}

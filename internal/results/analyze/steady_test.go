package analyze

import (
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// warming returns a trial with a slow start. In the first `slow` seconds, the throughput is lower
// by a third, and the p99 is 40 ms instead of 10 ms.
func warming(r *rand.Rand, slow, seconds int) *record.Trial {
	done := make([]float64, seconds)
	for i := range done {
		if done[i] = 1000 + 10*r.NormFloat64(); i < slow {
			done[i] -= 330
		}
	}
	t := doneIn(done...)
	for i := range t.Timeline {
		t.Timeline[i].P99 = measure.Figure{NS: 10e6, Known: true}
		if i < slow {
			t.Timeline[i].P99.NS = 40e6
		}
	}
	return t
}

// The end of a slow start is found with a resolution of five seconds. The throughputs are the means
// over the seconds. The text contains the shortest warm-up of the repeats.
func TestSlowStartIsFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, repeats := range []int{1, 2, 3, 6} {
		// the number of trials in which the slow start was not found, and the number of trials in
		// which too many seconds were cut off
		missed, longer := 0, 0
		for range 100 {
			slow := 4 + rng.IntN(7)
			r := &Row{}
			for range repeats {
				trial := warming(rng, slow, 40+rng.IntN(20))
				trial.State = record.Complete
				trial.ActualWarmupSeconds = new(2 + float64(len(r.Done)))
				r.Trials, r.Done = append(r.Trials, trial), append(r.Done, trial)
			}
			l, late := LateSteadyOf(r)
			if !late {
				missed++
				continue
			}
			if l.FirstSecond < slow-4 || l.TooFewRepeats != (repeats < 3) || l.Warmup != 2 {
				t.Fatalf("slow for %d s, %d repeats: %+v", slow, repeats, l)
			}
			if l.FirstSecond > slow+5 {
				longer++
				continue
			}
			if l.SteadyMean.Number < 970 || l.SteadyMean.Number > 1030 || l.OverallMean.Number >= l.SteadyMean.Number || l.Before.NS != 40e6 || l.After.NS != 10e6 {
				t.Fatalf("slow for %d s: %+v", slow, l)
			}
			if text := l.String(); !strings.HasPrefix(text, "The warm-up of 2 s was too short: ") || strings.Contains(text, "single slow period") != l.TooFewRepeats ||
				!strings.Contains(text, "The median of the per-second p99 was 40.0 ms before that time and 10.0 ms after it") {
				t.Fatal(text)
			}
		}
		if missed > 5 || longer > 5 {
			t.Errorf("%d repeats: of 100 slow starts, %d were not found, and %d were reported as more than five seconds too long", repeats, missed, longer)
		}
	}
}

// There is no warning if the window is steady, has a slow period in its middle, is too short, or
// has a second without a record.
func TestSteadyWindowsCauseNoWarning(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	middle := warming(rng, 0, 60)
	for i := 30; i < 38; i++ {
		middle.Timeline[i].Done = 600
	}
	gap := warming(rng, 8, 60)
	gap.Timeline[5].Second = 6
	for what, trial := range map[string]*record.Trial{
		"steady": warming(rng, 0, 60), "a spell in the middle": middle, "too short": warming(rng, 5, 19), "a missing second": gap, "nothing": {},
	} {
		if l, late := LateSteadyOf(RowOf(trial)); late {
			t.Errorf("%s: %s", what, l.String())
		}
	}
	run := &record.Run{Trials: []record.Trial{*warming(rng, 8, 60), *warming(rng, 0, 60)}}
	for i := range run.Trials {
		run.Trials[i].Number, run.Trials[i].State = i+1, record.Complete
	}
	if _, notes := Reasons(run); len(notes) != 1 || !strings.HasPrefix(notes[0].Text, "The load had no warm-up: throughput was steady only after about 10 s") {
		t.Errorf("%+v", notes)
	}
}

package search

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// MostWarmUp is the maximum warm-up of a cluster that was just started.
const MostWarmUp = 30 * time.Second

const (
	warmUpTrial  = 5 * time.Second
	leastWarmUp  = time.Second // a shorter warm-up is skipped
	stillFaster  = 1.05        // if a trial is faster than the best previous trial by more than this factor, the store is not warm yet
	warmShare    = 0.25        // first rate of the search, as a fraction of the closed loop's throughput
	fewestWarmUp = 2           // minimum number of trials before the store can count as warm
)

// warming plans closed-loop trials until a trial is not clearly faster than all previous trials. A
// nil warming plans no trials.
type warming struct {
	each    time.Duration
	left    time.Duration
	running bool
	over    bool
	about   record.WarmUp
}

func newWarming(atMost time.Duration) *warming {
	if atMost < leastWarmUp {
		return nil
	}
	return &warming{each: min(warmUpTrial, atMost), left: atMost, about: record.WarmUp{AtMostNS: atMost.Nanoseconds()}}
}

// next returns the duration and the number of the next trial. The first trial has the number 1. If
// the warm-up is over, both results are 0.
func (w *warming) next() (length time.Duration, number int) {
	if w == nil || w.over || w.left < w.each {
		return 0, 0
	}
	w.running = true
	w.left -= w.each
	return w.each, len(w.about.PerSecond) + 1
}

// runs reports whether a warm-up trial is running.
func (w *warming) runs() bool { return w != nil && w.running }

// addTrial adds the result of a trial, and returns the results of all trials.
func (w *warming) addTrial(perSecond float64, reason string) *record.WarmUp {
	w.running = false
	before := w.about.PerSecond
	if len(before)+1 >= fewestWarmUp && perSecond <= stillFaster*slices.Max(before) {
		w.over, w.about.Steady = true, true
	}
	w.about.PerSecond, w.about.Reason = append(before, perSecond), reason
	out := w.about
	out.PerSecond = slices.Clone(out.PerSecond)
	return &out
}

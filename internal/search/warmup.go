package search

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// MostWarmUp is how long a cluster that was just started is warmed up, at most.
const MostWarmUp = 30 * time.Second

const (
	warmUpTrial  = 5 * time.Second
	leastWarmUp  = time.Second // a shorter warm-up is left out
	stillFaster  = 1.05        // times the best trial before: the store is not warm yet
	warmShare    = 0.25        // of a closed loop's throughput: the first rate of the search
	fewestWarmUp = 2           // trials before the store counts as steady
)

// warming plans trials with a closed loop until none is faster than the ones before.
// A nil warming plans none.
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

// next returns the length of the next trial and its number, from 1; 0 when the warm-up ended.
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

// addTrial adds a trial's result, and returns the results of all.
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

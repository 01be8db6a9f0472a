package cli

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// How a cluster that was just started is warmed up.
const (
	mostWarmUp   = 30 * time.Second
	warmUpTrial  = 5 * time.Second
	leastWarmUp  = time.Second // shorter is none
	stillFaster  = 1.05        // than the best before: it is not warm
	warmShare    = 0.25        // of a closed loop's throughput: the first rate of the search
	fewestWarmUp = 2           // trials until it is called steady
)

// warming is a closed loop, trial by trial, until none is faster than the ones before.
// A nil one has nothing to do.
type warming struct {
	each    time.Duration
	left    time.Duration
	running bool
	over    bool
	about   record.WarmUp
}

// newWarming warms up for so long at most.
func newWarming(atMost time.Duration) *warming {
	if atMost < leastWarmUp {
		return nil
	}
	return &warming{each: min(warmUpTrial, atMost), left: atMost, about: record.WarmUp{AtMostNS: atMost.Nanoseconds()}}
}

// next is how long the next trial is, and its number, from 1; 0 when there is no more.
func (w *warming) next() (length time.Duration, number int) {
	if w == nil || w.over || w.left < w.each {
		return 0, 0
	}
	w.running = true
	w.left -= w.each
	return w.each, len(w.about.PerSecond) + 1
}

// runs reports whether a trial that warms up is under way.
func (w *warming) runs() bool { return w != nil && w.running }

// take adds what a trial came to, and returns what is known of all.
func (w *warming) take(perSecond float64, reason string) *record.WarmUp {
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

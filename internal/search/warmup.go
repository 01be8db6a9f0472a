package search

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/record"
)

// MaxWarmUp is the maximum warm-up of a cluster that was just started.
const MaxWarmUp = 30 * time.Second

const (
	warmUpTrial     = 5 * time.Second
	minWarmUp       = time.Second // a shorter warm-up is skipped
	minSpeedup      = 1.05        // if a trial is faster than the best previous trial by more than this factor, the store is not warm yet
	warmUpShare     = 0.25        // first rate of the search, as a fraction of the closed loop's throughput
	minWarmUpTrials = 2           // minimum number of trials before the store can count as warm
)

// warmUpPlanner plans closed-loop trials until a trial is not clearly faster than all previous
// trials. A nil warmUpPlanner plans no trials.
type warmUpPlanner struct {
	trialTime time.Duration
	remaining time.Duration
	running   bool
	finished  bool
	results   record.WarmUp
}

func newWarmUpPlanner(atMost time.Duration) *warmUpPlanner {
	if atMost < minWarmUp {
		return nil
	}
	return &warmUpPlanner{trialTime: min(warmUpTrial, atMost), remaining: atMost, results: record.WarmUp{AtMostNS: atMost.Nanoseconds()}}
}

// next returns the duration and the number of the next trial. The first trial has the number 1. If
// the warm-up is over, both results are 0.
func (w *warmUpPlanner) next() (length time.Duration, number int) {
	if w == nil || w.finished || w.remaining < w.trialTime {
		return 0, 0
	}
	w.running = true
	w.remaining -= w.trialTime
	return w.trialTime, len(w.results.PerSecond) + 1
}

// isRunning reports whether a warm-up trial is running.
func (w *warmUpPlanner) isRunning() bool { return w != nil && w.running }

// addTrial adds the result of a trial, and returns the results of all trials.
func (w *warmUpPlanner) addTrial(perSecond float64, reason string) *record.WarmUp {
	w.running = false
	before := w.results.PerSecond
	if len(before)+1 >= minWarmUpTrials && perSecond <= minSpeedup*slices.Max(before) {
		w.finished, w.results.Steady = true, true
	}
	w.results.PerSecond, w.results.Reason = append(before, perSecond), reason
	out := w.results
	out.PerSecond = slices.Clone(out.PerSecond)
	return &out
}

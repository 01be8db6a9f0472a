// Package capacity searches for the highest rate at which an objective holds. It determines the
// rate and length of the next trial from the results of earlier trials, and returns an interval for
// the capacity. It runs no trials and has no clock; its input and output are numbers.
//
// Operations are bad if they failed or were slower than a bound. The share of bad operations rises
// with the rate. The capacity is the rate above which this share exceeds the share that the
// objective allows. Near the capacity, the logarithm of the share is almost linear in the rate. In
// an M/M/1 queue it is exactly linear, because P(T > t) = exp(-(μ-λ)t). So this package fits one
// line to all trials near the capacity. Each trial then helps to determine both ends of the
// interval, whereas a bisection uses a trial only for decisions about its own rate. For a server
// with a hard limit, the share jumps at the limit; a jump is a very steep line.
package capacity

import (
	"math"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Goal is one part of an objective: at most the share Limit of the due operations may be bad.
type Goal struct {
	Name  string  // the goal in words, such as p99<20ms
	Limit float64 // a share between 0 and 1, both exclusive
	// Span is the minimum duration, in seconds, of a cause of bad operations. All operations that
	// become due during this time are bad. If the goal is a bound on response times, Span equals
	// the bound.
	Span float64
	// Percentile is set if the goal is a bound on a percentile of response times. A window must
	// then be long enough to contain minSamplesBeyond operations above the percentile.
	Percentile bool
}

// Second is a one-second interval of a trial's window.
type Second struct {
	Due float64   // the number of operations that became due
	Bad []float64 // for each goal, how many of the due operations were bad
	// the number of operations that were due but not done at the end of the interval
	InFlight float64
	// CertainlyBad is, for each goal, the number of operations that would have been bad even
	// without the disturbance of the trial. If CertainlyBad is nil, these numbers are those in Bad.
	CertainlyBad []float64
}

// Trial is the result of a trial.
type Trial struct {
	Plan
	StartTime float64 // the time at which the window opened, in seconds since the start of the search
	Length    float64 // the length of the window in seconds
	Due       float64 // the number of operations that became due in the window
	// the number of operations done in the window, including refused operations and operations that
	// became due earlier
	Done    float64
	Served  float64 // how many of the operations in Done were successful
	Seconds []Second
	// Disturbed is set if the generator was late or other programs used the CPUs. In such a trial,
	// Second.CertainlyBad is a lower bound for the operations that the store made bad, and the
	// store may have caused only part of the backlog.
	Disturbed bool
	// VoidReason explains why the trial is not evidence about the store, as a sentence without the
	// full stop. It is empty if the trial is evidence.
	VoidReason string
}

// Limits that determine whether a trial counts as overloaded.
const (
	// MinAchieved is the minimum share of the due operations that must be done within the window.
	MinAchieved = 0.99
	// maxBacklogGrowth is the largest steady growth of the backlog during a window that does not
	// count as an overload, as a share of the operations that became due in the window.
	maxBacklogGrowth = 0.005
	// fewOperations is the number of operations in flight up to which a trial never counts as
	// overloaded, whatever its rate is.
	fewOperations = 10
	// certainGrowthZ is the value of z in the Mann-Kendall test above which the backlog has a
	// trend. Without a trend, z exceeds this value in one of a thousand trials.
	certainGrowthZ = 3.09
)

// Share returns the trial's share of bad operations for the goal with the given index. It returns
// NaN if no operations were due.
func (t *Trial) Share(goal int) float64 {
	due, bad := t.counts(goal)
	return bad / due
}

func (t *Trial) counts(goal int) (due, bad float64) {
	for i := range t.Seconds {
		due += t.Seconds[i].Due
		bad += t.Seconds[i].Bad[goal]
	}
	return due, bad
}

// certainlyBad returns the number of operations in the interval that would have been bad for a goal
// even without the disturbance of the trial.
func (s *Second) certainlyBad(goal int) float64 {
	if s.CertainlyBad == nil {
		return s.Bad[goal]
	}
	return s.CertainlyBad[goal]
}

// certainlyBad returns the number of operations in the window that would have been bad for a goal
// even without the disturbance of the trial.
func (t *Trial) certainlyBad(goal int) (bad float64) {
	for i := range t.Seconds {
		bad += t.Seconds[i].certainlyBad(goal)
	}
	return bad
}

// Overloaded reports whether more operations became due than were done. Such a trial has no steady
// state, and its results become worse the longer it lasts. A trial that met the objective may have
// some operations in flight at the end. It is overloaded only if more operations are in flight than
// maxInFlightIncrease allows, or if the backlog grew steadily.
func (t *Trial) Overloaded(goals []Goal) bool {
	if t.backlogGrows() {
		return true
	}
	missing := t.countUnfinished()
	return missing > math.Max((1-MinAchieved)*t.Due, fewOperations) &&
		(!t.meetsGoals(goals) || missing > t.maxInFlightIncrease(goals) || t.growthEvidence() > certainGrowth)
}

// meetsGoals reports whether the trial met all goals: for each goal, the share of bad operations is
// within the goal's limit.
func (t *Trial) meetsGoals(goals []Goal) bool {
	for g := range goals {
		if !(t.Share(g) <= goals[g].Limit) {
			return false
		}
	}
	return true
}

// certainGrowth is the value of Trial.growthEvidence above which the backlog certainly grew
// steadily. A burst at the end of the window may cause smaller values.
const certainGrowth = 3.84

// maxInFlightIncrease returns the largest increase in the number of operations in flight that can
// occur during a window in which the store meets the objective. This increase is the number of
// operations that become due within the longest time that the objective allows, plus a margin for
// chance. It is at most half of the due operations.
func (t *Trial) maxInFlightIncrease(goals []Goal) float64 {
	span := 0.0
	for _, g := range goals {
		if g.Percentile {
			span = math.Max(span, g.Span)
		}
	}
	within := t.Due / t.Length * span
	return math.Min(within+certainGrowthZ*math.Sqrt(within), 0.5*t.Due)
}

// Misses reports whether the trial missed a goal regardless of any disturbance.
func (t *Trial) Misses(goals []Goal) bool {
	for g := range goals {
		if due, _ := t.counts(g); t.certainlyBad(g) > goals[g].Limit*due {
			return true
		}
	}
	return !t.Disturbed && t.Overloaded(goals)
}

// certainlyOverloaded reports whether the store was overloaded regardless of any disturbance. A
// late generator also has a backlog, but it does not make most operations bad.
func (t *Trial) certainlyOverloaded(goals []Goal) bool {
	return t.Overloaded(goals) && (!t.Disturbed || t.mostlyBad(goals))
}

// fillSeconds is the time in seconds that a window without a warm-up needs to reach a steady state.
// During this time, fewer operations are in flight than later.
const fillSeconds = 2

// countUnfinished returns how many more operations became due in the window than were done. After a
// warm-up, about as many operations are in flight at the start of the window as at its end. Without
// a warm-up, no operations are in flight at the start. Operations that are in flight after the
// first seconds are then not a sign of an overload, so countUnfinished subtracts them.
func (t *Trial) countUnfinished() float64 {
	missing := t.Due - t.Done
	if t.Warmup == 0 && len(t.Seconds) > fillSeconds {
		missing -= t.Seconds[fillSeconds-1].InFlight
	}
	return missing
}

// heavilyOverloaded reports whether the trial was so overloaded that neither chance nor a short
// pause can explain it: more than a tenth of the due operations were not done, or most operations
// were bad.
func (t *Trial) heavilyOverloaded(goals []Goal) bool {
	return !t.Disturbed && t.countUnfinished() > math.Max(0.1*t.Due, fewOperations) && t.Overloaded(goals) || t.mostlyBad(goals)
}

// mostlyBad reports whether the trial clearly missed one of the goals, regardless of any
// disturbance: more than half of all operations were bad, and at least three quarters of the
// one-second intervals had a share of bad operations above both 10 % and the goal's limit.
func (t *Trial) mostlyBad(goals []Goal) bool {
	for g, goal := range goals {
		missed := 0
		for i := range t.Seconds {
			if t.Seconds[i].certainlyBad(g) > math.Max(goal.Limit, 0.1)*t.Seconds[i].Due {
				missed++
			}
		}
		if due, _ := t.counts(g); t.certainlyBad(g) > 0.5*due && 4*missed >= 3*len(t.Seconds) {
			return true
		}
	}
	return false
}

// backlogGrows reports whether the backlog grew steadily in the window. It uses the Mann-Kendall
// test for a trend and the Theil-Sen slope, which is the median slope between any two one-second
// intervals.
func (t *Trial) backlogGrows() bool {
	n := len(t.Seconds)
	if n < 5 {
		return false
	}
	var slopes []float64
	up := 0.0
	for i := range n {
		for j := i + 1; j < n; j++ {
			slope := (t.Seconds[j].InFlight - t.Seconds[i].InFlight) / float64(j-i)
			slopes = append(slopes, slope)
			switch {
			case slope > 0:
				up++
			case slope < 0:
				up--
			}
		}
	}
	f := float64(n)
	z := (up - 1) / math.Sqrt(f*(f-1)*(2*f+5)/18)
	return z > certainGrowthZ && stat.Median(slopes)*t.Length > math.Max(maxBacklogGrowth*t.Due, fewOperations)
}

// Holds reports whether the trial, considered alone, met all goals.
func (t *Trial) Holds(goals []Goal) bool {
	return t.meetsGoals(goals) && !t.Overloaded(goals)
}

// maxGrowthPerTrial limits the evidence from the backlog of a single trial, as twice a
// log-likelihood ratio. A single cause may make a store slow or fast for a while, so that the
// backlog grows or shrinks steadily. Two trials with the maximum evidence are practically proof.
const maxGrowthPerTrial = 6

// growthEvidence returns the evidence that the backlog grew steadily, as twice a log-likelihood
// ratio. It applies Student's t-test to the differences between consecutive one-second intervals,
// and squares the normal deviate that has the same tail probability. In a queue with enough
// capacity, the mean difference is at most 0 while the queue is not empty. A single stalled second
// is not steady growth.
func (t *Trial) growthEvidence() float64 {
	n := len(t.Seconds) - 1
	if n < 2 {
		return 0
	}
	var sum, squares float64
	for i := range n {
		by := t.Seconds[i+1].InFlight - t.Seconds[i].InFlight
		sum, squares = sum+by, squares+by*by
	}
	mean := sum / float64(n)
	if mean <= 0 {
		return 0
	}
	variance := math.Max(squares-sum*mean, 0) / float64(n-1)
	student := stat.Student(n - 1)
	z := stat.NormalQuantile(1 - math.Max(student.Survival(mean/math.Sqrt(variance/float64(n))), 1e-9))
	return math.Min(math.Max(z, 0)*z, maxGrowthPerTrial)
}

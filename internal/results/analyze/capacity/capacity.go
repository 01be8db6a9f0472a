// Package capacity searches for the highest rate at which an objective holds. It decides the
// rate and length of the next trial from the results of earlier ones, and returns an interval
// for the capacity. It runs no trials, has no clock, and works on numbers only.
//
// The share of bad operations (slower than a bound, or failed) rises with the rate. The capacity
// is the rate at which it crosses the share that the objective allows. Near there the logarithm
// of the share is almost linear in the rate: in M/M/1 it is linear, as P(T > t) = exp(-(μ-λ)t).
// So one line is fitted to all trials near the crossing. Every trial then contributes to both
// ends of the interval, whereas a bisection uses each trial by itself. A server with a hard
// limit has a cliff there, which is a very steep line.
package capacity

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
)

// Goal is a part of an objective: of all operations due, at most Limit may be bad.
type Goal struct {
	Name  string  // as in p99<20ms
	Limit float64 // a share, above 0 and below 1
	// Span is the minimum number of seconds for which a cause makes operations bad: operations due
	// within it are bad together. For a bound on times it is the bound.
	Span float64
	// Percentile reports whether the goal bounds a percentile of response times: a window must be
	// long enough for fewSamples operations beyond it.
	Percentile bool
}

// Second is one second of a trial's window.
type Second struct {
	Due      float64   // operations due in it
	Bad      []float64 // bad operations among them, by goal
	InFlight float64   // at its end: due and not done
	// Surely is the number of operations that would have been bad without the disturbance of the
	// trial, by goal; nil if it equals Bad.
	Surely []float64
}

// Trial is the result of a trial.
type Trial struct {
	Plan
	Began   float64 // when its window opened, in seconds of the search
	Length  float64 // of the window, in seconds
	Due     float64 // operations due in the window
	Done    float64 // operations done in the window, whenever due, including refused ones
	Served  float64 // the successful ones among Done
	Seconds []Second
	// Disturbed reports whether the generator was late or other programs used the CPUs.
	// Second.Surely then bounds the bad operations without the disturbance, and the backlog is not
	// only the store's.
	Disturbed bool
	// Void explains why the trial is not evidence about the store, as a sentence without a full
	// stop; empty if it is.
	Void string
}

// Limits that define an overload.
const (
	// LeastAchieved is the share of the operations due that must be done in the window.
	LeastAchieved = 0.99
	// mostGrowth is the largest growth of the backlog in a window that is no overload, as a share
	// of the operations due, if the backlog grows from second to second.
	mostGrowth = 0.005
	// fewOperations is a number of operations that is no backlog at any rate.
	fewOperations = 10
	// surelyGrows is the value of Mann and Kendall's z from which there is a trend: it is higher by
	// chance in one trial of a thousand.
	surelyGrows = 3.09
)

// Share returns the trial's share of bad operations for a goal, given by its index; NaN if none
// were due.
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

// surelyBad returns the number of a second's operations that were bad for a goal independently of
// any disturbance.
func (s *Second) surelyBad(goal int) float64 {
	if s.Surely == nil {
		return s.Bad[goal]
	}
	return s.Surely[goal]
}

// surelyBad returns the sum over all seconds.
func (t *Trial) surelyBad(goal int) (bad float64) {
	for i := range t.Seconds {
		bad += t.Seconds[i].surelyBad(goal)
	}
	return bad
}

// Overloaded reports whether more operations were due than done: the trial has no steady state, and
// its results become worse the longer it lasts. A trial that kept the objective may end with some
// operations in flight. It is overloaded only if more are in flight than mostUnderWay allows, or if
// the backlog grew from second to second.
func (t *Trial) Overloaded(goals []Goal) bool {
	if t.growing() {
		return true
	}
	missing := t.missing()
	return missing > math.Max((1-LeastAchieved)*t.Due, fewOperations) &&
		(!t.keeps(goals) || missing > t.mostUnderWay(goals) || t.grew() > grewSurely)
}

// keeps reports whether no goal has more bad operations than it allows.
func (t *Trial) keeps(goals []Goal) bool {
	for g := range goals {
		if !(t.Share(g) <= goals[g].Limit) {
			return false
		}
	}
	return true
}

// grewSurely is the least value of Trial.grew that shows a growing backlog, and not a burst at
// the end of the window.
const grewSurely = 3.84

// mostUnderWay returns by how many operations the number in flight may rise during a window
// while the store keeps the objective: those that become due within the longest time that
// the objective allows, plus chance, and at most half of the operations that were due.
func (t *Trial) mostUnderWay(goals []Goal) float64 {
	span := 0.0
	for _, g := range goals {
		if g.Percentile {
			span = math.Max(span, g.Span)
		}
	}
	within := t.Due / t.Length * span
	return math.Min(within+surelyGrows*math.Sqrt(within), 0.5*t.Due)
}

// Misses reports whether the trial missed a goal independently of any disturbance.
func (t *Trial) Misses(goals []Goal) bool {
	for g := range goals {
		if due, _ := t.counts(g); t.surelyBad(g) > goals[g].Limit*due {
			return true
		}
	}
	return !t.Disturbed && t.Overloaded(goals)
}

// surelyOverloaded reports whether the store was overloaded despite any disturbance: a late
// generator has its own backlog and does not make most operations bad.
func (t *Trial) surelyOverloaded(goals []Goal) bool {
	return t.Overloaded(goals) && (!t.Disturbed || t.mostlyBad(goals))
}

// filling is the number of seconds in which a window without a warm-up fills: until then fewer
// operations are in flight than in a steady state.
const filling = 2

// missing returns how many fewer operations were done in the window than became due. After a
// warm-up, the window starts with about as many in flight as at its end. Without one it starts
// empty: operations in flight after the first seconds are then no overload, and only the operations
// that were added later count.
func (t *Trial) missing() float64 {
	missing := t.Due - t.Done
	if t.Warmup == 0 && len(t.Seconds) > filling {
		missing -= t.Seconds[filling-1].InFlight
	}
	return missing
}

// heavily reports whether most of the operations due were bad, neither by chance nor because of a
// short pause.
func (t *Trial) heavily(goals []Goal) bool {
	return !t.Disturbed && t.missing() > math.Max(0.1*t.Due, fewOperations) && t.Overloaded(goals) || t.mostlyBad(goals)
}

// mostlyBad reports whether most operations were bad, in most seconds, independently of any
// disturbance.
func (t *Trial) mostlyBad(goals []Goal) bool {
	for g, goal := range goals {
		missed := 0
		for i := range t.Seconds {
			if t.Seconds[i].surelyBad(g) > math.Max(goal.Limit, 0.1)*t.Seconds[i].Due {
				missed++
			}
		}
		if due, _ := t.counts(g); t.surelyBad(g) > 0.5*due && 4*missed >= 3*len(t.Seconds) {
			return true
		}
	}
	return false
}

// growing reports whether the backlog grew steadily in the window: by Theil and Sen's
// slope, the median of the slopes between any two seconds, and Mann and Kendall's test
// of a trend.
func (t *Trial) growing() bool {
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
	return z > surelyGrows && median(slopes)*t.Length > math.Max(mostGrowth*t.Due, fewOperations)
}

// Holds reports whether the trial by itself kept all goals.
func (t *Trial) Holds(goals []Goal) bool {
	return t.keeps(goals) && !t.Overloaded(goals)
}

func median(all []float64) float64 {
	slices.Sort(all)
	n := len(all)
	if n == 0 {
		return math.NaN()
	}
	return (all[(n-1)/2] + all[n/2]) / 2
}

// mostOfFlow limits the evidence of a trial's backlog, as twice a log-likelihood ratio: one
// cause can make a store slow or fast for a while, however steadily the backlog follows. Two
// trials are practically proof.
const mostOfFlow = 6

// grew returns the evidence that the backlog grew from second to second, as twice a
// log-likelihood ratio: the square of the normal deviate with the same tail probability as
// Student's t of the seconds' differences. A queue with enough capacity has a mean difference of
// at most 0 while it is not empty. A single stalled second is no steady growth.
func (t *Trial) grew() float64 {
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
	return math.Min(math.Max(z, 0)*z, mostOfFlow)
}

package capacity

import "math"

// Status describes how a search ended.
type Status string

// The values of Status.
const (
	Found Status = "found" // the interval has the target width
	// the time limit was reached before the interval had the target width
	TimeOver Status = "time_over"
	// the trials contradict each other, because the capacity changed
	Disturbed    Status = "disturbed"
	HoldsNowhere Status = "holds_nowhere" // the objective was missed even at the lowest rate
	// the objective was met even at the highest rate that could be tried
	AtLeast Status = "at_least"
	// the store has no space for more trials; the interval does not have the target width
	NoSpace     Status = "no_space"
	Interrupted Status = "interrupted" // the user interrupted the search
	Undecided   Status = "not_known"   // no trial, or too few trials, provided information
)

// Search is a search in progress. Only one goroutine may use it.
type Search struct {
	Options
	Trials []Trial

	overheads            trialOverheads
	firstHeldRate        float64  // the first rate that held; 0 if none did
	lastOverloaded       bool     // set if the last trial overloaded the store
	consecutiveUnsettled int      // number of consecutive trials in which the store had not settled
	consecutiveVoid      int      // number of consecutive void trials
	periods              []Period // the periods before the current one
	start                float64  // start of the current period; Trials holds the trials of this period
	finalStatus          Status
	finalInterval        Interval // the final interval, if finalStatus is Found
	reason               string
}

// New starts a search.
func New(o Options) *Search {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	return &Search{Options: o, overheads: trialOverheads{longest: o.Overhead}}
}

func (s *Search) end(status Status, reason string) { s.finalStatus, s.reason = status, reason }

// EndWithoutSpace ends a search because the store has no space for the next trial. The result is
// based on the trials so far.
func (s *Search) EndWithoutSpace(reason string) { s.end(NoSpace, reason) }

// Period is a part of a search in which the capacity was approximately constant.
type Period struct {
	From, To float64 // in seconds since the start of the search
	Interval
}

// trialOverheads tracks the overhead of trials: the time that a trial takes in addition to its
// warm-up and window. All times are in seconds.
type trialOverheads struct {
	longest float64
	// smallest and largest tried value of the parameter; 0 if no value was tried, or if the search
	// is for a rate
	smallestValue, largestValue float64
	// overheads of the trials with the smallest and the largest value, including the start of the
	// cluster
	overheadAtSmallest, overheadAtLargest float64
}

// add records the overhead of a trial. In a search for a parameter of the load, `value` is the
// parameter's value in this trial. In a search for a rate, `value` is 0.
func (b *trialOverheads) add(value, overhead float64) {
	b.longest = math.Max(b.longest, overhead)
	if value > 0 && (b.smallestValue == 0 || value < b.smallestValue) {
		b.smallestValue, b.overheadAtSmallest = value, overhead
	}
	if value > b.largestValue {
		b.largestValue, b.overheadAtLargest = value, overhead
	}
}

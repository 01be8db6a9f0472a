package capacity

import "math"

// Status describes how a search ended.
type Status string

// The statuses.
const (
	Found        Status = "found"         // reached the target width
	TimeOver     Status = "time_over"     // out of time, above the target width
	Disturbed    Status = "disturbed"     // trials contradict each other: the capacity moved
	HoldsNowhere Status = "holds_nowhere" // missed at the lowest rate, too
	AtLeast      Status = "at_least"      // met at the highest rate that could be tried
	NoSpace      Status = "no_space"      // above the target width: the store has no space for more trials
	Interrupted  Status = "interrupted"   // by the user
	NotKnown     Status = "not_known"     // no trial was informative, or too few were
)

// Search is a search in progress. Only one goroutine may use it.
type Search struct {
	Options
	Trials []Trial

	overheads trialOverheads
	light     float64  // the first rate that held; 0 if none did
	heavy     bool     // the last trial overloaded the store
	unsettled int      // consecutive trials in which the store had not settled
	void      int      // consecutive void trials
	periods   []Period // past periods
	start     float64  // start of the current period, whose trials are Trials
	ended     Status
	found     Interval // the interval at the end, if ended is Found
	why       string
}

// New begins a search.
func New(o Options) *Search {
	if o.Width == 0 {
		o.Width = DefaultWidth
	}
	if o.Level == 0 {
		o.Level = DefaultLevel
	}
	return &Search{Options: o, overheads: trialOverheads{longest: o.Overhead}}
}

func (s *Search) end(status Status, why string) { s.ended, s.why = status, why }

// EndWithoutSpace ends a search because the store has no space for the next trial. The result is
// what the earlier trials prove.
func (s *Search) EndWithoutSpace(why string) { s.end(NoSpace, why) }

// Period is a part of a search in which the capacity was about the same.
type Period struct {
	From, To float64 // in seconds of the search
	Interval
}

// trialOverheads accumulates the time of trials outside their warm-ups and windows, in seconds.
type trialOverheads struct {
	longest         float64
	least, most     float64 // the smallest and largest prepared values of the parameter; 0 for a rate, or if there is none
	atLeast, atMost float64 // the overhead of each, with the start of its cluster
}

// add adds the overhead of a trial. value is 0 in a search for a rate.
func (b *trialOverheads) add(value, took float64) {
	b.longest = math.Max(b.longest, took)
	if value > 0 && (b.least == 0 || value < b.least) {
		b.least, b.atLeast = value, took
	}
	if value > b.most {
		b.most, b.atMost = value, took
	}
}

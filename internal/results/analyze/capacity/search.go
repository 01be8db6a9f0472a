package capacity

import "math"

// Status is how a search ended.
type Status string

// The statuses.
const (
	Found        Status = "found"         // as narrow as asked for
	TimeOver     Status = "time_over"     // wider than that
	Disturbed    Status = "disturbed"     // trials contradict each other: the capacity moved
	HoldsNowhere Status = "holds_nowhere" // not even at the lowest rate
	AtLeast      Status = "at_least"      // still at the highest rate that could be tried
	NoSpace      Status = "no_space"      // wider than that: the store has no space for more trials
	Interrupted  Status = "interrupted"   // by the user
	NotKnown     Status = "not_known"     // no trial told anything, or too little
)

// Search is one under way. It belongs to one goroutine.
type Search struct {
	Options
	Trials []Trial

	overheads trialOverheads
	light     float64  // the first rate that held; 0: none has
	heavy     bool     // the last trial overloaded the store
	unsettled int      // trials in a row in which it had not settled
	void      int      // trials in a row that told nothing
	periods   []Period // those that are over
	start     float64  // of the period that is under way, whose trials are Trials
	ended     Status
	found     Interval // where it ended so
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

// NoRoom ends a search because the store has no space for the next trial. The result is what
// the earlier trials prove.
func (s *Search) NoRoom(why string) { s.end(NoSpace, why) }

// Period is a part of a search in which the capacity was about the same.
type Period struct {
	From, To float64 // in seconds of the search
	Interval
}

// trialOverheads accumulates the time of trials outside their warm-ups and windows, in seconds.
type trialOverheads struct {
	longest         float64
	least, most     float64 // the values of the parameter that were prepared; 0: a rate, or none
	atLeast, atMost float64 // how long each took, with the start of its cluster
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

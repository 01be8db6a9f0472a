package record

import "slices"

// Capacity is the result, so far, of a search for the highest rate at which an objective
// holds.
type Capacity struct {
	Objective string `json:"objective"` // as the user wrote it
	// UntilNS is the time limit of the search.
	UntilNS int64 `json:"until_ns"`
	// Width is the width of the interval, relative to the capacity, at which it is narrow enough.
	// Level is the confidence level of the interval.
	Width float64 `json:"width"`
	Level float64 `json:"level"`
	// Parameter is the key of an application's parameter if the search was for the parameter's
	// largest value, not for the highest rate. Lower and Upper are then values of the parameter,
	// and the rates are the rates of loads with these values. It is empty, and absent from the
	// file, if the search was for a rate.
	Parameter string   `json:"parameter,omitempty"`
	Lower     *float64 `json:"lower,omitempty"`
	Upper     *float64 `json:"upper,omitempty"` // absent if UpperPerSecond is null
	// LowerPerSecond is 0 if the objective held at no rate, or if Lower is 0. UpperPerSecond is
	// null if the objective held at every rate that the search tried.
	LowerPerSecond float64  `json:"lower_per_second"`
	UpperPerSecond *float64 `json:"upper_per_second"`
	// EstimatePerSecond is the rate within the interval that is most likely the capacity, according
	// to the trials. It is absent if the interval has no upper end or the objective held at no
	// rate. Estimate is the corresponding value of the parameter.
	EstimatePerSecond *float64 `json:"estimate_per_second,omitempty"`
	Estimate          *float64 `json:"estimate,omitempty"`
	Status            string   `json:"status"`
	// Why is a phrase that explains why the search ended. It is empty while the search is running.
	Why string `json:"why"`
	// WarmUp reports the warm-up before the first trial of a newly started cluster; absent
	// without one.
	WarmUp *WarmUp `json:"warm_up,omitempty"`
	// Periods divide the time of the search into parts, if the capacity changed during the search;
	// absent if it did not.
	Periods []CapacityPeriod `json:"periods,omitempty"`
	// Trials are the search's completed trials in the order of the run.
	Trials []CapacityTrial `json:"trials"`
}

// CapacityPeriod is a part of a search in which the capacity was nearly constant. Its fields have
// the meanings of the fields of Capacity.
type CapacityPeriod struct {
	FromSeconds       float64  `json:"from_seconds"` // since the start of the search
	ToSeconds         float64  `json:"to_seconds"`
	Lower             *float64 `json:"lower,omitempty"`
	Upper             *float64 `json:"upper,omitempty"`
	Estimate          *float64 `json:"estimate,omitempty"`
	LowerPerSecond    float64  `json:"lower_per_second"`
	UpperPerSecond    *float64 `json:"upper_per_second"`
	EstimatePerSecond *float64 `json:"estimate_per_second,omitempty"`
}

// WarmUp reports the closed loop that runs before a search: trials that are repeated until
// throughput no longer grows.
type WarmUp struct {
	AtMostNS int64 `json:"at_most_ns"`
	// Steady is set if throughput no longer grew in the last trial. It is false if the time limit
	// AtMostNS ended the warm-up.
	Steady bool `json:"steady"`
	// PerSecond is the throughput of each trial.
	PerSecond []float64 `json:"operations_per_second"`
	// Reason is a phrase that explains why the store's speed changes after its start; empty if no
	// reason is known.
	Reason string `json:"reason,omitempty"`
}

// Ends returns the throughputs of the first and the last trial. There must be at least one.
func (w *WarmUp) Ends() (first, last float64) {
	return w.PerSecond[0], w.PerSecond[len(w.PerSecond)-1]
}

// CapacityOver reports one search for each value of a parameter.
type CapacityOver struct {
	Parameter string `json:"parameter"` // its key in scenario files
	// UntilNS is the time limit for all searches together.
	UntilNS  int64            `json:"until_ns"`
	Searches []CapacitySearch `json:"searches"` // in the order in which they ran
}

// CapacitySearch is the search for one value of the parameter.
type CapacitySearch struct {
	Value string `json:"value"` // as the user wrote it
	Capacity
}

// Searches holds the results of a run's searches: either a single capacity, or one capacity for
// each value of a parameter. The zero value means that the run has no search.
type Searches struct {
	Capacity *Capacity
	Over     *CapacityOver
}

// CapacitySearching is the status of a search that is running or was killed.
const CapacitySearching = "searching"

// PurposeWarmUp is the purpose of a trial whose closed loop warms up a cluster. A search ignores
// the trial's figures.
const PurposeWarmUp = "warm_up"

// CapacityTrial describes what a trial contributed to a search.
type CapacityTrial struct {
	Rate    float64 `json:"rate_per_second"` // 0 for a warm-up
	Value   float64 `json:"value,omitempty"` // value of the searched parameter
	Purpose string  `json:"purpose"`
	Holds   bool    `json:"holds"`
	// Overloaded reports whether more operations were due than completed.
	Overloaded bool `json:"overloaded"`
	// Bad holds one share for each part of the objective: the share of operations that failed or
	// exceeded the part's time limit. A share is null if no operation was due.
	Bad []*float64 `json:"bad_shares"`
	// Void is why the search ignores the trial; empty if the search uses it.
	Void string `json:"void,omitempty"`
}

// SetCapacity records the current state of the searches.
func (w *Writer) SetCapacity(found Searches) error {
	var one *Capacity
	var over *CapacityOver
	if found.Capacity != nil {
		one = new(found.Capacity.copied())
	}
	if found.Over != nil {
		copied := *found.Over
		copied.Searches = make([]CapacitySearch, 0, len(found.Over.Searches))
		for i := range found.Over.Searches {
			s := &found.Over.Searches[i]
			copied.Searches = append(copied.Searches, CapacitySearch{s.Value, s.copied()})
		}
		over = &copied
	}
	return w.update(func(r *Run) { r.Capacity, r.CapacityOver = one, over })
}

// copied returns a deep copy.
func (c *Capacity) copied() Capacity {
	out := *c
	out.Trials = append([]CapacityTrial{}, c.Trials...)
	out.Periods = slices.Clone(c.Periods)
	if c.WarmUp != nil {
		w := *c.WarmUp
		w.PerSecond = append([]float64{}, w.PerSecond...)
		out.WarmUp = &w
	}
	return out
}

// LastFolder returns the folder of the trial that began last; empty before the first.
func (w *Writer) LastFolder() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.run.Trials) == 0 {
		return ""
	}
	return w.run.Trials[len(w.run.Trials)-1].Folder
}

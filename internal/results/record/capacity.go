package record

import "slices"

// Capacity is the result of a search for the highest rate at which an objective holds. While the
// search is running, it is the result so far.
type Capacity struct {
	Objective string `json:"objective"` // as the user wrote it
	// UntilNS is the time limit of the search.
	UntilNS int64 `json:"until_ns"`
	// Width is the width, relative to the capacity, at which the interval is narrow enough to end
	// the search. Level is the confidence level of the interval.
	Width float64 `json:"width"`
	Level float64 `json:"level"`
	// Parameter is set if the search was for the largest value of an application's parameter, and
	// not for the highest rate. It is the key of this parameter. In this case, Lower and Upper are
	// values of the parameter, and the rates are those of the loads with these values. Parameter is
	// empty, and absent from the file, if the search was for a rate.
	Parameter string   `json:"parameter,omitempty"`
	Lower     *float64 `json:"lower,omitempty"`
	Upper     *float64 `json:"upper,omitempty"` // absent if UpperPerSecond is null
	// LowerPerSecond is 0 if the objective did not hold at any rate, or if Lower is 0.
	// UpperPerSecond is null if the objective held at every rate that the search tried.
	LowerPerSecond float64  `json:"lower_per_second"`
	UpperPerSecond *float64 `json:"upper_per_second"`
	// EstimatePerSecond is the rate in the interval that is, according to the trials, most likely
	// the capacity. It is absent if the interval has no upper end or the objective did not hold at
	// any rate. Estimate is the corresponding value of the parameter.
	EstimatePerSecond *float64 `json:"estimate_per_second,omitempty"`
	Estimate          *float64 `json:"estimate,omitempty"`
	Status            string   `json:"status"`
	// Reason is a phrase with the reason why the search ended. It is empty while the search is
	// running.
	Reason string `json:"why"`
	// WarmUp reports the warm-up of a newly started cluster before its first trial. It is absent if
	// there was no warm-up.
	WarmUp *WarmUp `json:"warm_up,omitempty"`
	// Periods holds the capacity in successive parts of the search, if the capacity changed during
	// the search. It is absent otherwise.
	Periods []CapacityPeriod `json:"periods,omitempty"`
	// Trials lists the completed trials of the search, in the order in which they ran.
	Trials []CapacityTrial `json:"trials"`
}

// CapacityPeriod is a part of a search in which the capacity was nearly constant. Its fields have
// the same meanings as those of Capacity.
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

// WarmUp reports the warm-up before a search: trials of a closed loop, which are repeated until
// their throughput no longer increases.
type WarmUp struct {
	AtMostNS int64 `json:"at_most_ns"`
	// Steady is set if throughput did not increase in the last trial. It is not set if the warm-up
	// ended because the time limit AtMostNS was reached.
	Steady bool `json:"steady"`
	// PerSecond is the throughput of each trial.
	PerSecond []float64 `json:"operations_per_second"`
	// Reason is a phrase with the reason why the store's speed changes after its start. It is empty
	// if no reason is known.
	Reason string `json:"reason,omitempty"`
}

// FirstAndLast returns the throughputs of the first and the last trial. It panics if there are no
// trials.
func (w *WarmUp) FirstAndLast() (first, last float64) {
	return w.PerSecond[0], w.PerSecond[len(w.PerSecond)-1]
}

// CapacityByParameter holds the results of several searches: one for each value of a parameter.
type CapacityByParameter struct {
	Parameter string `json:"parameter"` // its key in scenario files
	// UntilNS is the time limit for all searches together.
	UntilNS  int64            `json:"until_ns"`
	Searches []CapacitySearch `json:"searches"` // in the order in which they ran
}

// CapacitySearch is the result of the search for one value of the parameter.
type CapacitySearch struct {
	Value string `json:"value"` // as the user wrote it
	Capacity
}

// Searches holds the results of all searches in a run. This is either a single capacity, or one
// capacity for each value of a parameter. The zero value means that the run has no search.
type Searches struct {
	Capacity    *Capacity
	ByParameter *CapacityByParameter
}

// CapacitySearching is the status of a search that has not ended: it is running or was killed.
const CapacitySearching = "searching"

// PurposeWarmUp is the purpose of a trial that warms up a cluster with a closed loop. The search
// ignores the figures of such a trial.
const PurposeWarmUp = "warm_up"

// CapacityTrial describes a trial of a search and its result for the search.
type CapacityTrial struct {
	Rate    float64 `json:"rate_per_second"` // 0 for a warm-up
	Value   float64 `json:"value,omitempty"` // value of the parameter that is searched
	Purpose string  `json:"purpose"`
	Holds   bool    `json:"holds"`
	// Overloaded reports whether more operations were due than completed.
	Overloaded bool `json:"overloaded"`
	// BadShares has an element for each part of the objective: the share of operations that failed
	// or exceeded the time limit in this part. An element is null if no operation was due.
	BadShares []*float64 `json:"bad_shares"`
	// VoidReason is the reason why the search ignores the trial, or empty if the search uses it.
	VoidReason string `json:"void,omitempty"`
}

// SetCapacity records the current state of the searches.
func (w *Writer) SetCapacity(results Searches) error {
	var one *Capacity
	var over *CapacityByParameter
	if results.Capacity != nil {
		one = new(results.Capacity.deepCopy())
	}
	if results.ByParameter != nil {
		copied := *results.ByParameter
		copied.Searches = make([]CapacitySearch, 0, len(results.ByParameter.Searches))
		for i := range results.ByParameter.Searches {
			s := &results.ByParameter.Searches[i]
			copied.Searches = append(copied.Searches, CapacitySearch{s.Value, s.deepCopy()})
		}
		over = &copied
	}
	return w.update(func(r *Run) { r.Capacity, r.CapacityByParameter = one, over })
}

// deepCopy returns a copy with its own lists. The copy shares only numbers that never change with c:
// those behind pointers, and the lists BadShares.
func (c *Capacity) deepCopy() Capacity {
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

// LastFolder returns the folder of the trial that began last, or "" if no trial has begun.
func (w *Writer) LastFolder() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.run.Trials) == 0 {
		return ""
	}
	return w.run.Trials[len(w.run.Trials)-1].Folder
}

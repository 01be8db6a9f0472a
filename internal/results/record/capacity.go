package record

import "slices"

// Capacity is what a search for the highest rate at which an objective holds has
// found, as far as it came.
type Capacity struct {
	Objective string `json:"objective"` // as written
	// UntilNS is how long the search may take.
	UntilNS int64 `json:"until_ns"`
	// Width is how wide an interval is narrow enough, as a share of it, and Level how
	// sure it is to hold the capacity.
	Width float64 `json:"width"`
	Level float64 `json:"level"`
	// Parameter is the key of the application's parameter whose largest value was searched
	// in place of the highest rate, and Lower and Upper are its values; the rates are then
	// those of such loads. Empty, and absent: the rate was searched.
	Parameter string   `json:"parameter,omitempty"`
	Lower     *float64 `json:"lower,omitempty"`
	Upper     *float64 `json:"upper,omitempty"` // absent where UpperPerSecond is null
	// LowerPerSecond is 0 where the objective holds nowhere, or Lower is 0, and UpperPerSecond null
	// where it holds as far as was tried.
	LowerPerSecond float64  `json:"lower_per_second"`
	UpperPerSecond *float64 `json:"upper_per_second"`
	// EstimatePerSecond is the rate that the trials have as the most likely one, within the
	// interval; absent where that is open, and where the objective held at no rate that was
	// tried. Estimate is the same as a value of the parameter.
	EstimatePerSecond *float64 `json:"estimate_per_second,omitempty"`
	Estimate          *float64 `json:"estimate,omitempty"`
	Status            string   `json:"status"`
	// Why is a sentence without its end: what ended the search. Empty while it goes on.
	Why string `json:"why"`
	// WarmUp is what was done before the first trial to a cluster that had been started
	// just then; absent where nothing was.
	WarmUp *WarmUp `json:"warm_up,omitempty"`
	// Periods are the parts of the search between which the capacity changed, the last with
	// what it was at the end; absent where it did not change.
	Periods []CapacityPeriod `json:"periods,omitempty"`
	// Trials are those of the search that have ended, in their order: those of the run.
	Trials []CapacityTrial `json:"trials"`
}

// CapacityPeriod is a part of a search in which the capacity was about the same. Its ends
// and its estimate are given as those of Capacity.
type CapacityPeriod struct {
	FromSeconds       float64  `json:"from_seconds"` // of the search
	ToSeconds         float64  `json:"to_seconds"`
	Lower             *float64 `json:"lower,omitempty"`
	Upper             *float64 `json:"upper,omitempty"`
	Estimate          *float64 `json:"estimate,omitempty"`
	LowerPerSecond    float64  `json:"lower_per_second"`
	UpperPerSecond    *float64 `json:"upper_per_second"`
	EstimatePerSecond *float64 `json:"estimate_per_second,omitempty"`
}

// WarmUp is a closed loop before a search: trials of it, until none is faster than the
// ones before.
type WarmUp struct {
	AtMostNS int64 `json:"at_most_ns"`
	// Steady says that the last trial was no faster than the ones before; false where the
	// time was over.
	Steady bool `json:"steady"`
	// PerSecond is the throughput of each trial.
	PerSecond []float64 `json:"operations_per_second"`
	// Reason is why the store is not at once what it is later, as a phrase; empty where
	// none is known.
	Reason string `json:"reason,omitempty"`
}

// Ends are the throughputs of the first trial and of the last, of which there is one at
// least.
func (w *WarmUp) Ends() (first, last float64) {
	return w.PerSecond[0], w.PerSecond[len(w.PerSecond)-1]
}

// CapacityOver is a search for each value of a parameter.
type CapacityOver struct {
	Parameter string `json:"parameter"` // its key in scenario files
	// UntilNS is how long all searches may take together.
	UntilNS  int64            `json:"until_ns"`
	Searches []CapacitySearch `json:"searches"` // in the order in which they ran
}

// CapacitySearch is the search for one value.
type CapacitySearch struct {
	Value string `json:"value"` // as written
	Capacity
}

// Searches are what a run has searched: one capacity, or one for each value of a
// parameter. The zero value is of a run that searches for none.
type Searches struct {
	Capacity *Capacity
	Over     *CapacityOver
}

// CapacitySearching is the status of a search that goes on, or was cut off.
const CapacitySearching = "searching"

// PurposeWarmUp is that of a trial whose closed loop warms a cluster up. It tells a
// search nothing.
const PurposeWarmUp = "warm_up"

// CapacityTrial is what a trial was to the search.
type CapacityTrial struct {
	Rate    float64 `json:"rate_per_second"` // 0 of one that warms up
	Value   float64 `json:"value,omitempty"` // of the parameter that is searched
	Purpose string  `json:"purpose"`
	Holds   bool    `json:"holds"`
	// Overloaded says that more was due than was done.
	Overloaded bool `json:"overloaded"`
	// Bad has, for each part of the objective, the share of operations that were slower
	// than its bound, or failed; null where none was due.
	Bad []*float64 `json:"bad_shares"`
	// Void says why the trial tells nothing of the store; empty for one that does.
	Void string `json:"void,omitempty"`
}

// SetCapacity records how far the searches have come.
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

// copied shares nothing with the capacity that goes on to change.
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

// LastFolder is the folder of the trial that began last; empty before the first.
func (w *Writer) LastFolder() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.run.Trials) == 0 {
		return ""
	}
	return w.run.Trials[len(w.run.Trials)-1].Folder
}

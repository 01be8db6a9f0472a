package record

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
	// LowerPerSecond is 0 where the objective holds nowhere, and UpperPerSecond null
	// where it holds as far as was tried.
	LowerPerSecond float64  `json:"lower_per_second"`
	UpperPerSecond *float64 `json:"upper_per_second"`
	Status         string   `json:"status"`
	// Why is a sentence without its end: what ended the search. Empty while it goes on.
	Why string `json:"why"`
	// Trials are those of the search that have ended, in their order: those of the run.
	Trials []CapacityTrial `json:"trials"`
}

// CapacitySearching is the status of a search that goes on, or was cut off.
const CapacitySearching = "searching"

// CapacityTrial is what a trial was to the search.
type CapacityTrial struct {
	Rate    float64 `json:"rate_per_second"`
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

// SetCapacity records how far the search has come.
func (w *Writer) SetCapacity(c *Capacity) error {
	copied := *c
	copied.Trials = append([]CapacityTrial{}, c.Trials...)
	return w.update(func(r *Run) { r.Capacity = &copied })
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

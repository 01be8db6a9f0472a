package capacity

// Plan describes the next trial.
type Plan struct {
	Rate    float64 `json:"rate_per_second"`
	Warmup  float64 `json:"warmup_seconds"`
	Window  float64 `json:"window_seconds"`
	Purpose Purpose `json:"purpose"`
}

// Purpose is the purpose of a trial.
type Purpose string

// The values of Purpose.
const (
	Explore Purpose = "explore" // find one rate that holds and one that does not
	Narrow  Purpose = "narrow"  // try rates between these two
	Refine  Purpose = "refine"  // improve both ends of the interval
	Settle  Purpose = "settle"  // wait until the store handles a light load as before
	Confirm Purpose = "confirm" // confirm both ends of the interval before the search ends
)

// Lengths of windows in seconds.
const (
	exploring     = 2
	narrowing     = 3
	refining      = 6
	longestWindow = 20
	settling      = 1
)

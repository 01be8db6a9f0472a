package capacity

// Plan is the next trial.
type Plan struct {
	Rate    float64 `json:"rate_per_second"`
	Warmup  float64 `json:"warmup_seconds"`
	Window  float64 `json:"window_seconds"`
	Purpose Purpose `json:"purpose"`
}

// Purpose is the purpose of a trial.
type Purpose string

// The purposes.
const (
	Explore Purpose = "explore" // until one rate holds and one does not
	Narrow  Purpose = "narrow"  // between these rates
	Refine  Purpose = "refine"  // for both ends of the interval
	Settle  Purpose = "settle"  // wait until a light load is as before
	Confirm Purpose = "confirm" // confirm both ends at the end
)

// The lengths of windows, in seconds.
const (
	exploring = 2
	narrowing = 3
	refining  = 6
	longest   = 20
	settling  = 1
)

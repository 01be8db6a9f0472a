package record

import "github.com/quorumbench/quorumbench/internal/scenario"

// Until is the rule for repeating a run's trials until their figures are precise.
type Until struct {
	// Precision is the largest allowed half-width of a 95 % confidence interval, as a share of the
	// figure.
	Precision float64 `json:"precision"`
	AtMostNS  int64   `json:"at_most_ns"`
	// Metrics are the names of the figures that must be precise.
	Metrics []string `json:"metrics"`
	// Ended is why no further round was started. It is empty while the run is active, and if the
	// run was interrupted or failed.
	Ended Ending `json:"ended,omitempty"`
}

// Ending is the reason why the run stopped repeating trials.
type Ending string

// The reasons.
const (
	EndedPrecise Ending = "precise" // every figure is precise
	EndedTime    Ending = "time"    // another round would have exceeded the time limit
	EndedMost    Ending = "most"    // the limit on repeats was reached
	// EndedHopeless means that a figure cannot become precise, because it has no valid repeat, or
	// has no value in one of the repeats.
	EndedHopeless Ending = "hopeless"
	// EndedDisturbed means that more repeats cannot make the remaining figures precise, because
	// disturbances may have moved the figures by more than the precision.
	EndedDisturbed Ending = "disturbed"
)

// NewUntil returns the rule of a scenario; nil without one.
func NewUntil(u *scenario.Until) *Until {
	if u == nil {
		return nil
	}
	return &Until{Precision: u.Precision, AtMostNS: u.AtMost.Nanoseconds(), Metrics: orEmpty(u.Metrics)}
}

// Plan records how many trials are known to be planned.
func (w *Writer) Plan(trials int) error { return w.update(func(r *Run) { r.Planned = trials }) }

// EndRepeating records why the run stopped repeating trials.
func (w *Writer) EndRepeating(why Ending) error {
	return w.update(func(r *Run) { r.Until.Ended = why })
}

package record

import "github.com/quorumbench/quorumbench/internal/scenario"

// Until is the rule by which a run repeats its trials until their figures are precise.
type Until struct {
	// Precision is the maximum half-width of a 95 % confidence interval, as a share of the figure.
	Precision float64 `json:"precision"`
	AtMostNS  int64   `json:"at_most_ns"`
	// Metrics holds the names of the figures that must be precise.
	Metrics []string `json:"metrics"`
	// Ended is the reason why the run did not start another round. It is empty while the run is
	// active, and if the run was interrupted or failed.
	Ended Ending `json:"ended,omitempty"`
}

// Ending is the reason why the run stopped repeating trials.
type Ending string

// The reasons.
const (
	EndedPrecise Ending = "precise" // every figure is precise
	EndedTime    Ending = "time"    // another round would have exceeded the time limit
	EndedMost    Ending = "most"    // the limit on repeats was reached
	// EndedHopeless means that a figure cannot become precise. Either it has no valid repeat, or it
	// is missing in one of the repeats.
	EndedHopeless Ending = "hopeless"
	// EndedDisturbed means that more repeats cannot make the remaining figures precise, because
	// disturbances may have changed these figures by more than Precision.
	EndedDisturbed Ending = "disturbed"
)

// NewUntil returns the rule that a scenario sets, or nil if u is nil.
func NewUntil(u *scenario.Until) *Until {
	if u == nil {
		return nil
	}
	return &Until{Precision: u.Precision, AtMostNS: u.AtMost.Nanoseconds(), Metrics: orEmpty(u.Metrics)}
}

// Plan records the number of trials that are planned so far.
func (w *Writer) Plan(trials int) error { return w.update(func(r *Run) { r.Planned = trials }) }

// EndRepeating records why the run stopped repeating trials.
func (w *Writer) EndRepeating(why Ending) error {
	return w.update(func(r *Run) { r.Until.Ended = why })
}

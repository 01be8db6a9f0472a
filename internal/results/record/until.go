package record

import "github.com/quorumbench/quorumbench/internal/scenario"

// RepeatRule is the rule by which a run repeats its trials until their figures are precise.
type RepeatRule struct {
	// Precision is the maximum half-width of a 95 % confidence interval, as a share of the figure.
	Precision float64 `json:"precision"`
	AtMostNS  int64   `json:"at_most_ns"`
	// Metrics holds the names of the figures that must be precise.
	Metrics []string `json:"metrics"`
	// EndReason is the reason why the run did not start another round. It is empty while the run is
	// active, and if the run was interrupted or failed.
	EndReason EndReason `json:"ended,omitempty"`
}

// EndReason is the reason why the run stopped repeating trials.
type EndReason string

// The reasons.
const (
	EndedPrecise    EndReason = "precise" // every figure is precise
	EndedTime       EndReason = "time"    // another round would have exceeded the time limit
	EndedMaxRepeats EndReason = "most"    // the limit on repeats was reached
	// EndedHopeless means that a figure cannot become precise. Either it has no usable repeat,
	// or it is missing in one of the repeats.
	EndedHopeless EndReason = "hopeless"
	// EndedDisturbed means that more repeats cannot make the remaining figures precise, because
	// disturbances may have changed these figures by more than Precision.
	EndedDisturbed EndReason = "disturbed"
)

// NewRepeatRule returns the rule that a scenario sets, or nil if u is nil.
func NewRepeatRule(u *scenario.RepeatRule) *RepeatRule {
	if u == nil {
		return nil
	}
	return &RepeatRule{Precision: u.Precision, AtMostNS: u.TimeLimit.Nanoseconds(), Metrics: orEmpty(u.Metrics)}
}

// Plan records the number of trials that are planned so far.
func (w *Writer) Plan(trials int) error { return w.update(func(r *Run) { r.Planned = trials }) }

// EndRepeating records why the run stopped repeating trials.
func (w *Writer) EndRepeating(reason EndReason) error {
	return w.update(func(r *Run) { r.RepeatRule.EndReason = reason })
}

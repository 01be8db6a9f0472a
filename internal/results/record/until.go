package record

import "github.com/quorumbench/quorumbench/internal/scenario"

// Until is the rule by which the trials of a run were repeated until their
// figures were precise.
type Until struct {
	// Precision is how far a 95 % interval may reach to either side, as a share
	// of the figure.
	Precision float64 `json:"precision"`
	AtMostNS  int64   `json:"at_most_ns"`
	// Metrics are the figures that are to be precise, by their names.
	Metrics []string `json:"metrics"`
	// Ended is why no more rounds were begun; empty until then, and where the run
	// was interrupted or failed.
	Ended Ending `json:"ended,omitempty"`
}

// Ending is why trials were not repeated any more.
type Ending string

// The endings.
const (
	EndedPrecise Ending = "precise" // every figure is
	EndedTime    Ending = "time"    // another round would not have ended in it
	EndedMost    Ending = "most"    // there cannot be more repeats
	// EndedHopeless is said where a figure cannot become precise: no repeat
	// counts, or one has no number for it.
	EndedHopeless Ending = "hopeless"
	// EndedDisturbed is said where every figure that is not precise cannot become so by
	// more repeats, because disturbances can have moved it too far.
	EndedDisturbed Ending = "disturbed"
)

// UntilOf is the rule of a scenario; nil without one.
func UntilOf(u *scenario.Until) *Until {
	if u == nil {
		return nil
	}
	return &Until{Precision: u.Precision, AtMostNS: u.AtMost.Nanoseconds(), Metrics: orEmpty(u.Metrics)}
}

// Plan says how many trials there are to be, as far as is known now.
func (w *Writer) Plan(trials int) error { return w.update(func(r *Run) { r.Planned = trials }) }

// Repeated says why trials are not repeated any more.
func (w *Writer) Repeated(why Ending) error { return w.update(func(r *Run) { r.Until.Ended = why }) }

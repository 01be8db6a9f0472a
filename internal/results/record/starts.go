package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Start is one of the times at which a run was begun, or taken up again.
type Start struct {
	At time.Time `json:"at"`
	// Before is how many of the run's trials had ended by then.
	Before int `json:"trials_before"`
	// Machines are what they were then; the generator's first.
	Machines []measure.Machine `json:"machines"`
	// Of a start that was not the last: how the run ended then, and when.
	// Incomplete, and no time, if it was killed.
	State    State      `json:"state,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	Finished *time.Time `json:"finished,omitempty"`
	// Aside are the folders of what was cut off then, in the run directory.
	Aside []string `json:"aside,omitempty"`
}

// Asked is what the command line changed in the scenario's text, and chose beside it.
// Scale and Until stand in the run.
type Asked struct {
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
	Exec    string `json:"exec,omitempty"`
	// Set are parameters as KEY=VALUE; of one that holds a password, KEY alone.
	Set     []string `json:"set,omitempty"`
	DataDir string   `json:"data_dir,omitempty"` // absolute
}

// ended is when a trial's window closed, or when the trial began if it had none.
func (t *Trial) ended() time.Time {
	if t.Opened == nil {
		return t.Started
	}
	const most = 1e7 // seconds: longer than any window, and a duration
	return t.Opened.Add(time.Duration(math.Max(0, math.Min(t.Seconds, most)) * 1e9))
}

// Active is for how long the run had been under way when its first n trials had
// ended, without the time in which it was not.
func (r *Run) Active(n int) (total time.Duration) {
	n = min(n, len(r.Trials))
	for i, s := range r.Starts {
		to := n
		if i+1 < len(r.Starts) {
			to = min(n, r.Starts[i+1].Before)
		}
		if to > max(s.Before, 0) {
			total += max(0, r.Trials[to-1].ended().Sub(s.At))
		}
	}
	return total
}

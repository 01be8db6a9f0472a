package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Start is one of the times at which a run was begun or resumed.
type Start struct {
	At time.Time `json:"at"`
	// Before is the number of trials completed by then.
	Before int `json:"trials_before"`
	// Machines are the machines at that time, the generator's first.
	Machines []measure.Machine `json:"machines"`
	// State, Failure and Finished describe the end of an earlier start that was not the
	// last. State is Incomplete and Finished is absent if the run was killed.
	State    State      `json:"state,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	Finished *time.Time `json:"finished,omitempty"`
	// Aside lists the run directory's folders of trials that were cut off at the end of this start.
	Aside []string `json:"aside,omitempty"`
}

// Asked holds the command line's changes to the scenario and its other choices, except
// Scale and Until, which are fields of Run.
type Asked struct {
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
	Exec    string `json:"exec,omitempty"`
	// Set holds parameters as KEY=VALUE, or only KEY if the parameter is a password.
	Set     []string `json:"set,omitempty"`
	DataDir string   `json:"data_dir,omitempty"` // absolute
}

// ended returns when a trial's window closed, or when the trial began if it had no window.
func (t *Trial) ended() time.Time {
	if t.Opened == nil {
		return t.Started
	}
	const most = 1e7 // seconds: above any window, and still a valid duration
	return t.Opened.Add(time.Duration(math.Max(0, math.Min(t.Seconds, most)) * 1e9))
}

// Active returns for how long the run had been running when its first n trials had ended,
// without interruptions between starts.
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

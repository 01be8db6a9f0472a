package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Start is one start of a run: the first start, or a start that resumed the run.
type Start struct {
	At time.Time `json:"at"`
	// number of trials that had completed before
	Before int `json:"trials_before"`
	// Machines are the machines at that time, the generator's first.
	Machines []measure.Machine `json:"machines"`
	// State, Failure and Finished describe how a start ended that was not the last one. If the run
	// was killed, State is Incomplete and Finished is absent.
	State    State      `json:"state,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	Finished *time.Time `json:"finished,omitempty"`
	// Aside lists the folders of trials that were incomplete at the end of this start. The folders
	// were moved to these names in the run directory.
	Aside []string `json:"aside,omitempty"`
}

// Asked holds what the command line changed in the scenario, and its other settings. Scale and
// Until are not included, because Run has fields for them.
type Asked struct {
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
	Exec    string `json:"exec,omitempty"`
	// Set contains parameters as KEY=VALUE, or only KEY if the parameter is a password.
	Set     []string `json:"set,omitempty"`
	DataDir string   `json:"data_dir,omitempty"` // an absolute path
}

// ended returns when a trial's window ended, or when the trial began if it had no window.
func (t *Trial) ended() time.Time {
	if t.Opened == nil {
		return t.Started
	}
	const most = 1e7 // seconds; longer than any window, and still valid as a duration
	return t.Opened.Add(time.Duration(math.Max(0, math.Min(t.Seconds, most)) * 1e9))
}

// Active returns for how long the run had been active when its first n trials had ended. It does
// not count the interruptions between starts.
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

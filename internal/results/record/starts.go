package record

import (
	"math"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Start describes one start of a run. It is either the first start, or a start that resumed the
// run.
type Start struct {
	At time.Time `json:"at"`
	// TrialsBefore is the number of trials that had completed before this start.
	TrialsBefore int `json:"trials_before"`
	// Machines lists the machines at the time of this start, with the generator's machine first.
	Machines []measure.Machine `json:"machines"`
	// State, Failure and Finished describe how this start ended. They are set when a later start
	// resumes the run. If the run was killed, State is Incomplete and Finished is absent.
	State    State      `json:"state,omitempty"`
	Failure  string     `json:"failure,omitempty"`
	Finished *time.Time `json:"finished,omitempty"`
	// SetAsideFolders lists folders of trials that were incomplete at the end of this start. The
	// names are those to which the folders were moved, relative to the run directory.
	SetAsideFolders []string `json:"aside,omitempty"`
}

// CommandLineSettings holds the changes that the command line made to the scenario, and the other
// settings on the command line. It excludes Scale and RepeatRule, for which Run has fields.
type CommandLineSettings struct {
	Store   string `json:"store,omitempty"`
	Version string `json:"version,omitempty"`
	Exec    string `json:"exec,omitempty"`
	// Set holds parameters in the form KEY=VALUE. If the parameter is a password, it holds only
	// KEY.
	Set     []string `json:"set,omitempty"`
	DataDir string   `json:"data_dir,omitempty"` // an absolute path
}

// ended returns the time at which the trial's window ended. If the trial had no window, it returns
// the time at which the trial began.
func (t *Trial) ended() time.Time {
	if t.Opened == nil {
		return t.Started
	}
	const most = 1e7 // in seconds; longer than any window, but still a valid time.Duration
	return t.Opened.Add(time.Duration(math.Max(0, math.Min(t.Seconds, most)) * 1e9))
}

// Active returns the total time for which the run had been active when its first n trials had
// ended. This time excludes the interruptions between starts.
func (r *Run) Active(n int) (total time.Duration) {
	n = min(n, len(r.Trials))
	for i, s := range r.Starts {
		to := n
		if i+1 < len(r.Starts) {
			to = min(n, r.Starts[i+1].TrialsBefore)
		}
		if to > max(s.TrialsBefore, 0) {
			total += max(0, r.Trials[to-1].ended().Sub(s.At))
		}
	}
	return total
}

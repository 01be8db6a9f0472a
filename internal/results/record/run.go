// Package record is the run directory: the only thing that passes from a run
// to those who read its results. A trial writes it, second by second, and a
// crash at any moment leaves it readable and says that it is incomplete.
//
// docs/reference/files.md describes every file and field for other readers.
package record

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// The schemas that this package writes, and the only ones that it reads.
const (
	RunSchema   = "quorumbench/run/2"
	TrialSchema = "quorumbench/trial/2"
)

// State is how far a run or a trial came.
type State string

// The states. What is Incomplete in a directory that nobody writes to any more
// was killed.
const (
	Incomplete  State = "incomplete"
	Complete    State = "complete"
	Interrupted State = "interrupted" // by the user
	Failed      State = "failed"      // Failure says why
)

// Run is run.json.
type Run struct {
	Schema   string     `json:"schema"`
	State    State      `json:"state"`
	Failure  string     `json:"failure,omitempty"` // one sentence
	Name     string     `json:"name"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished"` // null until it has
	// Starts are when it was begun, and taken up again.
	Starts []Start `json:"starts,omitempty"`
	Tool   Tool    `json:"tool"`
	Seed   uint64  `json:"seed"`
	// Scenario is the file as read; empty when flags said what to do.
	Scenario string `json:"scenario"`
	Asked    Asked  `json:"asked,omitzero"`
	// Scale is the factor by which the scenario was scaled, and each trial's
	// conditions say what that changed; 0 when it was run as written.
	Scale float64 `json:"scale,omitempty"`
	// Until is the rule by which trials were repeated; null where the scenario
	// says how often.
	Until *Until `json:"until,omitempty"`
	// Capacity is what a search for one has found; null for any other run.
	Capacity *Capacity `json:"capacity,omitempty"`
	// CapacityOver is what a search for each value of a parameter has found; null for any
	// other run.
	CapacityOver *CapacityOver `json:"capacity_over,omitempty"`
	// Planned is how many trials there are to be, repeats included, as far as that
	// is known.
	Planned  int               `json:"planned_trials"`
	Machines []measure.Machine `json:"machines"` // the generator's first
	// Hosts are those of the scenario, absent where it names none.
	Hosts    []Host    `json:"hosts,omitempty"`
	Clusters []Cluster `json:"clusters"`
	// Calibration is what the machine that conducts the run was known to tell apart;
	// absent where nobody had calibrated it.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Trials are those that began, in the order in which they ran.
	Trials []Trial `json:"trials"`

	// Problems are sentences about what a reader found damaged or missing.
	Problems []string `json:"-"`
	// Dir is the run directory that Open read; empty for a run that it did not.
	Dir string `json:"-"`
	// Parts are the runs that Join made this one of; nil for a single run.
	Parts []*Run `json:"-"`
}

// Verdict is the worst state of the run's trials; a run without one is invalid.
func (r *Run) Verdict() verdict.State {
	if len(r.Trials) == 0 {
		return verdict.Invalid
	}
	worst := verdict.Valid
	for i := range r.Trials {
		if s := r.Trials[i].Verdict.State; s.Worse(worst) {
			worst = s
		}
	}
	if worst.Worse(verdict.Invalid) {
		worst = verdict.Invalid // a trial that has no verdict
	}
	return worst
}

// Host is a machine as the scenario names it: several can be one Machine.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // at which its members serve
	Via     string `json:"via"`               // how it was reached
	Machine string `json:"machine"`           // a Machine's name
	// Clock is absent where it is the one of the process that conducts the run, and
	// until the run has ended.
	Clock *Clock `json:"clock,omitempty"`
}

// Tool is the program that wrote the directory.
type Tool struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

// Named is the program with all that tells it from another.
func (t Tool) Named() string {
	text := "quorumbench " + t.Version
	if t.Revision != "" {
		text += " (" + t.Revision + ")"
	}
	return text + " by " + t.Go
}

// Cluster is what was under test.
type Cluster struct {
	ID       string   `json:"id"` // trials name it so
	Store    string   `json:"store"`
	Version  string   `json:"version"`
	Started  bool     `json:"started_by_run"` // false: it ran already
	Members  []Member `json:"members"`
	Exec     string   `json:"exec,omitempty"` // another server binary
	Settings any      `json:"settings"`       // the store's own
	// Env are variables that the members got besides the usual ones.
	Env map[string]string `json:"env,omitempty"`
	// Durability is null where it was not measured: a cluster that ran already.
	Durability *Durability `json:"durability"`
	Notes      []string    `json:"notes"`
}

// Member is one member of a cluster.
type Member struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Version  string `json:"version,omitempty"`
	Machine  string `json:"machine,omitempty"` // a Machine's name
	Host     string `json:"host,omitempty"`    // a Host's name
	// Alarms are of a member after a load; a cluster's have none.
	Alarms []string `json:"-"`
}

// Durability says what an acknowledged write rests on.
type Durability struct {
	// The time of fdatasync after a small write in the members' data folders;
	// the slowest device's. P99 is null where the writes do not support it.
	FdatasyncP50NS int64  `json:"fdatasync_p50_ns"` // 0: not known
	FdatasyncP99NS *int64 `json:"fdatasync_p99_ns"`
	// Fdatasyncs is how many were timed.
	Fdatasyncs int    `json:"fdatasync_writes"`
	FileSystem string `json:"file_system"`
	Volatile   bool   `json:"volatile"` // forgets at power loss, as tmpfs does
	Synced     bool   `json:"synced"`   // the store syncs before it acknowledges
}

// DataDir is a folder in which fdatasync was timed, and what it took; Synced has
// no meaning for it.
type DataDir struct {
	Path string `json:"path"`
	Durability
}

// P50 is the median fdatasync, where it is known.
func (d *Durability) P50() measure.Figure {
	return measure.Figure{NS: float64(d.FdatasyncP50NS), Known: d.FdatasyncP50NS > 0}
}

// P99 is known where ten syncs lie beyond it.
func (d *Durability) P99() measure.Figure {
	if d.FdatasyncP99NS == nil || !measure.Supports(99, uint64(max(d.Fdatasyncs, 0))) {
		return measure.Figure{}
	}
	return measure.Figure{NS: float64(*d.FdatasyncP99NS), Known: true}
}

// ID is a member's number. Files spell it as the stores do, in hexadecimal:
// JSON's numbers do not hold 64 bits in every reader.
type ID uint64

// String returns the number in hexadecimal.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 16) }

// MarshalText writes String.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (id *ID) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return fmt.Errorf("%q is no member's number in hexadecimal", b)
	}
	*id = ID(n)
	return nil
}

// encode is how this package writes JSON files: printable, so that they can be
// looked at; the escapes are JSON's, and a reader has the text as it was.
func encode(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text.PrintableBytes(b), '\n'), nil
}

// Package record implements the run directory, the only interface between a run and the programs
// that read its results. A trial writes its files second by second. A crash at any moment leaves a
// directory that is readable and marked as incomplete.
//
// docs/reference/files.md describes every file and field for programs that read them.
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

// The schemas that this package writes. It reads no other schemas.
const (
	RunSchema   = "quorumbench/run/2"
	TrialSchema = "quorumbench/trial/2"
)

// State is the progress of a run or a trial.
type State string

// The states. If a run or trial is Incomplete and no process writes to its directory, it was
// killed.
const (
	Incomplete  State = "incomplete"
	Complete    State = "complete"
	Interrupted State = "interrupted" // by the user
	Failed      State = "failed"      // the reason is in Failure
)

// Run is the contents of run.json.
type Run struct {
	Schema   string     `json:"schema"`
	State    State      `json:"state"`
	Failure  string     `json:"failure,omitempty"` // one sentence
	Name     string     `json:"name"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished"` // null while the run is active
	// Starts lists when the run was started and resumed.
	Starts []Start `json:"starts,omitempty"`
	Tool   Tool    `json:"tool"`
	Seed   uint64  `json:"seed"`
	// Scenario is the scenario file as read; empty if the run was defined by flags.
	Scenario string `json:"scenario"`
	Asked    Asked  `json:"asked,omitzero"`
	// Scale is the factor by which the scenario was scaled; 0 if it was not scaled. The conditions
	// of each trial have the original values.
	Scale float64 `json:"scale,omitempty"`
	// Until is the rule for repeating trials until their figures are precise; null if the scenario
	// sets a number of repeats.
	Until *Until `json:"until,omitempty"`
	// Capacity is the result of a capacity search; null for other runs.
	Capacity *Capacity `json:"capacity,omitempty"`
	// CapacityOver holds the results of a capacity search for each value of a parameter;
	// null for other runs.
	CapacityOver *CapacityOver `json:"capacity_over,omitempty"`
	// Planned is the number of trials that are known to be planned, including repeats.
	Planned  int               `json:"planned_trials"`
	Machines []measure.Machine `json:"machines"` // the generator's first
	// Hosts are the hosts of the scenario; absent if it names none.
	Hosts    []Host    `json:"hosts,omitempty"`
	Clusters []Cluster `json:"clusters"`
	// Calibration holds the measurement limits of the controller's machine; absent if that machine
	// was not calibrated.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Trials are the trials that have started, in the order in which they started.
	Trials []Trial `json:"trials"`

	// Problems are sentences about data that was damaged or missing when the run was read.
	Problems []string `json:"-"`
	// Dir is the run directory from which Open read the run; empty if Open did not read it.
	Dir string `json:"-"`
	// Parts are the runs that Join combined into this one; nil for a single run.
	Parts []*Run `json:"-"`
}

// Verdict returns the worst state of the run's trials. A run without trials is invalid.
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
		worst = verdict.Invalid // a trial without a verdict
	}
	return worst
}

// Host is a machine with the name that the scenario gives it. Several Hosts can be the same
// Machine.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // the address at which the host's members serve clients
	Via     string `json:"via"`               // how quorumbench reached the host
	Machine string `json:"machine"`           // name of the host's Machine
	// Clock is absent until the run has ended, and if the host uses the controller's clock.
	Clock *Clock `json:"clock,omitempty"`
}

// Tool is the program that wrote the directory.
type Tool struct {
	Version  string `json:"version"`
	Revision string `json:"revision,omitempty"`
	Go       string `json:"go"`
}

// Description returns the program's name, version, revision and Go version.
func (t Tool) Description() string {
	text := "quorumbench " + t.Version
	if t.Revision != "" {
		text += " (" + t.Revision + ")"
	}
	return text + " by " + t.Go
}

// Cluster is a cluster under test.
type Cluster struct {
	ID       string   `json:"id"` // identifies the cluster in trials
	Store    string   `json:"store"`
	Version  string   `json:"version"`
	Started  bool     `json:"started_by_run"` // false if the cluster was already running
	Members  []Member `json:"members"`
	Exec     string   `json:"exec,omitempty"` // path of another server binary
	Settings any      `json:"settings"`       // settings of the store
	// Env holds additional environment variables of the members.
	Env map[string]string `json:"env,omitempty"`
	// Durability is null if it was not measured, because the cluster was already running.
	Durability *Durability `json:"durability"`
	Notes      []string    `json:"notes"`
}

// Member is one member of a cluster.
type Member struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Version  string `json:"version,omitempty"`
	Machine  string `json:"machine,omitempty"` // name of the member's Machine
	Host     string `json:"host,omitempty"`    // name of the member's Host
	// Alarms are a member's alarms after a load. The record of a cluster does not contain them.
	Alarms []string `json:"-"`
}

// Durability describes how durable an acknowledged write is.
type Durability struct {
	// FdatasyncP50NS and FdatasyncP99NS are percentiles of the duration of fdatasync after a small
	// write in the members' data folders, on the slowest device. P99 is null if there are too few
	// writes.
	FdatasyncP50NS int64  `json:"fdatasync_p50_ns"` // 0: not known
	FdatasyncP99NS *int64 `json:"fdatasync_p99_ns"`
	// Fdatasyncs is the number of timed fdatasync calls.
	Fdatasyncs int    `json:"fdatasync_writes"`
	FileSystem string `json:"file_system"`
	Volatile   bool   `json:"volatile"` // the file system, such as tmpfs, loses data at a power loss
	Synced     bool   `json:"synced"`   // the store syncs before it acknowledges a write
}

// DataDir is a folder in which fdatasync was measured, with the result. Synced has no meaning for
// it.
type DataDir struct {
	Path string `json:"path"`
	Durability
}

// P50 returns the median duration of fdatasync, if it is known.
func (d *Durability) P50() measure.Figure {
	return measure.Figure{NS: float64(d.FdatasyncP50NS), Known: d.FdatasyncP50NS > 0}
}

// P99 returns the 99th percentile of the duration of fdatasync, if at least ten samples are beyond
// it.
func (d *Durability) P99() measure.Figure {
	if d.FdatasyncP99NS == nil || !measure.Supports(99, uint64(max(d.Fdatasyncs, 0))) {
		return measure.Figure{}
	}
	return measure.Figure{NS: float64(*d.FdatasyncP99NS), Known: true}
}

// ID is the number by which a store identifies a member. Files contain it in hexadecimal, as the
// stores print it, because some JSON parsers cannot represent 64-bit numbers.
type ID uint64

// String returns the number in hexadecimal.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 16) }

// MarshalText returns the number in hexadecimal.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText parses a hexadecimal number.
func (id *ID) UnmarshalText(b []byte) error {
	n, err := strconv.ParseUint(string(b), 16, 64)
	if err != nil {
		return fmt.Errorf("%q is not the hexadecimal number of a member", b)
	}
	*id = ID(n)
	return nil
}

// encode encodes v as indented JSON with a final newline. Unprintable characters are
// escaped, so that files can be displayed and readers still get the original text.
func encode(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text.PrintableBytes(b), '\n'), nil
}

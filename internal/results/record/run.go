// Package record implements the run directory. This directory is the only interface between a run
// and the programs that read its results. The files of a trial are written second by second. If the
// run crashes at any moment, the directory is readable and marked as incomplete.
//
// docs/reference/files.md describes every file and field for authors of programs that read the
// directory.
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

// The schemas of run.json and of the trials in it. This package refuses runs and trials with any
// other schema. If the meaning of a key changes, increase schemaNumber.
const (
	schemaNumber    = "2"
	runSchemaPrefix = "quorumbench/run/" // prefix of the run schema of every version
	RunSchema       = runSchemaPrefix + schemaNumber
	TrialSchema     = "quorumbench/trial/" + schemaNumber
)

// State is the progress of a run or a trial.
type State string

// The states of a run or a trial. If the state is Incomplete and no process writes to the
// directory, the run was killed.
const (
	Incomplete  State = "incomplete"
	Complete    State = "complete"
	Interrupted State = "interrupted" // by the user
	Failed      State = "failed"      // the reason is in Failure
)

// Run is the content of run.json.
type Run struct {
	Schema   string     `json:"schema"`
	State    State      `json:"state"`
	Failure  string     `json:"failure,omitempty"` // one sentence
	Name     string     `json:"name"`
	Started  time.Time  `json:"started"`
	Finished *time.Time `json:"finished"` // null while the run is active
	// Starts lists the times at which the run was started and resumed.
	Starts []Start `json:"starts,omitempty"`
	Tool   Tool    `json:"tool"`
	Seed   uint64  `json:"seed"`
	// Scenario is the text of the scenario file as it was read. It is empty if flags defined the
	// run.
	Scenario    string              `json:"scenario"`
	CommandLine CommandLineSettings `json:"asked,omitzero"`
	// Scale is the factor by which the scenario was scaled, or 0 if it was not scaled. The
	// conditions of each trial contain the original values.
	Scale float64 `json:"scale,omitempty"`
	// RepeatRule is the rule by which trials are repeated until their figures are precise. It is
	// null if the scenario sets the number of repeats.
	RepeatRule *RepeatRule `json:"until,omitempty"`
	// Capacity is the result of a capacity search; null for other runs.
	Capacity *Capacity `json:"capacity,omitempty"`
	// CapacityByParameter holds the results of the capacity searches for several values of a
	// parameter; null for other runs.
	CapacityByParameter *CapacityByParameter `json:"capacity_over,omitempty"`
	// Planned is the number of trials, including repeats, that are planned so far.
	Planned  int               `json:"planned_trials"`
	Machines []measure.Machine `json:"machines"` // the generator's first
	// Hosts are the hosts that the scenario names; absent if it names none.
	Hosts    []Host    `json:"hosts,omitempty"`
	Clusters []Cluster `json:"clusters"`
	// Calibration holds the measurement limits of the controller's machine. It is absent if this
	// machine was not calibrated.
	Calibration *Calibration `json:"calibration,omitempty"`
	// Trials holds all trials that have started, in the order of their starts.
	Trials []Trial `json:"trials"`

	// Problems holds sentences about data that was damaged or missing when the run was read.
	Problems []string `json:"-"`
	// Dir is the run directory from which Open read the run; empty if Open did not read it.
	Dir string `json:"-"`
	// Parts holds the runs that Join combined into this run; nil if Join did not create this run.
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
		worst = verdict.Invalid // the trial has no verdict
	}
	return worst
}

// Host is a machine under the name that the scenario gives it. Several Hosts can have the same
// Machine.
type Host struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"` // the address at which the host's members serve clients
	Via     string `json:"via"`               // how quorumbench reached the host
	Machine string `json:"machine"`           // name of the host's Machine
	// Clock is absent while the run is active, and if the host uses the controller's clock.
	Clock *measure.Clock `json:"clock,omitempty"`
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
	ID       string   `json:"id"` // trials refer to the cluster by this ID
	Store    string   `json:"store"`
	Version  string   `json:"version"`
	Started  bool     `json:"started_by_run"` // false if the cluster was already running
	Members  []Member `json:"members"`
	Exec     string   `json:"exec,omitempty"` // path of the server binary, if the scenario sets one
	Settings any      `json:"settings"`       // settings of the store
	// Env holds additional environment variables of the members.
	Env map[string]string `json:"env,omitempty"`
	// Durability is null if it was not measured, because this run did not start the cluster.
	Durability *measure.Durability `json:"durability"`
	Notes      []string            `json:"notes"`
}

// Member is one member of a cluster.
type Member struct {
	ID       ID     `json:"id"`
	Name     string `json:"name"`
	Endpoint string `json:"endpoint"`
	Version  string `json:"version,omitempty"`
	Machine  string `json:"machine,omitempty"` // name of the member's Machine
	Host     string `json:"host,omitempty"`    // name of the member's Host
	// Alarms are the alarms of the member after a load. They are not recorded with the cluster.
	Alarms []string `json:"-"`
}

// DataDir is a folder in which fdatasync was measured, with the results. Its field Synced has no
// meaning.
type DataDir struct {
	Path string `json:"path"`
	measure.Durability
}

// ID is the number by which a store identifies a member. Files contain the number as hexadecimal
// text, for two reasons: the stores print it in this form, and some JSON parsers cannot represent
// 64-bit numbers.
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

// encode encodes v as indented JSON with a final newline. It escapes unprintable characters, so
// that the files can be displayed safely. JSON parsers restore the original text.
func encode(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return nil, err
	}
	return append(text.PrintableBytes(b), '\n'), nil
}

// Package scenario defines the content of a run. It checks a YAML file or flags, and expands them
// into trials. A Scenario is pure data. A Catalog decodes the settings of stores.
package scenario

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Scenario is a complete run, expanded into trials.
type Scenario struct {
	Name        string
	Description string
	Seed        uint64 // source of all random choices; printed and recorded
	// Ordered keeps the trials in the order of the file. If it is false, Seed determines a random
	// order with interleaved repeats.
	Ordered bool
	// Trials are in the order of execution. If RepeatRule is set, they are only the first round.
	Trials []Trial
	// Hosts are the machines to use. If empty, only this machine is used.
	Hosts []Host
	// RepeatRule is set if trials are repeated until they are precise, instead of a fixed number of
	// times.
	RepeatRule *RepeatRule
	// Scale is the factor by which totals and clients were multiplied, or 0 if there was no
	// scaling.
	Scale  float64
	Source []byte // the file without passwords, for the record; nil if the scenario is from flags
	// Warnings are sentences about values that are handled differently than requested, or that are
	// probably not intended.
	Warnings []string
}

// Trial is one measurement. All its values are known, except for a rate that depends on the
// throughput of an earlier trial.
type Trial struct {
	Name    string // for example put-leader; only the repeats of a trial share a name
	Number  int    // position in the file, starting at 1
	Repeat  int    // starts at 1
	Repeats int    // number of repeats; 0 if RepeatRule determines it
	Cluster Cluster
	Load    Load
	// WorkerHosts lists the hosts in workers-on; see Scenario.WorkerHosts.
	WorkerHosts []string
	// BaselineOf is the name of the trial for which this trial is the baseline: it has the same
	// load, but another version, binary or setting. It is empty for other trials.
	BaselineOf string
	// Unscaled has the values before scaling, or is nil without scaling.
	Unscaled *Unscaled
	// Notes are sentences about the actual load, for the report.
	Notes []string
}

// seedName returns the name from which the trial's seed is derived. A baseline uses the name of its
// trial, so that both trials send the same load.
func (t *Trial) seedName() string {
	if t.BaselineOf != "" {
		return t.BaselineOf
	}
	return t.Name
}

// Catalog provides the information about stores and applications that scenarios need.
type Catalog interface {
	// Applications returns the applications that a load can imitate, in the order in which lists
	// show them.
	Applications() []application.Application
	// Stores returns the names of the stores, as scenario files write them.
	Stores() []string
	// Capabilities returns the capabilities of one of these stores.
	Capabilities(store string) kv.Capabilities
	// Settings decodes the settings of a store. The function decode fills the value that target
	// points to, and rejects unknown keys. If decode is nil, Settings returns the store's defaults.
	// encoding/json must be able to encode the result, because the settings of clusters are
	// compared as JSON.
	Settings(store string, decode func(target any) error) (any, error)
	// Version returns nil if quorumbench can start this version of the store's server here (after
	// installing it, if necessary). Otherwise it returns an error that names the supported
	// versions.
	Version(store, version string) error
}

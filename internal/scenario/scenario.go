// Package scenario defines what a run does: the YAML file or the flags, validated and
// expanded to trials. It is pure data; a Catalog decodes the stores' own settings.
package scenario

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Scenario is a complete run, expanded to trials.
type Scenario struct {
	Name        string
	Description string
	Seed        uint64 // source of all random choices; printed and recorded
	// Ordered keeps the trials in the order written; otherwise Seed determines a random
	// order with interleaved repeats.
	Ordered bool
	// Trials are in the order of execution; for a scenario that is repeated Until its
	// figures are precise, they are the first round.
	Trials []Trial
	// Hosts are the machines to use; empty for this machine.
	Hosts []Host
	// Until is set if precision, and not a number, ends the repeating.
	Until *Until
	// Scale is the factor by which totals and clients were changed; 0 if they are as
	// written.
	Scale  float64
	Source []byte // the file without passwords, for the record; nil for flags
	// Warnings are sentences about requests that are handled differently or are probably
	// not intended.
	Warnings []string
}

// Trial is one measurement, fully resolved except for a rate that depends on an earlier
// trial's throughput.
type Trial struct {
	Name    string // unique in the scenario except for repeats, such as put-leader
	Number  int    // from 1, as written
	Repeat  int    // from 1
	Repeats int    // number of repeats; 0 if Until determines it
	Cluster Cluster
	Load    Load
	// WorkersOn names the hosts of its workers, used in turn; see Scenario.WorkersOn.
	WorkersOn []string
	// BaselineOf names the trial that this one is the baseline of: the same load on another
	// version, binary or setting. Empty for other trials.
	BaselineOf string
	// Scaled has the values written before scaling; nil without scaling.
	Scaled *Scaled
	// Notes are sentences for the report about the actual load.
	Notes []string
}

// seedName returns the name from which the trial's seed is derived: a baseline sends the
// same load as its trial.
func (t *Trial) seedName() string {
	if t.BaselineOf != "" {
		return t.BaselineOf
	}
	return t.Name
}

// Catalog is what a scenario needs to know about stores and applications.
type Catalog interface {
	// Applications returns the applications that a load can imitate, in the order of lists.
	Applications() []application.Application
	// Stores lists the stores' names, as the key store spells them.
	Stores() []string
	// Capabilities returns what one of these stores can do.
	Capabilities(store string) kv.Capabilities
	// Settings decodes the store's own settings. decode is strict and fills the value that
	// it is given; nil selects the store's defaults. The result must be encodable as JSON,
	// because clusters' settings are compared in that form.
	Settings(store string, decode func(into any) error) (any, error)
	// Version returns nil if quorumbench can start the store's server of that version here,
	// once it is installed, or an error that names the supported versions.
	Version(store, version string) error
}

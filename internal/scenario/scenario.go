// Package scenario says what to do: the YAML file or the flags, validated and
// expanded to trials. It is pure data; the stores' own settings are decoded
// through a Catalog.
package scenario

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// Scenario is a whole run, expanded.
type Scenario struct {
	Name        string
	Description string
	Seed        uint64 // everything random comes from it; printed and recorded
	// Ordered keeps the trials in the order written; otherwise they run in a
	// random order drawn from Seed, repeats interleaved.
	Ordered bool
	// Trials are in the order in which they are to run; of a scenario that is
	// repeated Until its figures are precise, those of the first round.
	Trials []Trial
	// Hosts are the machines to use; none for the one that we run on.
	Hosts []Host
	// Until is not nil where precision, and not a number, ends the repeating.
	Until *Until
	// Scale is the factor by which totals and clients were changed; 0 when they
	// are as written.
	Scale  float64
	Source []byte // the file as read but for passwords, for the record; nil for flags
	// Warnings are sentences about what was asked for and is done otherwise,
	// or is likely not meant.
	Warnings []string
}

// Trial is one measurement, fully resolved but for a rate that waits for an
// earlier trial's throughput.
type Trial struct {
	Name    string // unique in the scenario but for repeats, such as put-leader
	Number  int    // from 1, as written
	Repeat  int    // from 1
	Repeats int    // how many there are of this trial; 0: as many as it takes (Until)
	Cluster Cluster
	Load    Load
	// WorkersOn are the names of the hosts of its workers, in turn; see
	// Scenario.WorkersOn.
	WorkersOn []string
	// BaselineOf names the trial that this one is the baseline of: the same
	// load on another version, binary or setting. Empty for all others.
	BaselineOf string
	// Scaled is what was written before scaling; nil when it is as written.
	Scaled *Scaled
	// Notes are sentences for the report about what the load really does.
	Notes []string
}

// seedName is the name that the trial's seed is made of: a baseline sends what
// its trial sends.
func (t *Trial) seedName() string {
	if t.BaselineOf != "" {
		return t.BaselineOf
	}
	return t.Name
}

// Catalog is what a scenario must know about the stores and the applications that there
// are.
type Catalog interface {
	// Applications are those that a load can be, in the order in which they are listed.
	Applications() []application.Application
	// Stores lists the stores' names, as the key store spells them.
	Stores() []string
	// Capabilities is what one of these stores can do.
	Capabilities(store string) kv.Capabilities
	// Settings decodes the store's own settings. decode is strict and fills
	// the value it is given; it is nil when the file gives none, and the
	// store's defaults are wanted. The result must encode to JSON, because
	// that is how two clusters' settings are compared.
	Settings(store string, decode func(into any) error) (any, error)
	// Version returns nil if the store's server of that version can be started
	// here once it is installed, or a sentence that says which versions can.
	Version(store, version string) error
}

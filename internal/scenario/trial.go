// Package scenario says what to do: the YAML file or the flags, validated and
// expanded to trials. It is pure data; the stores' own settings are decoded
// through a Catalog.
package scenario

import (
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// Scenario is a whole run, expanded.
type Scenario struct {
	Name        string
	Description string
	Seed        uint64 // everything random comes from it; printed and recorded
	// Ordered keeps the trials in the order written; otherwise they run in a
	// random order drawn from Seed, repeats interleaved.
	Ordered bool
	Trials  []Trial // in the order in which they are to run
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
	Repeats int    // how many there are of this trial
	Cluster Cluster
	Load    Load
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

// Cluster is what is under test. Trials whose Key is equal can share one.
type Cluster struct {
	Store   string
	Members int    // of a cluster that we start
	Exec    string // another server binary
	Version string // of an installed server; empty for the store's default
	// Label is what reports call this version or build of the store, when that
	// does not show in its version; may be empty.
	Label string
	// Env are variables that the members get besides the usual ones, by name.
	Env map[string]string
	// Settings are the store's own, as its DecodeSettings returned them.
	Settings any
	// Key identifies the launch settings: equal keys can share a cluster.
	Key string
	// Attach is not nil for a cluster that runs already.
	Attach *Attach
}

// Attach is how to reach a cluster that runs already.
type Attach struct {
	Endpoints   []string // HOST:PORT
	TLS         bool     // with the system's authorities if no more is said; see UsesTLS
	CACert      string   // files in PEM
	Cert        string
	CertKey     string
	SkipVerify  bool
	User        string // NAME:PASSWORD
	DialTimeout time.Duration
	// DataDir is a member's data folder on this machine, in which fdatasync is
	// timed after the load; empty where there is none that is known.
	DataDir string
}

// Operation is one part of a mix.
type Operation struct {
	Kind        kv.Kind
	Consistency kv.Consistency // None for writes
	Weight      float64        // above 0; shares are relative to the mix's sum
}

// Arrival is how operations become due.
type Arrival uint8

// The arrivals.
const (
	Closed   Arrival = iota // each client sends when it is free
	Constant                // open loop, evenly spaced
	Poisson                 // open loop, exponential gaps
)

const numArrivals = Poisson + 1

// String returns the arrival's name in files and flags.
func (a Arrival) String() string {
	if a >= numArrivals {
		return "unknown"
	}
	return [numArrivals]string{"closed", "constant", "poisson"}[a]
}

// Rate is operations a second, or a share of an earlier trial's throughput.
type Rate struct {
	PerSecond float64
	Percent   float64 // of trial Of, when Of is not empty
	Of        string
}

// Distribution is how keys are chosen from the key space.
type Distribution struct {
	Name string // sequential, uniform, zipfian or hotspot
	// Theta is zipfian's skew, above 0 and below 1 (0.99 by default).
	Theta float64
	// HotKeys is hotspot's share of hot keys, HotOps the share of operations
	// that go to them (0.2 and 0.8 by default).
	HotKeys, HotOps float64
}

// Load is what is sent.
type Load struct {
	Mix          []Operation
	Target       kv.Target
	Connections  int
	Clients      int // in total
	KeySize      int // bytes after Prefix
	ValueSize    int // bytes
	KeySpace     uint64
	Prefix       string
	Distribution Distribution
	RangeKey     []byte // of a Range: a given key or interval instead of the key space
	RangeEnd     []byte
	RangeLimit   int64
	Scan         Scan
	TxnKeys      int // keys that one transaction writes
	// NewConnection gives each operation a connection of its own, and counts
	// connecting into its time.
	NewConnection bool

	Arrival     Arrival
	Rate        Rate          // open loop
	Total       uint64        // operations in the window; 0 when Duration bounds it
	Duration    time.Duration // of the window; 0 when Total bounds it
	Warmup      time.Duration
	Timeout     time.Duration // of one operation, from when it is sent
	MaxInFlight int           // open loop
	Preload     bool          // make every key of the key space exist first
	Seed        uint64
	Threads     int // event loops; 0 chooses

	// Watch is what is watched beside the load; nil for nothing.
	Watch *Watch
	// STM is what kv.STM operations are; nil for DefaultSTM.
	STM     *STM
	Compact Compaction
	// CompactFirst discards the store's history between the preload and the load.
	CompactFirst bool
	// CompareHashes asks all endpoints after the load for the hash of their data.
	CompareHashes bool
	Cleanup       Cleanup
	// RequireMemory refuses a cluster whose first member does not report its
	// memory: what the load costs the members is what it is run for.
	RequireMemory bool

	// VolatileMeant accepts a store that does not sync as what is meant.
	VolatileMeant bool
}

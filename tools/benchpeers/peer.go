package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// These are the names of the peers.
const (
	Quorumbench   = "quorumbench"
	H2load        = "h2load"
	ClientV3      = "client/v3"
	EtcdBenchmark = "etcd benchmark"
	GoZooKeeper   = "go-zookeeper"
	Wrk           = "wrk"
	Hey           = "hey"
	Etcdctl       = "etcdctl"
)

// Case describes work with which the peers are compared.
type Case struct {
	Name           string // name for --only
	Title          string // title in the table
	Store          string // name of the store in the registry
	Kind           kv.Kind
	Consistency    kv.Consistency // consistency of reads
	Connections    int
	Clients        int     // total number of clients, each with one operation in flight
	Rate           float64 // rate of an open loop in operations per second; 0 for a closed loop
	FirstRoundOnly bool    // the case is measured only in the first round
	Rounds         int     // maximum number of rounds; 0 for no limit
	// NullServer is true if the peers send the operations to a null server instead of a cluster.
	// The null server responds immediately, or as Script specifies.
	NullServer bool
	Script     string

	// Group is a name for --only that selects this case together with other cases. It may be empty.
	Group string
	// Duration is the length of a measurement. If it is 0, --seconds determines the length.
	Duration time.Duration
	// Load is the name of a `check perf` load, or empty. If it is set, the work is a check with
	// this load, and Clients and Rate are those of the load.
	Load string
	// Tmpfs is true if the peers send the operations to a new member with its data on a tmpfs,
	// instead of the cluster.
	Tmpfs bool
	// Streams is the number of watch streams that the watchers of a kv.Watch case share. In
	// such a case, Clients is the number of watchers, and Rate is the rate of puts.
	Streams int
}

// Work is a case together with everything that a peer needs to run it.
type Work struct {
	Case
	Endpoint  string // HOST:PORT of the leader
	Key       string // key to read; it exists and has a value of ValueSize bytes
	ReadSpace Space  // contains only Key
	PutSpace  Space  // key space for puts; all its keys exist
	ValueSize int    // size of values in bytes
	Warmup    time.Duration
	Window    time.Duration
	Dir       string // folder for temporary files
}

// Space is a key space. Each key consists of Prefix and a number with the given number of digits.
type Space struct {
	Prefix string
	Digits int
	Keys   int
}

// Figures contains the results of a run. If a peer does not report a figure, the figure is 0.
type Figures struct {
	Operations uint64  `json:"operations"`
	PerSecond  float64 `json:"operations_per_second"`
	// CPUPerOp is the CPU time (user and system) that the whole process uses per operation, in
	// nanoseconds.
	CPUPerOp float64 `json:"client_cpu_ns_per_operation"`
	// ServiceP50 is the median service time in nanoseconds.
	ServiceP50 float64 `json:"service_time_p50_ns,omitempty"`
	MaxRSS     int64   `json:"client_max_rss_bytes,omitempty"`
	// LatenessP50 and the other lateness figures are percentiles of the lateness (sent - due) in an
	// open loop, in nanoseconds.
	LatenessP50  float64 `json:"lateness_p50_ns,omitempty"`
	LatenessP99  float64 `json:"lateness_p99_ns,omitempty"`
	LatenessP999 float64 `json:"lateness_p99_9_ns,omitempty"`
	Verdict      string  `json:"verdict,omitempty"`
	// Check is the report of a `check perf`, or nil.
	Check *Check `json:"check,omitempty"`
}

// Peer is a load generator that quorumbench is compared with, or quorumbench itself.
type Peer struct {
	Name string
	// Unavailable states in one sentence why the peer cannot run here. It is nil if the peer can
	// run.
	Unavailable error
	// Version returns the peer's version. It may be nil or return "".
	Version func() string
	// CanRun reports whether the peer can run a case.
	CanRun func(Case) bool
	// Run runs the work once. An error is one sentence.
	Run func(context.Context, Work) (Figures, error)
}

// closedLoop reports whether the case is a closed loop on a cluster: every client repeats puts or
// one-key reads, with one operation in flight.
func closedLoop(c Case) bool {
	return c.Rate == 0 && !c.NullServer && !c.FirstRoundOnly && (c.Kind == kv.Put || c.Kind == kv.Get)
}

var errNothingDone = errors.New("no operation was completed")

// String returns the figures on one line.
func (f Figures) String() string {
	words := fmt.Sprintf("%s, %s of processor time for each operation", text.PerSecond(f.PerSecond), text.Duration(f.CPUPerOp))
	if f.ServiceP50 > 0 {
		words += ", service time p50 " + text.Duration(f.ServiceP50)
	}
	if f.LatenessP999 > 0 {
		words += ", lateness p99.9 " + text.Duration(f.LatenessP999)
	}
	if f.MaxRSS > 0 {
		words += fmt.Sprintf(", %s resident", text.Bytes(uint64(f.MaxRSS)))
	}
	if f.Check != nil {
		words += ", " + f.Check.String()
	}
	if f.Verdict != "" && f.Verdict != "valid" {
		words += " (" + f.Verdict + ")"
	}
	return words
}

// Check is the report that a `check perf` prints.
type Check struct {
	Pass    bool    `json:"pass"`
	Slowest float64 `json:"slowest_ns"` // slowest write, in nanoseconds
	Stddev  float64 `json:"stddev_ns"`  // standard deviation in nanoseconds
}

// Verdict returns PASS or FAIL.
func (c Check) Verdict() string {
	if c.Pass {
		return "PASS"
	}
	return "FAIL"
}

// String returns the report on one line.
func (c Check) String() string {
	return fmt.Sprintf("slowest %s, stddev %s: %s", text.Duration(c.Slowest), text.Duration(c.Stddev), c.Verdict())
}

// withCPUTime returns the figures, and adds the CPU time per operation if they do not contain it.
// It computes this figure from the CPU time of the process.
func (f Figures) withCPUTime(cpu time.Duration) Figures {
	if f.CPUPerOp == 0 && f.Operations > 0 {
		f.CPUPerOp = float64(cpu) / float64(f.Operations)
	}
	return f
}

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/text"
)

// The peers' names.
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

// Case is one kind of work.
type Case struct {
	Name        string // in --only
	Title       string // in the table
	Store       string // the registry's name of the store
	Kind        kv.Kind
	Consistency kv.Consistency // of a read
	Connections int
	Clients     int     // in total, each with one operation in flight
	Rate        float64 // operations per second of an open loop; 0 for a closed loop
	Once        bool    // measured in the first round only
	Rounds      int     // highest number of rounds; 0 for all
	// Null sends the work to a null server, which responds at once or as Script says,
	// instead of a cluster.
	Null   bool
	Script string

	// Group is another name for the case in --only; may be empty.
	Group string
	// Takes is the length of a measurement, instead of --seconds; 0 for --seconds.
	Takes time.Duration
	// Load, if not empty, is the load of a `check perf`, which is the work; it determines
	// Clients and Rate.
	Load string
	// Tmpfs sends the work to a new member with its data on a tmpfs, instead of the
	// cluster.
	Tmpfs bool
	// Streams is the number of watch streams that the watchers of a kv.Watch share; Clients
	// is the number of watchers, and Rate the rate of puts.
	Streams int
}

// Work is a case with everything that a peer needs to run it.
type Work struct {
	Case
	Endpoint  string // HOST:PORT of the leader
	Key       string // of reads: it exists, with a value of ValueSize bytes
	ReadSpace Space  // only contains Key
	PutSpace  Space  // of puts: all its keys exist
	ValueSize int    // bytes
	Warmup    time.Duration
	Window    time.Duration
	Dir       string // for temporary files
}

// Space is a key space: a prefix and a number in Digits characters.
type Space struct {
	Prefix string
	Digits int
	Keys   int
}

// Figures is the result of a run. Figures that a peer does not report are 0.
type Figures struct {
	Operations uint64  `json:"operations"`
	PerSecond  float64 `json:"operations_per_second"`
	// CPUPerOp is user and system time of the whole process, in nanoseconds.
	CPUPerOp float64 `json:"client_cpu_ns_per_operation"`
	// ServiceP50 is the median service time in nanoseconds.
	ServiceP50 float64 `json:"service_time_p50_ns,omitempty"`
	MaxRSS     int64   `json:"client_max_rss_bytes,omitempty"`
	// Lateness is sent - due of an open loop, in nanoseconds.
	LatenessP50  float64 `json:"lateness_p50_ns,omitempty"`
	LatenessP99  float64 `json:"lateness_p99_ns,omitempty"`
	LatenessP999 float64 `json:"lateness_p99_9_ns,omitempty"`
	Verdict      string  `json:"verdict,omitempty"`
	// Check is the report of a check.
	Check *Check `json:"check,omitempty"`
}

// Peer is a load generator.
type Peer struct {
	Name string
	// Missing returns in one sentence why the peer cannot run here; nil if it can.
	Missing error
	// Version returns its version; it may be nil or return "".
	Version func() string
	// Does reports whether the peer can do the case.
	Does func(Case) bool
	// Run runs the work once. Its error is one sentence.
	Run func(context.Context, Work) (Figures, error)
}

// closedLoop reports whether the case is a closed loop of puts or one-key reads on
// a cluster, in which every client has one operation outstanding.
func closedLoop(c Case) bool {
	return c.Rate == 0 && !c.Null && !c.Once && (c.Kind == kv.Put || c.Kind == kv.Get)
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

// Check is the report of a `check perf`.
type Check struct {
	Pass    bool    `json:"pass"`
	Slowest float64 `json:"slowest_ns"` // write, in nanoseconds
	Stddev  float64 `json:"stddev_ns"`  // in nanoseconds
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

// costing adds the costs of a process to figures without costs.
func (f Figures) costing(cpu time.Duration) Figures {
	if f.CPUPerOp == 0 && f.Operations > 0 {
		f.CPUPerOp = float64(cpu) / float64(f.Operations)
	}
	return f
}

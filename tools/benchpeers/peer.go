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
	Name        string // as --only spells it
	Title       string // as the table shows it
	Store       string // the registry's name of the store
	Kind        kv.Kind
	Consistency kv.Consistency // of a read
	Connections int
	Clients     int     // in total, each with one operation in flight
	Rate        float64 // operations a second of an open loop; 0 is a closed one
	Once        bool    // measured in the first round only
	Rounds      int     // measured in so many rounds at most; 0: in all
	// Null sends the work to a server that answers at once instead of a
	// cluster, or as Script says.
	Null   bool
	Script string

	// Group is another name that --only takes for the case; may be empty.
	Group string
	// Takes is how long a measurement takes, whatever --seconds says; 0: as it says.
	Takes time.Duration
	// Load, if not empty, is that of `check perf`, which is the work: Clients
	// and Rate are the load's.
	Load string
	// Tmpfs does the work on one member that is new, with its data on a tmpfs,
	// instead of on the cluster.
	Tmpfs bool
	// Streams is how many watch streams the watchers of a kv.Watch share, which
	// are Clients in number; Rate is that of the puts.
	Streams int
}

// Work is a case with all that a peer needs to do it.
type Work struct {
	Case
	Endpoint  string // HOST:PORT of the member that leads
	Key       string // of reads: it exists, with a value of ValueSize bytes
	ReadSpace Space  // holds Key alone
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

// Figures is what a run came to. What a peer does not report is 0.
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
	// Check is what a check said of itself.
	Check *Check `json:"check,omitempty"`
}

// Peer is a load generator.
type Peer struct {
	Name string
	// Missing says in one sentence why the peer cannot run here; nil: it can.
	Missing error
	// Version is how it calls itself; nil, or an empty string: it does not.
	Version func() string
	// Does reports whether the peer can do the case.
	Does func(Case) bool
	// Run does the work once. Its error is one sentence.
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

// Check is what a `check perf` said of itself.
type Check struct {
	Pass    bool    `json:"pass"`
	Slowest float64 `json:"slowest_ns"` // write, in nanoseconds
	Stddev  float64 `json:"stddev_ns"`  // in nanoseconds
}

// Verdict is PASS or FAIL.
func (c Check) Verdict() string {
	if c.Pass {
		return "PASS"
	}
	return "FAIL"
}

// String returns it on one line.
func (c Check) String() string {
	return fmt.Sprintf("slowest %s, stddev %s: %s", text.Duration(c.Slowest), text.Duration(c.Stddev), c.Verdict())
}

// costing are the figures with what a whole process cost, if they have none.
func (f Figures) costing(cpu time.Duration) Figures {
	if f.CPUPerOp == 0 && f.Operations > 0 {
		f.CPUPerOp = float64(cpu) / float64(f.Operations)
	}
	return f
}

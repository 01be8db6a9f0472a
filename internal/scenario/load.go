package scenario

import (
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/fault"
)

// Upper limits for loads.
const (
	MaxClients     = 1_000_000
	MaxConnections = 1_000_000
	MaxInFlight    = 10_000_000
	maxThreads     = 1024
	MaxTxnKeys     = 128
	maxSTMKeys     = 1024      // read by one optimistic transaction
	maxPageSize    = 1_000_000 // keys
	MaxKeySize     = 1 << 20   // bytes
	MaxValueSize   = 64 << 20
	maxKeySpace    = 1_000_000_000_000
	maxTotal       = 1_000_000_000_000_000
	// MaxRate is in operations per second. An event loop sends less than a tenth of it: a
	// higher rate would measure the generator's backlog.
	MaxRate         = 10_000_000
	maxPercent      = 10_000 // of another trial's throughput
	MaxDuration     = 1000 * time.Hour
	maxTimeout      = time.Hour // the range of the histograms
	keyAlphabetSize = 64        // possible values of each byte of a key after its prefix
)

// Load describes the operations that a trial sends.
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
	Ranges
	TxnKeys int // keys that one transaction writes
	// NewConnection opens a connection for each operation, and counts connecting into the
	// operation's time.
	NewConnection bool

	Arrival     Arrival
	Rate        Rate          // open loop
	Total       uint64        // operations in the window; 0 when Duration bounds it
	Duration    time.Duration // of the window; 0 when Total bounds it
	Warmup      time.Duration
	Timeout     time.Duration // of one operation, from when it is sent
	MaxInFlight int           // open loop
	Preload     bool          // create every key of the key space first
	Seed        uint64
	Threads     int    // event loops of each worker; 0 chooses
	Workers     uint32 // that send the load together; 0 is 1

	// Application sends the load, if it has a name; most fields above then follow from it.
	Application Application
	// Watch describes the watchers during the load; nil for none.
	Watch *Watch
	// STM describes kv.STM operations; nil without any.
	STM *STM
	Conduct
	// Faults are injected in the window.
	Faults []fault.Fault
}

// Ranges are the keys that Range operations read.
type Ranges struct {
	RangeKey   []byte // a given key, or the first of an interval; nil: the key space
	RangeEnd   []byte
	RangeLimit int64
	Scan       Scan
}

// Conduct is what a trial does to the store besides sending the load, and what it accepts.
type Conduct struct {
	Compact Compaction
	// CompactFirst discards the store's history between the preload and the load.
	CompactFirst bool
	// CompareHashes compares the hashes of all endpoints' data after the load.
	CompareHashes bool
	// Verify records every operation, and verifies the responses after the load.
	Verify  bool
	Cleanup Cleanup
	// Overwrite allows the load to replace and delete keys that no run wrote, below its
	// prefix in a running cluster.
	Overwrite bool
	// ClusterWide allows changes to the whole of a running cluster, such as a compaction of
	// its history. They are always allowed on a cluster that the run starts.
	ClusterWide bool
	// RequireMemory refuses a cluster whose first member does not report its memory: the
	// load is run for what it costs the members.
	RequireMemory bool
	// AllowVolatile accepts a store that does not sync.
	AllowVolatile bool
}

// ReadsLocally reports whether the load does nothing but read keys at the level
// kv.Local.
func (l *Load) ReadsLocally() bool {
	return l.Application.Name == "" && l.Watch == nil && len(l.Mix) > 0 && !slices.ContainsFunc(l.Mix, func(o Operation) bool {
		return !o.Kind.Reads() || !o.Kind.Brief() || o.Consistency != kv.Local
	})
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
	Recorded                // open loop, as a recording or an application has them
)

const numArrivals = Recorded + 1

// String returns the arrival's name in files and flags.
func (a Arrival) String() string {
	if a >= numArrivals {
		return "unknown"
	}
	return [numArrivals]string{"closed", "constant", "poisson", "recorded"}[a]
}

// Rate is operations a second, or a share of an earlier trial's throughput.
type Rate struct {
	PerSecond float64
	Percent   float64 // of trial Of, when Of is not empty
	Of        string
}

// Watch describes the watchers during a load. The load creates them before the first phase,
// and again at their last revision after losing their connection. After the last write it
// waits, at most for its timeout, for the events of all acknowledged writes.
type Watch struct {
	// Watchers is the total number of watchers; watcher w is on stream w modulo Streams.
	Watchers int
	// Streams is the total number of watch streams; stream s is on connection s modulo
	// their number.
	Streams int
	// Connections is the number of connections that are only for watchers; 0 puts watchers
	// on the load's own connections.
	Connections int
	// WatchedKeys is the number of watched keys, the first of the load's key space; 0 is
	// all of it. Watcher w watches key w modulo that number.
	WatchedKeys uint64
	// Span is how many keys a watcher watches, starting with its key, up to the end of the
	// key space; 0 means 1.
	Span   uint64
	PrevKV bool // events carry previous values
	// Mode is the kind of watches; kv.AnyWatch selects the store's kind.
	Mode kv.WatchMode

	// Key, if not empty, is the only key that all watchers watch, instead of the load's
	// keys. Its events are not timed.
	Key []byte
	// Start is the first revision wanted; 0 to watch writes after the watcher was created.
	// With Expect, the run determines it.
	Start int64
	// Expect is the number of earlier events that each watcher must receive for each key in
	// addition to the events of the load's writes. The load ends when all watchers have
	// them.
	Expect uint32
	// AtWindow creates the watchers when the measurement window opens.
	AtWindow bool
}

// STM describes the kv.STM transactions of a load, as in etcd's benchmark: each reads a number
// of different keys and writes a share of them.
type STM struct {
	Isolation    kv.Isolation
	KeysPerTxn   int
	WritePercent int // of the keys read, rounded down to whole keys
	// Locker is the lock around transactions. With any other than kv.LockNone each client
	// needs its own lease, as for kv.KeepAlive.
	Locker kv.Locker
}

// DefaultSTM returns the settings of etcd's benchmark.
func DefaultSTM() STM {
	return STM{Isolation: kv.RepeatableReads, KeysPerTxn: 1, WritePercent: 50}
}

// Compaction describes compactions at intervals during a load.
type Compaction struct {
	Every  time.Duration // 0: never
	Behind int64         // number of revisions before the current one that are kept
}

// Scan describes how a range is read.
type Scan struct {
	CountOnly bool  // only the number of keys
	KeysOnly  bool  // keys without their values
	Streamed  bool  // as a stream of responses, if the store supports it
	PageSize  int64 // keys in one response; 0: all
}

// Cleanup selects what is removed after a load. On a running cluster, the keys of all
// trials are removed at the end of the run at the latest, unless Keep is set.
type Cleanup struct {
	// Keys removes every key with the load's prefix after the trial, whether it succeeded
	// or not. Before the trial there must be none.
	Keys bool
	// Keep leaves the keys in a running cluster, because cleanup was explicitly refused.
	Keep bool
	// Compact then discards the history, and Defragment returns every member's free space
	// to its file system.
	Compact, Defragment bool
}

// The defaults.
const (
	// DefaultKeySpace is the key space of a load that is bounded by a duration and does not
	// set it. A load bounded by a total has as many keys as operations.
	DefaultKeySpace = 100_000
	DefaultMembers  = 3                // of a cluster that quorumbench starts
	defaultDuration = 10 * time.Second // of a load with neither duration nor total
	defaultTxnKeys  = 2                // keys that a transaction writes
	// defaultBehind is how many revisions a compaction keeps, as in etcd's benchmark.
	defaultBehind = 1000
)

// DefaultLoad returns the base for a command: one client on one connection, without an
// operation. Complete sets KeySpace.
func DefaultLoad() Load {
	return Load{
		Connections:  1,
		Clients:      1,
		KeySize:      8,
		ValueSize:    256,
		Distribution: Distribution{Name: Uniform},
		Duration:     defaultDuration,
		Timeout:      10 * time.Second,
		MaxInFlight:  100_000,
		TxnKeys:      defaultTxnKeys,
	}
}

// fileLoad returns the base for a scenario file's trial: a load that can saturate a
// cluster, on existing keys, after a warm-up.
func fileLoad() Load {
	l := DefaultLoad()
	l.Connections = 100
	l.Clients = 1000
	l.Warmup = 2 * time.Second
	l.Preload = true
	return l
}

// Complete sets open values that depend on others: the key space, the consistency of reads,
// and the settings of kv.STM operations.
func (l *Load) Complete() {
	if l.KeySpace == 0 {
		l.KeySpace = DefaultKeySpace
		if l.Total > 0 {
			l.KeySpace = l.Total
		}
	}
	for i := range l.Mix {
		if o := &l.Mix[i]; o.Kind.Reads() && o.Consistency == kv.None {
			o.Consistency = kv.Linearizable
		}
	}
	if l.STM == nil && l.hasKind(isSTM) {
		stm := DefaultSTM()
		l.STM = &stm
	}
}

// hasKind reports whether the mix has an operation that satisfies is.
func (l *Load) hasKind(is func(kv.Kind) bool) bool {
	return slices.ContainsFunc(l.Mix, func(o Operation) bool { return is(o.Kind) })
}

func isRange(k kv.Kind) bool { return k == kv.Range || k == kv.TxnGet }

func isPlainRange(k kv.Kind) bool { return k == kv.Range }

func isTxn(k kv.Kind) bool { return k == kv.Txn }

func isSTM(k kv.Kind) bool { return k == kv.STM }

// usesKeySpace reports whether any operation chooses its key from the key space: all do
// except keep-alives and ranges over a given interval.
func (l *Load) usesKeySpace() bool {
	return l.hasKind(func(k kv.Kind) bool { return k != kv.KeepAlive && (l.RangeKey == nil || !isRange(k)) })
}

// Normalized returns the load for records: without values that have no meaning for it, and with
// its defaults.
func (l *Load) Normalized() Load {
	out := *l
	if out.Arrival == Closed {
		out.MaxInFlight = 0
	}
	if !out.hasKind(isTxn) {
		out.TxnKeys = 0
	}
	if w := out.Watch; w != nil {
		watch := *w
		watch.Span = max(watch.Span, 1)
		out.Watch = &watch
	}
	d := Distribution{Name: out.Distribution.Name}
	for _, shape := range d.shapes() {
		*shape.field(&d) = *shape.field(&out.Distribution)
	}
	out.Distribution = d
	return out
}

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
	maxSTMKeys     = 1024      // keys that one optimistic transaction reads
	maxPageSize    = 1_000_000 // keys
	MaxKeySize     = 1 << 20   // bytes
	MaxValueSize   = 64 << 20
	maxKeySpace    = 1_000_000_000_000
	maxTotal       = 1_000_000_000_000_000
	// MaxRate is the maximum rate, in operations per second. An event loop can send less than a
	// tenth of MaxRate, so a higher rate would measure only the generator's backlog.
	MaxRate         = 10_000_000
	maxPercent      = 10_000 // of another trial's throughput
	MaxDuration     = 1000 * time.Hour
	maxTimeout      = time.Hour // the largest value that the histograms can hold
	keyAlphabetSize = 64        // possible values for each byte of a key after the prefix
)

// Load describes the operations that a trial sends.
type Load struct {
	Mix          []Operation
	Target       kv.Target
	Connections  int
	Clients      int // total number
	KeySize      int // bytes after Prefix
	ValueSize    int // bytes
	KeySpace     uint64
	Prefix       string
	Distribution Distribution
	Ranges
	TxnKeys int // keys that each transaction writes
	// NewConnection opens a new connection for each operation. The operation's time includes
	// connecting.
	NewConnection bool

	Arrival     Arrival
	Rate        Rate          // only for open loops
	Total       uint64        // operations in the window; 0 if Duration is set
	Duration    time.Duration // length of the window; 0 if Total is set
	Warmup      time.Duration
	Timeout     time.Duration // time limit for an operation, starting when it is sent
	MaxInFlight int           // only for open loops
	Preload     bool          // create all keys in the key space before the load
	Seed        uint64
	Threads     int    // event loops in each worker; 0 chooses automatically
	Workers     uint32 // number of workers that share the load; 0 means 1

	// Application determines the load and most of the fields above, if Application.Name is set.
	Application Application
	// Watch describes the watchers during the load, or is nil if there are none.
	Watch *Watch
	// STM describes kv.STM operations, or is nil if there are none.
	STM *STM
	TrialOptions
	// Faults are the faults to inject in the window.
	Faults []fault.Fault
}

// Ranges holds the keys that Range operations read.
type Ranges struct {
	RangeKey   []byte // a given key, or the first key of an interval; nil reads the key space
	RangeEnd   []byte
	RangeLimit int64
	Scan       Scan
}

// TrialOptions describes the actions of a trial other than sending the load, such as compaction and
// cleanup, and the unusual conditions that the trial accepts.
type TrialOptions struct {
	Compact Compaction
	// CompactFirst compacts the store's history between the preload and the load.
	CompactFirst bool
	// CompareHashes compares the hashes of the data at all endpoints after the load.
	CompareHashes bool
	// Verify records every operation, and verifies the responses after the load.
	Verify  bool
	Cleanup Cleanup
	// Overwrite allows the load to replace and delete keys in a running cluster that have the
	// load's prefix but were not written by a run.
	Overwrite bool
	// ClusterWide allows changes that affect a whole running cluster, such as compacting its
	// history. On a cluster that the run starts, such changes are always allowed.
	ClusterWide bool
	// RequireMemory rejects a cluster whose first member does not report its memory. It is for
	// loads that measure how much memory and disk space the keys need.
	RequireMemory bool
	// AllowVolatile accepts a store that does not sync writes to disk.
	AllowVolatile bool
}

// ReadsLocally reports whether the load only reads keys, all at the consistency level kv.Local.
func (l *Load) ReadsLocally() bool {
	return l.Application.Name == "" && l.Watch == nil && len(l.Mix) > 0 && !slices.ContainsFunc(l.Mix, func(o Operation) bool {
		return !o.Kind.Reads() || !o.Kind.SingleRequest() || o.Consistency != kv.Local
	})
}

// Operation is one of the operations in a mix.
type Operation struct {
	Kind        kv.Kind
	Consistency kv.Consistency // None for writes
	Weight      float64        // above 0; an operation's share is its weight divided by the sum of weights
}

// Arrival is the way in which operations become due.
type Arrival uint8

// Ways in which operations become due.
const (
	Closed   Arrival = iota // each client sends its next operation when its previous one has ended
	Constant                // open loop, at a constant rate
	Poisson                 // open loop, with exponentially distributed gaps
	Recorded                // open loop, at the times that a recording or an application specifies
)

const numArrivals = Recorded + 1

// String returns the name in scenario files and flags.
func (a Arrival) String() string {
	if a >= numArrivals {
		return "unknown"
	}
	return [numArrivals]string{"closed", "constant", "poisson", "recorded"}[a]
}

// Rate is a number of operations per second, or a percentage of an earlier trial's throughput.
type Rate struct {
	PerSecond   float64
	Percent     float64 // percentage of the throughput of the trial SourceTrial, if SourceTrial is not empty
	SourceTrial string
}

// Watch describes the watchers during a load. They are created before the first phase of the load.
// If a watcher loses its connection, it is created again and continues from its last revision.
// After the last write, the load waits until the events of all acknowledged writes have arrived,
// but not longer than the load's timeout.
type Watch struct {
	// Watchers is the total number of watchers. Watcher w uses stream w modulo Streams.
	Watchers int
	// Streams is the total number of watch streams. Stream s uses connection s modulo the number of
	// connections.
	Streams int
	// Connections is the number of connections used only by watchers. 0 means that watchers share
	// the load's connections.
	Connections int
	// WatchedKeys is the number of watched keys. The watched keys are the first keys of the load's
	// key space. 0 means all keys. Watcher w starts at key w modulo the number of watched keys.
	WatchedKeys uint64
	// KeysPerWatcher is the number of consecutive keys that a watcher watches, beginning with the
	// key at which the watcher starts. It does not extend past the last key of the key space. 0
	// means 1.
	KeysPerWatcher uint64
	PrevKV         bool // events contain the previous values
	// Mode is the kind of watch. kv.AnyWatch uses the store's default kind.
	Mode kv.WatchMode

	// If Key is set, all watchers watch only this key. If Key is empty, they watch keys of the
	// load. The latencies of events for Key are not measured.
	Key []byte
	// StartRevision is the first revision to watch. If StartRevision is 0, watchers receive only
	// events for writes after their creation. If EarlierEvents is set, the run sets StartRevision.
	StartRevision int64
	// EarlierEvents is the number of earlier events per key that each watcher must receive, in
	// addition to the events for the load's writes. The load ends when all watchers have received
	// them.
	EarlierEvents uint32
	// CreatedInWindow delays the creation of the watchers until the measurement window opens.
	CreatedInWindow bool
}

// STM describes the kv.STM transactions of a load, which follow etcd's benchmark. Each transaction
// reads a number of different keys and writes a percentage of them.
type STM struct {
	Isolation    kv.Isolation
	KeysPerTxn   int
	WritePercent int // percentage of the keys read; the number of written keys is rounded down
	// Locker is the lock around each transaction. Unless it is kv.LockNone, each client needs its
	// own lease, as for kv.KeepAlive.
	Locker kv.Locker
}

// DefaultSTM returns the default settings of etcd's benchmark.
func DefaultSTM() STM {
	return STM{Isolation: kv.RepeatableReads, KeysPerTxn: 1, WritePercent: 50}
}

// Compaction describes compactions at regular intervals during a load.
type Compaction struct {
	Interval      time.Duration // 0 means never
	KeptRevisions int64         // number of revisions that each compaction keeps before the current revision
}

// Scan describes how a range is read.
type Scan struct {
	CountOnly bool  // return only the number of keys
	KeysOnly  bool  // return keys without values
	Streamed  bool  // return a stream of responses, if the store supports it
	PageSize  int64 // keys per response; 0 means all keys
}

// Cleanup selects the data that is removed after a load. On a running cluster, the keys of all
// trials are removed at the end of the run unless KeepKeys is set.
type Cleanup struct {
	// Keys removes every key with the load's prefix after the trial, even if the trial failed.
	// Before the trial, no key may have the prefix.
	Keys bool
	// KeepKeys leaves the keys in a running cluster, because the user disabled cleanup.
	KeepKeys bool
	// Compact compacts the history after the keys have been removed. Defragment then returns every
	// member's free space to its file system.
	Compact, Defragment bool
}

// Default values.
const (
	// DefaultKeySpace is the default number of keys for a load with a duration. For a load with a
	// total, the default is that total.
	DefaultKeySpace = 100_000
	DefaultMembers  = 3                // number of members in a cluster that quorumbench starts
	defaultDuration = 10 * time.Second // for a load with neither duration nor total
	defaultTxnKeys  = 2                // keys that each transaction writes
	// defaultKeptRevisions is the default number of revisions that a compaction keeps, as in etcd's
	// benchmark.
	defaultKeptRevisions = 1000
)

// DefaultLoad returns the load on which commands are based: one client on one connection, without
// an operation. Complete sets KeySpace.
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

// fileLoad returns the load on which trials in scenario files are based. It can saturate a cluster,
// writes its keys before the load, and has a warm-up.
func fileLoad() Load {
	l := DefaultLoad()
	l.Connections = 100
	l.Clients = 1000
	l.Warmup = 2 * time.Second
	l.Preload = true
	return l
}

// Complete sets missing values whose defaults depend on other values: the key space, the
// consistency of reads, and the settings of kv.STM operations.
func (l *Load) Complete() {
	if l.KeySpace == 0 {
		l.KeySpace = DefaultKeySpace
		if l.Total > 0 {
			l.KeySpace = l.Total
		}
	}
	for i := range l.Mix {
		if o := &l.Mix[i]; o.Kind.Reads() && o.Consistency == kv.NoConsistency {
			o.Consistency = kv.Linearizable
		}
	}
	if l.STM == nil && l.hasKind(isSTM) {
		stm := DefaultSTM()
		l.STM = &stm
	}
}

// hasKind reports whether the function matches returns true for the kind of any operation in the
// mix.
func (l *Load) hasKind(matches func(kv.Kind) bool) bool {
	return slices.ContainsFunc(l.Mix, func(o Operation) bool { return matches(o.Kind) })
}

func isRange(k kv.Kind) bool { return k == kv.Range || k == kv.TxnGet }

func isPlainRange(k kv.Kind) bool { return k == kv.Range }

func isTxn(k kv.Kind) bool { return k == kv.Txn }

func isSTM(k kv.Kind) bool { return k == kv.STM }

// usesKeySpace reports whether any operation chooses keys from the key space. All operations do,
// except keep-alives and reads of a given interval.
func (l *Load) usesKeySpace() bool {
	return l.hasKind(func(k kv.Kind) bool { return k != kv.KeepAlive && (l.RangeKey == nil || !isRange(k)) })
}

// Normalized returns the load in the form that records use: values without a meaning for this load
// are removed, and defaults are filled in.
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
		watch.KeysPerWatcher = max(watch.KeysPerWatcher, 1)
		out.Watch = &watch
	}
	d := Distribution{Name: out.Distribution.Name}
	for _, shape := range d.parameters() {
		*shape.field(&d) = *shape.field(&out.Distribution)
	}
	out.Distribution = d
	return out
}

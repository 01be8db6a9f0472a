package store

import (
	"math"
	"sort"
	"time"
)

// Signal is an event reported by a log line.
type Signal struct {
	Kind SignalKind
	// Time is the line's timestamp; zero if it has none.
	Time time.Time
	// Duration is the duration of an action that ended at Time; 0 if the line has
	// none.
	Duration time.Duration
	// Term is the term of an election; 0 if the line has none.
	Term uint64
}

// SignalKind is the kind of a signal, in terms that all stores share. It is
// written to events.jsonl.
type SignalKind string

// Kinds of signals. An election has one Elected signal; the other signals of an
// election describe the members around it.
const (
	ElectionStarted   SignalKind = "election_started"    // the member has no leader and starts an election
	Elected           SignalKind = "election"            // the member was elected and starts to lead; the duration is the election's
	LeaderLost        SignalKind = "leader_lost"         // the member has lost its leader
	VoteWon           SignalKind = "vote_won"            // the member won the vote and must bring other members up to its state before it leads; the duration is the vote's
	LeaderFound       SignalKind = "leader_found"        // the member follows a new leader; the duration is the search for it
	Serving           SignalKind = "serving"             // the member can serve clients: it has a leader and its state
	SnapshotStarted   SignalKind = "snapshot_started"    //
	SnapshotDone      SignalKind = "snapshot_done"       //
	SnapshotSkipped   SignalKind = "snapshot_skipped"    // a snapshot was due while the previous one was still being written
	SnapshotDeleted   SignalKind = "snapshot_deleted"    // an old snapshot was deleted
	LogRolled         SignalKind = "log_rolled"          // a new file of the synced log was started
	LogTruncated      SignalKind = "log_truncated"       // the start of the consensus log was dropped after a snapshot
	SlowFsync         SignalKind = "slow_fsync"          // a sync took longer than the store considers healthy
	SlowApply         SignalKind = "slow_apply"          // a committed request was applied slowly
	SlowRead          SignalKind = "slow_read"           // a linearizable read waited for the leader
	Compaction        SignalKind = "compaction"          // old revisions were removed
	Defragmentation   SignalKind = "defragmentation"     // the database was rewritten
	QuotaReached      SignalKind = "quota_reached"       // no space is left for writes
	GCPause           SignalKind = "gc_pause"            // the garbage collector paused all threads
	Overloaded        SignalKind = "overloaded"          // heartbeats were sent or received late
	FullStateSent     SignalKind = "full_state_sent"     // sent to a member too far behind for the log
	FullStateReceived SignalKind = "full_state_received" // received by a member too far behind for the log
)

// sentences hold the result of Predicate for each kind, the most disruptive kinds
// first.
var sentences = [...]struct {
	kind SignalKind
	says string
}{
	{Elected, "was elected leader"},
	{QuotaReached, "had used up its space quota"},
	{LeaderLost, "lost its leader"},
	{ElectionStarted, "stood for election"},
	{VoteWon, "won the vote for a leader"},
	{LeaderFound, "followed a new leader"},
	{Serving, "began to serve clients"},
	{FullStateReceived, "received the whole state from another member"},
	{FullStateSent, "sent its whole state to another member"},
	{SlowFsync, "synced its log slowly"},
	{Overloaded, "was overloaded: heartbeats were late"},
	{GCPause, "paused for garbage collection"},
	{SlowApply, "applied or read slowly"},
	{SlowRead, "waited for the leader before it could serve a read"},
	{Defragmentation, "defragmented its database"},
	{Compaction, "compacted its database"},
	{SnapshotSkipped, "skipped a snapshot, because the one before was still being written"},
	{SnapshotStarted, "began a snapshot"},
	{SnapshotDone, "wrote a snapshot"},
	{SnapshotDeleted, "deleted an old snapshot"},
	{LogRolled, "began a new log file"},
	{LogTruncated, "truncated its log"},
}

// SignalKinds returns all kinds, the most disruptive first.
func SignalKinds() (kinds []SignalKind) {
	for _, s := range sentences {
		kinds = append(kinds, s.kind)
	}
	return kinds
}

// Predicate returns the predicate of a sentence about the member, such as "was elected
// leader". For an unknown kind it contains the kind's name.
func (k SignalKind) Predicate() string {
	for _, s := range sentences {
		if s.kind == k {
			return s.says
		}
	}
	return "reported " + string(k)
}

// Metric is a metric that members report, in terms that all stores share.
type Metric uint8

// Metrics. Timers consist of a sum, a count and, if the store has them, buckets;
// counters only increase until the member restarts.
const (
	FsyncSeconds         Metric = iota // timer: sync of the write-ahead log
	CommitSeconds                      // timer: commit of the member's database
	PeerRoundTripSeconds               // timer: round trip to another member
	CPUSeconds                         // counter: CPU time, user and system
	Processors                         // gauge: CPUs that the member may use at once
	ResidentBytes                      // gauge: memory
	LeaderChanges                      // counter: leader changes seen by this member
	DatabaseBytes                      // gauge: on disk

	NumMetrics
)

// Timer reports whether the metric is a timer.
func (m Metric) Timer() bool { return m <= PeerRoundTripSeconds }

// Gauge reports whether the metric is a gauge: a present amount.
func (m Metric) Gauge() bool { return m == Processors || m == ResidentBytes || m == DatabaseBytes }

// MetricSource describes where to read a member's metrics.
type MetricSource struct {
	// URL serves Prometheus's text format; empty: use Command.
	URL    string
	Header map[string]string // request headers, such as a token
	// Command is sent to the member's client port. The member responds with lines
	// of a name, an optional {LABELS}, white space and a number, and closes the
	// connection.
	Command string
	Names   []MetricName
	// Refusals are the known ways in which the member refuses the request; the
	// first match is reported.
	Refusals []MetricRefusal
}

// MetricRefusal describes one way in which a member refuses to send its metrics.
type MetricRefusal struct {
	Text   string // part of the response, or of "HTTP status CODE"; empty: any failure
	Remedy string // how an operator enables the metrics, as an imperative
}

// MetricName is the name of a shared metric at a source. A metric may have
// several names; the values found are added up.
type MetricName struct {
	Metric Metric
	// Name is the name of a counter, gauge, histogram or summary in Prometheus's
	// text format.
	Name string
	// Sum and Count are the names of a timer's two counters, used instead of
	// Name.
	Sum, Count string
	// Unit is the source's unit in seconds or bytes, for example 0.001 for
	// milliseconds; 0 means 1.
	Unit float64
}

// Sample holds a member's metrics at one time, in seconds and bytes.
type Sample map[Metric]Reading

// Since returns the changes between an earlier sample and this one; gauges keep
// this sample's value.
func (s Sample) Since(before Sample) Sample {
	d := make(Sample, len(s))
	for metric, r := range s {
		if metric.Gauge() {
			d[metric] = r
		} else {
			d[metric] = r.Since(before[metric])
		}
	}
	return d
}

// Reading is the value of a metric at one time, or its change between two times.
type Reading struct {
	Value      float64 // of a counter or gauge
	Sum, Count float64 // of a timer
	// Buckets of a timer in order of their upper bounds, with cumulative counts;
	// empty if the store has none.
	Buckets []Bucket
}

// Bucket counts the times up to Upper, in seconds; the last bucket's Upper is
// infinite.
type Bucket struct{ Upper, Count float64 }

// Mean returns a timer's mean; ok is false if nothing was timed.
func (r Reading) Mean() (mean float64, ok bool) {
	if r.Count <= 0 {
		return 0, false
	}
	return r.Sum / r.Count, true
}

// Since returns the change of a counter or timer since an earlier reading. If the
// member restarted meanwhile, its counters restarted at 0, and Since returns the
// present values.
func (r Reading) Since(before Reading) Reading {
	if r.Value < before.Value || r.Count < before.Count {
		return r
	}
	d := Reading{Value: r.Value - before.Value, Sum: r.Sum - before.Sum, Count: r.Count - before.Count}
	if len(before.Buckets) == 0 {
		d.Buckets = r.Buckets
		return d
	}
	for _, b := range r.Buckets {
		d.Buckets = append(d.Buckets, Bucket{b.Upper, b.Count - countUpTo(before.Buckets, b.Upper)})
	}
	return d
}

// countUpTo returns the number of times up to the largest bucket bound that is at
// most upper.
func countUpTo(buckets []Bucket, upper float64) float64 {
	i := sort.Search(len(buckets), func(i int) bool { return buckets[i].Upper > upper })
	if i == 0 {
		return 0
	}
	return buckets[i-1].Count
}

// Quantile returns the time that the share q of all times does not exceed,
// interpolated within its bucket like PromQL's histogram_quantile. Beyond the
// last finite bound it returns that bound. ok is false if there are no buckets or
// times.
func (r Reading) Quantile(q float64) (seconds float64, ok bool) {
	if len(r.Buckets) < 2 || r.Count <= 0 {
		return 0, false
	}
	rank := q * r.Count
	i := sort.Search(len(r.Buckets)-1, func(i int) bool { return r.Buckets[i].Count >= rank })
	if i == len(r.Buckets)-1 && math.IsInf(r.Buckets[i].Upper, 1) {
		return r.Buckets[i-1].Upper, true
	}
	lower, under := 0.0, 0.0
	if i > 0 {
		lower, under = r.Buckets[i-1].Upper, r.Buckets[i-1].Count
	}
	b := r.Buckets[i]
	if b.Count <= under {
		return b.Upper, true
	}
	return lower + (b.Upper-lower)*(rank-under)/(b.Count-under), true
}

// Longest returns the bounds of the bucket with the longest time, which took more
// than lower and at most upper seconds. ok is false if there are no buckets or
// times.
func (r Reading) Longest() (lower, upper float64, ok bool) {
	if len(r.Buckets) == 0 || r.Count <= 0 {
		return 0, 0, false
	}
	i := sort.Search(len(r.Buckets)-1, func(i int) bool { return r.Buckets[i].Count >= r.Count })
	if i > 0 {
		lower = r.Buckets[i-1].Upper
	}
	return lower, r.Buckets[i].Upper, true
}

// Plus returns the sum of two series of the same metric.
func (r Reading) Plus(o Reading) Reading {
	sum := Reading{Value: r.Value + o.Value, Sum: r.Sum + o.Sum, Count: r.Count + o.Count}
	switch {
	case len(r.Buckets) == 0:
		sum.Buckets = o.Buckets
	case len(o.Buckets) == 0:
		sum.Buckets = r.Buckets
	default:
		for _, b := range r.Buckets {
			sum.Buckets = append(sum.Buckets, Bucket{b.Upper, b.Count + countUpTo(o.Buckets, b.Upper)})
		}
	}
	return sum
}

// Scaled converts a reading to another unit.
func (r Reading) Scaled(unit float64) Reading {
	s := Reading{Value: r.Value * unit, Sum: r.Sum * unit, Count: r.Count}
	for _, b := range r.Buckets {
		s.Buckets = append(s.Buckets, Bucket{b.Upper * unit, b.Count})
	}
	return s
}

package store

import (
	"math"
	"sort"
	"time"
)

// Signal is an event that a log line reports.
type Signal struct {
	Kind SignalKind
	// Time is the line's timestamp; zero if the line has none.
	Time time.Time
	// Duration is the length of the reported action, which ended at Time; 0 if the line does not
	// contain it.
	Duration time.Duration
	// Term is the term of an election; 0 if the line does not contain it.
	Term uint64
}

// SignalKind is the kind of a signal. All stores use the same kinds, which are written to
// events.jsonl.
type SignalKind string

// Kinds of signals. Each election causes exactly one signal of kind Elected. Other kinds of signals
// about an election describe what members did during the election.
const (
	ElectionStarted   SignalKind = "election_started"    // the member has no leader and starts an election
	Elected           SignalKind = "election"            // the member was elected leader; Duration is the length of the election
	LeaderLost        SignalKind = "leader_lost"         // the member has lost its leader
	VoteWon           SignalKind = "vote_won"            // the member won the vote, but must bring other members up to date before it becomes leader; Duration is the length of the vote
	LeaderFound       SignalKind = "leader_found"        // the member follows a new leader; Duration is how long the member searched for a leader
	Serving           SignalKind = "serving"             // the member can serve clients: it knows a leader and has the current state
	SnapshotStarted   SignalKind = "snapshot_started"    // the member started to write a snapshot
	SnapshotDone      SignalKind = "snapshot_done"       // the snapshot was written
	SnapshotSkipped   SignalKind = "snapshot_skipped"    // a snapshot was due while the previous one was still being written
	SnapshotDeleted   SignalKind = "snapshot_deleted"    // an old snapshot was deleted
	LogRolled         SignalKind = "log_rolled"          // the member started a new file for its synced log
	LogTruncated      SignalKind = "log_truncated"       // the member dropped the start of the consensus log after a snapshot
	SlowFsync         SignalKind = "slow_fsync"          // a sync took longer than the store's developers consider healthy
	SlowApply         SignalKind = "slow_apply"          // a committed request was applied slowly
	SlowRead          SignalKind = "slow_read"           // a linearizable read had to wait for the leader
	Compaction        SignalKind = "compaction"          // old revisions were removed
	Defragmentation   SignalKind = "defragmentation"     // the database was rewritten
	QuotaReached      SignalKind = "quota_reached"       // the space quota is used up: writes fail
	GCPause           SignalKind = "gc_pause"            // the garbage collector paused all threads
	Overloaded        SignalKind = "overloaded"          // heartbeats were sent or received late
	FullStateSent     SignalKind = "full_state_sent"     // the member sent its whole state to another member, because the sender's log no longer contains the entries that the other member lacks
	FullStateReceived SignalKind = "full_state_received" // the member received the whole state, because the leader's log no longer contains the entries that the member lacks
)

// sentences maps each kind to the text that Predicate returns, the most disruptive kinds first.
var sentences = [...]struct {
	kind      SignalKind
	predicate string
}{
	{Elected, "was elected leader"},
	{QuotaReached, "had used up its space quota"},
	{LeaderLost, "lost its leader"},
	{ElectionStarted, "stood for election"},
	{VoteWon, "won the vote to become leader"},
	{LeaderFound, "began to follow a new leader"},
	{Serving, "began to serve clients"},
	{FullStateReceived, "received the whole state from another member"},
	{FullStateSent, "sent its whole state to another member"},
	{SlowFsync, "synced its log slowly"},
	{Overloaded, "was overloaded: heartbeats were late"},
	{GCPause, "paused for garbage collection"},
	{SlowApply, "was slow to apply or read data"},
	{SlowRead, "waited for the leader before it could serve a read"},
	{Defragmentation, "defragmented its database"},
	{Compaction, "compacted its database"},
	{SnapshotSkipped, "skipped a snapshot, because the previous snapshot was still being written"},
	{SnapshotStarted, "began a snapshot"},
	{SnapshotDone, "wrote a snapshot"},
	{SnapshotDeleted, "deleted an old snapshot"},
	{LogRolled, "began a new log file"},
	{LogTruncated, "truncated its log"},
}

// SignalKinds returns all kinds of signals, the most disruptive first.
func SignalKinds() (kinds []SignalKind) {
	for _, s := range sentences {
		kinds = append(kinds, s.kind)
	}
	return kinds
}

// Predicate returns the predicate for a sentence about the member, such as "was elected
// leader". For an unknown kind the predicate contains the kind's name.
func (k SignalKind) Predicate() string {
	for _, s := range sentences {
		if s.kind == k {
			return s.predicate
		}
	}
	return "reported " + string(k)
}

// Metric identifies a metric that members report. Each store has its own name for the metric.
type Metric uint8

// Metrics. A timer consists of a sum, a count and, if the store reports them, buckets. A counter
// never decreases, except to 0 when the member restarts.
const (
	FsyncSeconds         Metric = iota // timer: how long syncs of the write-ahead log take
	CommitSeconds                      // timer: how long commits of the member's database take
	PeerRoundTripSeconds               // timer: round-trip time to another member
	CPUSeconds                         // counter: CPU time in user and system mode
	Processors                         // gauge: number of CPUs that the member may use at once
	ResidentBytes                      // gauge: resident memory
	LeaderChanges                      // counter: leader changes that this member has seen
	DatabaseBytes                      // gauge: size of the database on disk

	NumMetrics
)

// Timer reports whether the metric is a timer.
func (m Metric) Timer() bool { return m <= PeerRoundTripSeconds }

// Gauge reports whether the metric is a gauge: an amount that may rise and fall.
func (m Metric) Gauge() bool { return m == Processors || m == ResidentBytes || m == DatabaseBytes }

// MetricSource describes where to read a member's metrics.
type MetricSource struct {
	// URL is an address that serves Prometheus's text format. If URL is empty, Command is used.
	URL    string
	Header map[string]string // request headers, for example for a token
	// Command is text to send to the member's client port. The member responds with lines that
	// consist of a name, optional {LABELS}, white space and a number. It then closes the
	// connection.
	Command string
	Names   []MetricName
	// Refusals lists the known ways in which a member refuses the request. The first entry that
	// matches the response is reported.
	Refusals []MetricRefusal
}

// MetricRefusal describes one way in which a member refuses to send its metrics.
type MetricRefusal struct {
	Text   string // part of the response, or of "HTTP status CODE"; empty to match any failure
	Remedy string // instruction for the operator on how to enable the metrics, in the imperative
}

// MetricName maps a metric to its name at a source. If a source has several names for one metric,
// their values are added.
type MetricName struct {
	Metric Metric
	// Name is the name of a counter, gauge, histogram or summary in Prometheus's text format.
	Name string
	// Sum and Count are the names of two counters that together form a timer. They are used instead
	// of Name.
	Sum, Count string
	// Unit converts the source's unit to seconds or bytes: 0.001 means that the source reports
	// milliseconds. 0 means 1.
	Unit float64
}

// Sample holds a member's metrics at one point in time, in seconds and bytes.
type Sample map[Metric]Reading

// Since returns the changes from an earlier sample to this sample. Gauges keep the value in
// this sample.
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

// Reading is the value of a metric at one point in time, or the change of the value between two
// points in time.
type Reading struct {
	Value      float64 // value of a counter or gauge
	Sum, Count float64 // sum and count of a timer
	// Buckets are the buckets of a timer, ordered by their upper bounds, with cumulative counts.
	// Buckets is empty if the store reports no buckets.
	Buckets []Bucket
}

// Bucket counts the durations of at most Upper seconds. In the last bucket, Upper is infinite.
type Bucket struct{ Upper, Count float64 }

// Mean returns the mean duration of a timer. ok is false if the timer has measured nothing.
func (r Reading) Mean() (mean float64, ok bool) {
	if r.Count <= 0 {
		return 0, false
	}
	return r.Sum / r.Count, true
}

// Since returns the change of a counter or timer since an earlier reading. If the member was
// restarted after the earlier reading, its counters started again at 0. In that case Since returns
// r unchanged.
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

// countUpTo returns the cumulative count of the last bucket whose upper bound does not exceed the
// argument `upper`.
func countUpTo(buckets []Bucket, upper float64) float64 {
	i := sort.Search(len(buckets), func(i int) bool { return buckets[i].Upper > upper })
	if i == 0 {
		return 0
	}
	return buckets[i-1].Count
}

// Quantile estimates the q-quantile of the measured durations: a fraction q of the durations does
// not exceed the result. It interpolates within the bucket like PromQL's histogram_quantile. If the
// quantile is above the last finite bound, Quantile returns that bound. ok is false if there are no
// buckets or no durations.
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

// Longest returns the bounds of the bucket that contains the longest duration: the duration is more
// than `lower` and at most `upper` seconds. ok is false if there are no buckets or no durations.
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

// Plus returns the sum of two readings of the same metric, for example of a metric with two names.
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

// Scaled converts the reading to another unit. It multiplies the value, the sum and the buckets'
// bounds by the argument `unit`.
func (r Reading) Scaled(unit float64) Reading {
	s := Reading{Value: r.Value * unit, Sum: r.Sum * unit, Count: r.Count}
	for _, b := range r.Buckets {
		s.Buckets = append(s.Buckets, Bucket{b.Upper * unit, b.Count})
	}
	return s
}

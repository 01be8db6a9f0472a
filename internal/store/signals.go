package store

import (
	"math"
	"sort"
	"time"
)

// Signal is what a line of a log reports.
type Signal struct {
	Kind SignalKind
	// Time is when the line says that it was written; zero if it does not say.
	Time time.Time
	// Duration is how long it took what had ended at Time; 0 if the line does
	// not say.
	Duration time.Duration
	// Term is that of an election; 0 if the line does not say.
	Term uint64
}

// SignalKind is what happened, in words that all stores share. It stands in
// events.jsonl as it is.
type SignalKind string

// The kinds. Elections have one Elected each; the others say what it was for
// the members around it.
const (
	ElectionStarted   SignalKind = "election_started"    // the member has no leader and stands for election
	Elected           SignalKind = "election"            // the member was elected and begins to lead; the duration is the election's
	LeaderLost        SignalKind = "leader_lost"         // the member has no leader any more
	VoteWon           SignalKind = "vote_won"            // the member won the vote, and is to bring others up to its state before it leads; the duration is the vote's
	LeaderFound       SignalKind = "leader_found"        // the member follows a new leader; the duration is that of looking for it
	Serving           SignalKind = "serving"             // the member has what it needs to serve clients: a leader, and its state
	SnapshotStarted   SignalKind = "snapshot_started"    //
	SnapshotDone      SignalKind = "snapshot_done"       //
	SnapshotSkipped   SignalKind = "snapshot_skipped"    // one was due while the one before was still being written
	SnapshotDeleted   SignalKind = "snapshot_deleted"    // an old one
	LogRolled         SignalKind = "log_rolled"          // a new file of the log that is synced was begun
	LogTruncated      SignalKind = "log_truncated"       // the consensus log's beginning was dropped, after a snapshot
	SlowFsync         SignalKind = "slow_fsync"          // a sync took longer than the store finds healthy
	SlowApply         SignalKind = "slow_apply"          // a request that was agreed on was applied slowly
	SlowRead          SignalKind = "slow_read"           // a linearizable read waited for the leader
	Compaction        SignalKind = "compaction"          // old revisions were removed
	Defragmentation   SignalKind = "defragmentation"     // the database was written anew
	QuotaReached      SignalKind = "quota_reached"       // no space left for writes
	GCPause           SignalKind = "gc_pause"            // all threads stood still for the garbage collector
	Overloaded        SignalKind = "overloaded"          // heartbeats came or went late
	FullStateSent     SignalKind = "full_state_sent"     // to a member too far behind for the log
	FullStateReceived SignalKind = "full_state_received" // by a member that was
)

// sentences are how Says has each kind, the ones that disturb most first.
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

// SignalKinds lists all kinds, the ones that disturb most first.
func SignalKinds() (kinds []SignalKind) {
	for _, s := range sentences {
		kinds = append(kinds, s.kind)
	}
	return kinds
}

// Says completes a sentence that begins with the member's name, such as "was
// elected leader". A kind that is not known says its own name.
func (k SignalKind) Says() string {
	for _, s := range sentences {
		if s.kind == k {
			return s.says
		}
	}
	return "reported " + string(k)
}

// Metric is one of the figures that members report, in the vocabulary that all
// stores share.
type Metric uint8

// The metrics. Timers are sums, counts and, where the store has them, buckets;
// counters only rise until the member restarts.
const (
	FsyncSeconds         Metric = iota // timer: the write-ahead log's sync
	CommitSeconds                      // timer: a commit of the database behind it
	PeerRoundTripSeconds               // timer: to the other members and back
	CPUSeconds                         // counter: processor time, user and system
	Processors                         // gauge: how many the member may use at once
	ResidentBytes                      // gauge: memory
	LeaderChanges                      // counter: leaders come and gone, as this member saw it
	DatabaseBytes                      // gauge: on disk

	NumMetrics
)

// Timer reports whether the metric is a timer.
func (m Metric) Timer() bool { return m <= PeerRoundTripSeconds }

// Gauge reports whether the metric is a gauge: how much there is now.
func (m Metric) Gauge() bool { return m == Processors || m == ResidentBytes || m == DatabaseBytes }

// MetricSource is a place where a member's figures are.
type MetricSource struct {
	// URL answers a GET with Prometheus's text format; empty: Command.
	URL    string
	Header map[string]string // of that request, such as a token
	// Command is what is sent to the member's client port, which answers with
	// lines of a name, an optional {LABELS}, white space and a number, and closes
	// the connection.
	Command string
	Names   []MetricName
	// Refusals are the ways in which the member refuses to answer, of which the first
	// that matches is reported.
	Refusals []MetricRefusal
}

// MetricRefusal is one way in which a member refuses its figures.
type MetricRefusal struct {
	Text   string // part of the answer, or of "HTTP status CODE"; empty: any failure
	Remedy string // how an operator allows it, as an imperative
}

// MetricName is what one of the shared metrics is called at a source. A metric
// may have several names: what is there is added up.
type MetricName struct {
	Metric Metric
	// Name of a counter, a gauge, or a histogram or summary in Prometheus's
	// text format.
	Name string
	// Sum and Count name a timer's two counters, instead of Name.
	Sum, Count string
	// Unit is one of the source's units in seconds or bytes: 0.001 for
	// milliseconds. 0 is 1.
	Unit float64
}

// Sample is what a member reported at one time, in seconds and bytes.
type Sample map[Metric]Reading

// Since is what happened between an earlier sample and this one; gauges are
// those of this one.
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

// Reading is one metric at one time, or what happened between two.
type Reading struct {
	Value      float64 // of a counter or a gauge
	Sum, Count float64 // of a timer
	// Buckets of a timer, by their upper bounds, each holding those below it;
	// empty where the store has none.
	Buckets []Bucket
}

// Bucket counts the times up to Upper, in seconds; the last one's is infinite.
type Bucket struct{ Upper, Count float64 }

// Mean is a timer's mean; ok is false where nothing was timed.
func (r Reading) Mean() (mean float64, ok bool) {
	if r.Count <= 0 {
		return 0, false
	}
	return r.Sum / r.Count, true
}

// Since is what happened to a counter or a timer since an earlier reading. A
// member that restarted meanwhile began again at 0: what it reports now is
// all that is known to have happened.
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
		d.Buckets = append(d.Buckets, Bucket{b.Upper, b.Count - below(before.Buckets, b.Upper)})
	}
	return d
}

// below is how many times were at or below a bound that buckets name, or the
// nearest one under it.
func below(buckets []Bucket, upper float64) float64 {
	i := sort.Search(len(buckets), func(i int) bool { return buckets[i].Upper > upper })
	if i == 0 {
		return 0
	}
	return buckets[i-1].Count
}

// Quantile is the time with the share q of all at or below it, interpolated
// within its bucket as PromQL's histogram_quantile does. Beyond the last finite
// bound it is that bound. ok is false without buckets or times.
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

// Longest returns the bounds of the bucket with the longest time: it took more than lower
// and at most upper seconds. ok is false without buckets or times.
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

// Plus adds another series of the same metric.
func (r Reading) Plus(o Reading) Reading {
	sum := Reading{Value: r.Value + o.Value, Sum: r.Sum + o.Sum, Count: r.Count + o.Count}
	switch {
	case len(r.Buckets) == 0:
		sum.Buckets = o.Buckets
	case len(o.Buckets) == 0:
		sum.Buckets = r.Buckets
	default:
		for _, b := range r.Buckets {
			sum.Buckets = append(sum.Buckets, Bucket{b.Upper, b.Count + below(o.Buckets, b.Upper)})
		}
	}
	return sum
}

// Scaled puts a reading into other units.
func (r Reading) Scaled(unit float64) Reading {
	s := Reading{Value: r.Value * unit, Sum: r.Sum * unit, Count: r.Count}
	for _, b := range r.Buckets {
		s.Buckets = append(s.Buckets, Bucket{b.Upper * unit, b.Count})
	}
	return s
}

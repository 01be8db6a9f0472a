package store

// Metered is an optional interface of a Store (kv.Metrics): its members report
// figures about themselves. Everything here is data: run/probe fetches and reads it.
type Metered interface {
	// Metrics says where the figures of the member at an endpoint (HOST:PORT)
	// are, in the order in which the places are tried; the first that answers
	// is taken. None: the member reports nothing.
	Metrics(a Access, endpoint string) []MetricSource
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

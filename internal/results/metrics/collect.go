package metrics

import (
	"math"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorumbench/quorumbench/internal/kv"
)

// The parts of help texts that several metrics share.
const (
	onlyWindow    = " Only operations that became due in the measurement window are included, not those of the warm-up."
	whichProcess  = " The process \"generator\" is the quorumbench process that controls the run, and \"generator HOST\" is the agent on HOST."
	onlyCompleted = " The histogram contains only completed operations. quorumbench_operations_total counts failed operations by outcome. The results of a run rank failed operations as slower than every completed operation."
)

// trialLabels lists the labels of every metric of a trial.
var trialLabels = []string{"trial", "store", "repeat"}

// newDesc returns the description of a metric of the run.
func newDesc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("quorumbench_"+name, help, labels, nil)
}

// newTrialDesc returns the description of a metric of a trial, which may have further labels.
func newTrialDesc(name, help string, labels ...string) *prometheus.Desc {
	return newDesc(name, help, append(append([]string(nil), trialLabels...), labels...)...)
}

// The descriptions of the metrics.
var (
	operationsDesc = newTrialDesc("operations_total", "Operations that have ended, by outcome. An operation is added to this counter once all operations that became due in the same second have ended. The outcomes ok, miss, conflict, stale and unverifiable are completions; all other outcomes are errors."+onlyWindow, "operation", "outcome")
	dueDesc        = newTrialDesc("operations_due_total", "Operations that became due, including those that failed or were never sent."+onlyWindow)
	doneDesc       = newTrialDesc("operations_done_total", "Operations that were completed in the measurement window. Each operation is counted in the second of its completion, so the rate of this counter is the throughput.", "operation")
	responseDesc   = newTrialDesc("response_time_seconds", "Time from when an operation became due until it was completed."+onlyWindow+onlyCompleted, "operation")
	serviceDesc    = newTrialDesc("service_time_seconds", "Time from when an operation was sent until it was completed."+onlyWindow+onlyCompleted, "operation")
	inFlightDesc   = newTrialDesc("in_flight", "Operations in flight at the end of the last recorded second.")
	connsDesc      = newTrialDesc("connections", "Open connections of the load at the end of the last recorded second.")
	clientsDesc    = newTrialDesc("clients", "Clients of a closed loop. 0 for an open loop.")
	phaseDesc      = newTrialDesc("phase", "1 for the current phase of the run. The labels of the trial are missing while a cluster starts, stops or is cleaned up.", "phase")
	throughputDesc = newTrialDesc("trial_throughput", "Completed operations per second in the measurement window of an ended trial.")
	p99Desc        = newTrialDesc("trial_p99_seconds", "99th percentile of an ended trial's service times (closed loop) or response times (open loop), as in the report. Failed operations count as slower than every completed operation. The value is +Inf if the operation at the rank of the percentile failed.")
	verdictDesc    = newTrialDesc("trial_verdict", "1 for the verdict of an ended trial.", "verdict")
	cpuDesc        = newDesc("process_cpu_seconds_total", "CPU time, user and system, of a member of the store or of a load generator."+whichProcess, "process")
	writtenDesc    = newDesc("process_write_bytes_total", "Bytes written to disk on behalf of a member of the store or of a load generator."+whichProcess, "process")
	residentDesc   = newDesc("process_resident_memory_bytes", "Resident memory of a member of the store or of a load generator."+whichProcess, "process")
	eventsDesc     = newDesc("events_total", "Events of the run, such as elections, slow disk syncs and injected faults. Once the limit on the number of label pairs is reached, events with a new pair have the kind \"other\" and no member.", "kind", "member")
	infoDesc       = newDesc("run_info", "Always 1. The labels identify the run and the version of quorumbench.", "run", "version")
)

// Describe implements prometheus.Collector.
func (c *Collector) Describe(descs chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		operationsDesc, dueDesc, doneDesc, responseDesc, serviceDesc, inFlightDesc, connsDesc, clientsDesc, phaseDesc,
		throughputDesc, p99Desc, verdictDesc, cpuDesc, writtenDesc, residentDesc, eventsDesc, infoDesc,
	} {
		descs <- d
	}
}

// Collect implements prometheus.Collector.
func (c *Collector) Collect(collected chan<- prometheus.Metric) {
	for _, m := range c.metrics() {
		collected <- m
	}
}

// list is a list of metrics under construction.
type list []prometheus.Metric

// counter appends a counter.
func (l *list) counter(d *prometheus.Desc, n float64, labels ...string) {
	*l = append(*l, prometheus.MustNewConstMetric(d, prometheus.CounterValue, n, labels...))
}

// gauge appends a gauge, unless its value is NaN, which represents an unknown value.
func (l *list) gauge(d *prometheus.Desc, x float64, labels ...string) {
	if !math.IsNaN(x) {
		*l = append(*l, prometheus.MustNewConstMetric(d, prometheus.GaugeValue, x, labels...))
	}
}

// metrics returns the current values. Encoding and sending them does not lock the collector, so a
// slow reader does not delay the run.
func (c *Collector) metrics() []prometheus.Metric {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all list
	all.gauge(infoDesc, 1, c.run.Name, c.run.Version)
	if c.phase != "" {
		all.gauge(phaseDesc, 1, c.currentTrial.name, c.currentTrial.store, c.currentTrial.repeat, c.phase)
	}
	for i, t := range c.trials {
		if t.frozen != nil {
			all = append(all, t.frozen...)
			continue
		}
		all = append(all, c.trialMetrics(t, i == len(c.trials)-1)...)
	}
	for _, p := range c.processes {
		if !math.IsNaN(p.cpu) {
			all.counter(cpuDesc, p.cpu, p.name)
		}
		if !math.IsNaN(p.written) {
			all.counter(writtenDesc, p.written, p.name)
		}
		all.gauge(residentDesc, p.resident, p.name)
	}
	for _, key := range c.kinds {
		all.counter(eventsDesc, float64(c.events[key]), key.kind, key.member)
	}
	return all
}

// freeze builds and stores the metrics of all trials so far. It is called when a new trial begins,
// because earlier trials no longer change.
func (c *Collector) freeze() {
	for _, t := range c.trials {
		if t.frozen == nil {
			t.frozen = c.trialMetrics(t, false)
		}
	}
}

// trialMetrics returns the metrics of a trial. For the current trial, the metrics include the
// gauges, and also counters with the value 0, so that the rate of a counter includes its first
// increase.
func (c *Collector) trialMetrics(t *trial, current bool) []prometheus.Metric {
	var all list
	labels := func(more ...string) []string {
		return append([]string{t.key.name, t.key.store, t.key.repeat}, more...)
	}
	count := func(operation string, outcomes *[kv.NumOutcomes]uint64, zeros bool) {
		for o, n := range outcomes {
			if outcome := kv.Outcome(o); n > 0 || zeros && (outcome == kv.OK || outcome.Failed()) { // #nosec G115 -- an index
				all.counter(operationsDesc, float64(n), labels(operation, outcome.String())...)
			}
		}
	}
	for k := range kv.NumKinds {
		if t.response[k] == nil {
			continue
		}
		count(k.String(), &t.outcomes[k], current)
		all.counter(doneDesc, float64(t.done[k]), labels(k.String())...)
		all = append(all, t.response[k].metric(&c.table, responseDesc, c.run.StartTime, labels(k.String())...),
			t.service[k].metric(&c.table, serviceDesc, c.run.StartTime, labels(k.String())...))
	}
	count("unknown", &t.unknown, false)
	all.counter(dueDesc, float64(t.due), labels()...)
	if current {
		all.gauge(inFlightDesc, float64(t.inFlight), labels()...)
		all.gauge(connsDesc, float64(t.connections), labels()...)
		all.gauge(clientsDesc, float64(t.clients), labels()...)
	}
	if t.result != nil {
		all.gauge(throughputDesc, t.result.throughput, labels()...)
		all.gauge(p99Desc, t.result.p99, labels()...)
		all.gauge(verdictDesc, 1, labels(t.result.verdict)...)
	}
	return all
}

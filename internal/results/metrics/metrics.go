// Package metrics publishes the figures of a run as Prometheus metrics while the run is in
// progress. A Collector receives the records of the run. A Server lets Prometheus scrape the
// metrics, and a Pusher sends the metrics with Prometheus' remote write protocol.
package metrics

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Limits of the number of series.
const (
	maxTrials      = 100 // the series of earlier trials are dropped
	maxProcesses   = 200
	maxEvents      = 200 // pairs of kind and member; further events are counted as otherEvents
	maxLabelLength = 100 // bytes in a label value
)

// otherEvents is the kind under which events with a new kind or member are counted after maxEvents
// is reached.
const otherEvents = "other"

// endedPhase is the phase of a trial whose result is known.
const endedPhase = "done"

// Collector holds the figures of a run, and implements prometheus.Collector. The run updates the
// collector once per second. An update may wait while a scrape copies the figures of the current
// trial, but it never waits for the network. All methods may be called concurrently.
type Collector struct {
	run   Run
	table bucketTable

	mu           sync.Mutex
	trials       []*trial // in the order of their first seconds; the last one is the current trial
	keys         map[trialID]trialKey
	currentTrial trialKey  // the trial of the current phase; zero while a cluster starts or stops
	phase        string    // empty before the run begins
	processes    []process // the processes in the latest sample
	events       map[eventKey]uint64
	kinds        []eventKey // keys of events, in the order of their first occurrence
}

// Run identifies the run.
type Run struct {
	Name      string // differs between the runs of a scenario; see record.DirName
	Version   string // of quorumbench
	StartTime time.Time
}

// trialKey identifies a trial. Its fields are label values.
type trialKey struct{ name, store, repeat string }

// trialID identifies a trial in the run.
type trialID struct {
	name, store    string
	number, repeat int
}

// key returns the key of a trial. A capacity search can measure a rate again in a new trial of the
// same name. The key of such a trial contains the next free repeat number, so that each trial has
// its own series.
func (c *Collector) key(t *scenario.Trial) trialKey {
	id := trialID{t.Name, t.Cluster.Store, t.Number, t.Repeat}
	if key, known := c.keys[id]; known {
		return key
	}
	taken, repeat := slices.Collect(maps.Values(c.keys)), t.Repeat
	key := trialKey{label(t.Name), label(t.Cluster.Store), strconv.Itoa(repeat)}
	for slices.Contains(taken, key) {
		repeat++
		key.repeat = strconv.Itoa(repeat)
	}
	c.keys[id] = key
	return key
}

type eventKey struct{ kind, member string }

// process holds the latest sample of a process. An unknown figure is NaN.
type process struct {
	name                   string
	cpu, written, resident float64
}

// trial holds the figures of the measurement window of one trial.
type trial struct {
	key      trialKey
	outcomes [kv.NumKinds][kv.NumOutcomes]uint64
	// unknown counts outcomes that cannot be attributed to an operation, because the record of a
	// second is inconsistent.
	unknown           [kv.NumOutcomes]uint64
	due               uint64
	done              [kv.NumKinds]uint64
	response, service [kv.NumKinds]*native // nil for an operation that the load does not have

	inFlight, connections, clients int

	result *result
	frozen []prometheus.Metric // the metrics that freeze stored; nil if they can still change
}

// result is the result of a trial that has ended.
type result struct {
	throughput, p99 float64 // p99 in seconds; NaN if unknown
	verdict         string
}

// NewCollector returns a collector without trials.
func NewCollector(run Run) *Collector {
	run.Name, run.Version = label(run.Name), label(run.Version)
	return &Collector{run: run, table: newBucketTable(), keys: map[trialID]trialKey{}, events: map[eventKey]uint64{}}
}

// label converts text from an outside source to a label value, which is printable UTF-8 of limited
// length.
func label(s string) string { return text.Line(s, maxLabelLength) }

// Second adds a recorded second of a trial. Second counts only the operations of the measurement
// window.
func (c *Collector) Second(spec *scenario.Trial, s *measure.Second) {
	steps := make([]measure.Steps, 0, 2*len(s.Cells))
	if s.Phase == measure.Measured {
		for _, cell := range s.Cells { // without the lock, because this loop takes most of the time
			steps = append(steps, stepsOf(cell.Response), stepsOf(cell.Service))
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.trial(c.key(spec))
	t.inFlight, t.connections, t.clients = s.InFlight, s.Connections, s.Clients
	for _, cell := range s.Cells {
		t.begin(cell.Kind, &c.table)
	}
	if s.Phase != measure.Measured {
		return
	}
	for i, cell := range s.Cells {
		if cell.Kind < kv.NumKinds {
			t.response[cell.Kind].add(&c.table, steps[2*i])
			t.service[cell.Kind].add(&c.table, steps[2*i+1])
		}
	}
	t.due += s.Due
	for k, n := range s.DoneKinds {
		t.done[k] += n
	}
	t.countOutcomes(s)
}

func stepsOf(h *measure.Histogram) measure.Steps {
	if h == nil {
		return measure.Steps{}
	}
	return measure.NonEmptySteps(h)
}

// trial returns the figures of a trial. A new trial becomes the current trial.
func (c *Collector) trial(key trialKey) *trial {
	if i := slices.IndexFunc(c.trials, func(t *trial) bool { return t.key == key }); i >= 0 {
		c.trials[i].frozen = nil
		return c.trials[i]
	}
	t := &trial{key: key}
	c.trials = append(c.trials, t)
	if n := len(c.trials) - maxTrials; n > 0 {
		c.trials = slices.Delete(c.trials, 0, n)
	}
	return t
}

// begin creates the histograms of an operation, unless they already exist.
func (t *trial) begin(k kv.Kind, table *bucketTable) {
	if k < kv.NumKinds && t.response[k] == nil {
		t.response[k], t.service[k] = newNative(table), newNative(table)
	}
}

// conflictOrder lists operations in the order in which conflicts are attributed to them.
var conflictOrder = [...]kv.Kind{kv.CAS, kv.Txn, kv.STM, kv.Ephemeral, kv.Put, kv.Delete}

// countOutcomes adds the outcomes of a second. Errors and misses are recorded by operation. A
// conflict, a stale read and an unverifiable read are recorded only for the whole second, so
// countOutcomes attributes them to an operation that can have this outcome. The attribution is
// exact unless several operations of the load can have this outcome.
func (t *trial) countOutcomes(s *measure.Second) {
	var completed [kv.NumKinds]uint64
	left := s.Outcomes
	take := func(k kv.Kind, o kv.Outcome, n uint64) {
		n = min(n, left[o])
		if !o.Failed() {
			n = min(n, completed[k])
			completed[k] -= n
		}
		left[o] -= n
		t.outcomes[k][o] += n
	}
	for _, c := range s.Cells {
		if c.Kind >= kv.NumKinds {
			continue
		}
		completed[c.Kind] += measure.Count(c.Response)
		for o := kv.NotSent; o < kv.NumOutcomes; o++ {
			take(c.Kind, o, measure.Count(c.Failed[measure.ErrorIndex(o)]))
		}
	}
	for k, n := range s.Misses {
		take(kv.Kind(k), kv.Miss, n) // #nosec G115 -- the index of an array of NumKinds
	}
	for _, k := range conflictOrder {
		take(k, kv.Conflict, left[kv.Conflict])
	}
	for k := range kv.NumKinds {
		if k.Reads() {
			take(k, kv.Stale, left[kv.Stale])
			take(k, kv.Unverifiable, left[kv.Unverifiable])
		}
	}
	for k := range kv.NumKinds {
		for o := range kv.NotSent {
			take(k, o, left[o])
		}
	}
	for o, n := range left {
		t.unknown[o] += n
	}
}

// EnterPhase records the current phase of the run. The trial is nil while a cluster starts or
// stops.
func (c *Collector) EnterPhase(spec *scenario.Trial, phase string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := trialKey{}
	if spec != nil {
		key = c.key(spec)
	}
	if spec != nil && key != c.currentTrial && !slices.ContainsFunc(c.trials, func(t *trial) bool { return t.key == key }) {
		// A new trial may run on other processes.
		c.processes = nil
		c.freeze()
	}
	c.currentTrial, c.phase = key, label(phase)
}

// EndTrial records the result of a trial.
func (c *Collector) EndTrial(spec *scenario.Trial, r *record.Trial) {
	figure := r.Headline().Percentile(99)
	p99 := math.NaN()
	switch {
	case figure.Failed:
		p99 = math.Inf(1)
	case figure.Known:
		p99 = figure.NS / 1e9
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.trial(c.key(spec))
	t.inFlight, t.connections, t.clients = 0, 0, 0
	t.result = &result{throughput: r.PerSecond, p99: p99, verdict: string(r.Verdict.State)}
	c.currentTrial, c.phase = t.key, endedPhase
}

// Event counts an event. It serves as the function Event of a record.Observer.
func (c *Collector) Event(e record.Event) {
	key := eventKey{label(e.Kind), label(e.Member)}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.events[key]; !known {
		if len(c.events) >= maxEvents {
			key = eventKey{kind: otherEvents}
		}
		if _, known := c.events[key]; !known {
			c.kinds = append(c.kinds, key)
		}
	}
	c.events[key] += e.Occurrences()
}

// Machines stores samples of processes: the members, and the load generators on all machines. It
// serves as the function Machines of a record.Observer. A process without a sample, such as a killed
// member or a lost agent, has no series until its next sample.
func (c *Collector) Machines(rows []*record.MachineRow) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.processes = c.processes[:0]
	for _, r := range rows {
		if !(r.PID > 0) { // the row describes a machine or a part of a machine
			continue
		}
		name := label(r.Name)
		if len(c.processes) >= maxProcesses || slices.ContainsFunc(c.processes, func(p process) bool { return p.name == name }) {
			continue
		}
		c.processes = append(c.processes, process{name, r.CPU(), r.WriteBytes, r.RSS})
	}
}

// Package measure defines the measurements that a load generator produces: counts and latencies for
// each second. Latencies are kept in HDR histograms, which are merged and never averaged.
//
// An operation's latency or error is counted in the second in which the operation became due. Its
// completion is counted in the throughput of the second in which it was done. For example, an
// operation that is due at 0.9 s and done at 2.1 s is counted in Due, Outcomes and Response of
// second 0, and in Done of second 2.
package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// Phase is a part of a trial.
type Phase uint8

// The values of Phase.
const (
	Warmup   Phase = iota // executed and recorded, but not counted
	Measured              // the measurement window
)

// String returns the name that files use for the phase.
func (p Phase) String() string {
	if p == Warmup {
		return "warmup"
	}
	return "measured"
}

// Tally holds the measurements that are kept both for each second and for a whole phase.
//
// Invariant: Due is the sum of Outcomes.
type Tally struct {
	Counts
	Due      uint64                 // number of operations that became due in this period
	Outcomes [kv.NumOutcomes]uint64 // how these operations ended
	Keys     uint64                 // number of keys that successful reads returned or counted
	Retries  uint64                 // number of restarts after a conflict, in successful STMs
	Done     uint64                 // number of successes done in this period, with any due time
	Misses   [kv.NumKinds]uint64    // Outcomes[kv.Miss] by operation
	// Unattributed is the number of operations that are counted without the member and term in
	// their replies, because there were too many different pairs (see MaxReported).
	Unattributed uint64

	Cells    []*Cell
	Lateness *Histogram // sent - due; only in an open loop
	// Watch counts the watch events that arrived in this period. For a whole phase, it counts all
	// events that the phase's writes caused, independent of their arrival times.
	Watch Watch
	// Disturbance describes the time that the load generator itself added to the operations' times.
	Disturbance Disturbance
}

// merge adds o to t. It does not change o.
func (t *Tally) merge(o *Tally) {
	t.AddCounts(&o.Counts)
	t.Due += o.Due
	for i := range t.Outcomes {
		t.Outcomes[i] += o.Outcomes[i]
	}
	t.Keys += o.Keys
	t.Retries += o.Retries
	t.Done += o.Done
	for i := range t.Misses {
		t.Misses[i] += o.Misses[i]
	}
	t.Unattributed += o.Unattributed
	t.Cells = MergeCells(t.Cells, o.Cells)
	t.Lateness = Add(t.Lateness, o.Lateness)
	t.Watch.merge(&o.Watch)
	t.Disturbance.merge(&o.Disturbance)
}

// recycle calls take with each histogram.
func (t *Tally) recycle(take func(*Histogram)) {
	for _, c := range t.Cells {
		for _, h := range append(c.Failed[:], c.Response, c.Service) {
			take(h)
		}
	}
	for _, h := range []*Histogram{t.Lateness, t.Watch.FromDue, t.Watch.FromSent} {
		take(h)
	}
	for _, h := range t.Disturbance.histograms() {
		take(*h)
	}
}

// Second holds the measurements of one second of a phase, either of a single shard or merged from
// all shards.
type Second struct {
	Phase Phase
	Index int // number of the second in its phase, starting at 0
	// Length is the length in nanoseconds. It is 1 s, or less for the last second of a phase.
	Length int64
	Tally
	DoneKinds   [kv.NumKinds]uint64 // Done by operation
	Connections int                 // number of open connections at the end of the second
	Clients     int                 // number of clients in a closed loop; 0 in an open loop
	Resting     int                 // clients that pause after a refusal, at the end of the second
	InFlight    int                 // number of operations in flight at the end of the second
	// Alive contains the milliseconds in which at least one operation succeeded.
	Alive Milliseconds
	// SlotDetail is the detailed record of a load with faults. It is nil for other loads.
	SlotDetail *SlotDetail

	live []*LiveSteps // not yet added to the histograms
	pool *LivePool    // the pool from which `live` was allocated
}

// Response returns the response times of the successes that became due in this second. If the
// second has several series, Response clears `scratch` and merges the series into it. The caller
// must not change the result. If no operation succeeded, the result may be nil or empty.
func (s *Second) Response(scratch *Histogram) *Histogram {
	if len(s.Cells) == 1 {
		return s.Cells[0].Response
	}
	scratch.Reset()
	for _, c := range s.Cells {
		Add(scratch, c.Response)
	}
	return scratch
}

// Failed returns the number of operations that became due in this period and failed.
func (t *Tally) Failed() (n uint64) {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		n += t.Outcomes[o]
	}
	return n
}

// merge adds another shard's part of the same second to s. It does not change o.
func (s *Second) merge(o *Second) {
	s.Length = max(s.Length, o.Length)
	s.Tally.merge(&o.Tally)
	for i := range s.DoneKinds {
		s.DoneKinds[i] += o.DoneKinds[i]
	}
	s.Connections += o.Connections
	s.Clients += o.Clients
	s.Resting += o.Resting
	s.InFlight += o.InFlight
	s.Alive.merge(&o.Alive)
	if o.SlotDetail != nil {
		if s.SlotDetail == nil {
			s.SlotDetail = &SlotDetail{}
		}
		s.SlotDetail.merge(o.SlotDetail)
	}
}

// Counts holds the counts that are kept for a second, for a window and in a trial's result. The
// JSON names are the names in the result. To add a count, add a field, return a pointer to it from
// the method `pointers`, and count the events in the engine.
type Counts struct {
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
	// ExtraRequests is the number of requests that successful operations needed in addition to
	// their first requests.
	ExtraRequests uint64 `json:"extra_requests"`
	// LateResponses is the number of replies that arrived after their operation's timeout.
	LateResponses uint64 `json:"late_responses"`
}

// pointers returns pointers to all counts, for adding and encoding.
func (c *Counts) pointers() []*uint64 {
	return []*uint64{&c.BytesIn, &c.BytesOut, &c.ExtraRequests, &c.LateResponses}
}

// AddCounts adds the counts of another second or shard.
func (c *Counts) AddCounts(o *Counts) {
	to := c.pointers()
	for i, n := range o.pointers() {
		*to[i] += *n
	}
}

// Disturbance describes the time that the load generator itself added to the operations' times in a
// period. A nil histogram is empty.
//
// Sampled and Undisturbed describe the same operations: a sample of the successes. Each operation
// in the sample is counted once for each operation that it represents. Sampled contains the
// headline times of the load: service times for a closed loop, response times for an open loop.
// Undisturbed contains the same times minus the time that the load generator added. The difference
// between their percentiles is the largest effect that the load generator may have had on these
// times.
type Disturbance struct {
	// ReadDelay contains, for the sampled operations, the times from the arrival of the reply at
	// this machine to the read call that returned the reply.
	ReadDelay *Histogram
	// OwnDelay and BlockedDelay are used in an open loop. OwnDelay contains, for each operation
	// that was sent, the part of sent - due that the load generator caused. BlockedDelay contains
	// the rest of sent - due for operations that were blocked, because no connection or member
	// could accept them or because the limit of operations in flight was reached.
	OwnDelay, BlockedDelay *Histogram
	Sampled, Undisturbed   *Histogram
	// Idle is used in a closed loop. It is the sum of sent - due over all operations that were sent
	// without waiting for a connection, in nanoseconds. During this time, clients were free but the
	// load generator had not yet sent their operations.
	Idle int64
	// RunWait is used in a closed loop. It is the part of Sampled - Undisturbed, in nanoseconds,
	// for which the load generator's thread waited for a CPU. It is a weighted sum over the sample.
	// For the rest of Sampled - Undisturbed, the thread was busy or stopped.
	RunWait int64
}

// histograms returns pointers to all histograms.
func (d *Disturbance) histograms() [5]**Histogram {
	return [5]**Histogram{&d.ReadDelay, &d.OwnDelay, &d.BlockedDelay, &d.Sampled, &d.Undisturbed}
}

// merge adds o to d. It does not change o.
func (d *Disturbance) merge(o *Disturbance) {
	from := o.histograms()
	for i, to := range d.histograms() {
		*to = Add(*to, *from[i])
	}
	d.Idle += o.Idle
	d.RunWait += o.RunWait
}

// Watch counts the watch events that watchers received in a period. An event belongs to the phase
// of its write, and to the second in which it arrived.
type Watch struct {
	Delivered  uint64 // number of different events
	Duplicated uint64 // number of repeated arrivals of an event
	// Reordered is the number of events in Delivered that arrived after the event of a later write
	// to their key.
	Reordered uint64
	Untimed   uint64 // how many events in Delivered belong to a write whose due time is unknown
	// FromDue contains the times from a write's due time to the arrival of its event. FromSent
	// contains the times from sending the write to the arrival of its event. An event may arrive
	// before the reply to its write.
	FromDue, FromSent *Histogram
}

// merge adds the counts and histograms of o to w.
func (w *Watch) merge(o *Watch) {
	w.Delivered += o.Delivered
	w.Duplicated += o.Duplicated
	w.Reordered += o.Reordered
	w.Untimed += o.Untimed
	w.FromDue = Add(w.FromDue, o.FromDue)
	w.FromSent = Add(w.FromSent, o.FromSent)
}

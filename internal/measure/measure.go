// Package measure defines the figures that a load generator hands over: counts and latencies
// of each second. Latencies are in HDR histograms, which are merged and never averaged.
//
// Latencies and errors belong to the second in which the operation was due, throughput to
// the second in which it was done. For example, an operation that is due at 0.9 s and done
// at 2.1 s counts in Due, Outcomes and Response of second 0, and in Done of second 2.
package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// Phase is a part of a trial.
type Phase uint8

// The phases.
const (
	Warmup   Phase = iota // run and recorded, but not counted
	Measured              // the window
)

// String returns the name of the phase in files.
func (p Phase) String() string {
	if p == Warmup {
		return "warmup"
	}
	return "measured"
}

// Tally holds the figures that a second and a whole phase have in common.
//
// Invariant: Due is the sum of Outcomes.
type Tally struct {
	Counts
	Due        uint64                 // operations due in this span of time
	Outcomes   [kv.NumOutcomes]uint64 // of these operations
	Keys       uint64                 // keys that successful gets, ranges and txn-gets read or counted
	Retries    uint64                 // of successful STMs: restarts after a conflict
	Done       uint64                 // successes done in this span of time, whenever they were due
	Missed     [kv.NumKinds]uint64    // Outcomes[kv.Miss] by operation
	Unreported uint64                 // operations whose reply named a member and term beyond MaxReported

	Cells    []*Cell
	Lateness *Histogram // sent - due, open loop only
	// Watch counts the events that arrived in this span of time. In a whole phase it counts
	// the events of the phase's writes, whenever they arrived.
	Watch Watch
	// Disturbed is the time that the generator added to the operations' times.
	Disturbed Disturbance
}

// merge adds o without changing it.
func (t *Tally) merge(o *Tally) {
	t.AddCounts(&o.Counts)
	t.Due += o.Due
	for i := range t.Outcomes {
		t.Outcomes[i] += o.Outcomes[i]
	}
	t.Keys += o.Keys
	t.Retries += o.Retries
	t.Done += o.Done
	for i := range t.Missed {
		t.Missed[i] += o.Missed[i]
	}
	t.Unreported += o.Unreported
	t.Cells = MergeCells(t.Cells, o.Cells)
	t.Lateness = Add(t.Lateness, o.Lateness)
	t.Watch.merge(&o.Watch)
	t.Disturbed.merge(&o.Disturbed)
}

// recycle passes each histogram to take.
func (t *Tally) recycle(take func(*Histogram)) {
	for _, c := range t.Cells {
		for _, h := range append(c.Failed[:], c.Response, c.Service) {
			take(h)
		}
	}
	for _, h := range []*Histogram{t.Lateness, t.Watch.FromDue, t.Watch.FromSent} {
		take(h)
	}
	for _, h := range t.Disturbed.histograms() {
		take(*h)
	}
}

// Second holds the figures of one second of a phase: of one shard, or merged of all.
type Second struct {
	Phase Phase
	Index int // in its phase, from 0
	// Length is 1 s in nanoseconds, or less at the end of a phase.
	Length int64
	Tally
	DoneKinds   [kv.NumKinds]uint64 // Done by operation
	Connections int                 // open at the end of the second
	Clients     int                 // of a closed loop; 0 in an open loop
	Resting     int                 // clients that rest after a refusal at the end of the second
	InFlight    int                 // operations at the end of the second
	// Alive has a bit for each millisecond in which at least one operation was done.
	Alive [16]uint64
	// Fine is the finer record of a load with faults; nil for any other load.
	Fine *Fine

	live []*LiveSteps // not yet added to the histograms
	pool *LivePool    // where live comes from
}

// Response returns the response times of the successes due in the second: of its only
// series, or of all series merged into scratch, whose old content is deleted. The caller
// must not change the result. It is nil if there are no series of successes.
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

// Failed returns the number of operations due in the second that failed.
func (s *Second) Failed() (n uint64) {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		n += s.Outcomes[o]
	}
	return n
}

// merge adds another shard's part of the same second without changing it.
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
	for i := range s.Alive {
		s.Alive[i] |= o.Alive[i]
	}
	if o.Fine != nil {
		if s.Fine == nil {
			s.Fine = &Fine{}
		}
		s.Fine.merge(o.Fine)
	}
}

// Counts holds counts that a second, a window and a trial's result have in common, with their
// names in the result. A new count needs a field and an entry in all, and the engine must
// count it.
type Counts struct {
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
	Extra    uint64 `json:"extra_requests"` // requests of successes beyond their first
	Late     uint64 `json:"late_responses"` // replies that arrived after their operation's timeout
}

// pointers lists the counts, for adding and encoding.
func (c *Counts) pointers() []*uint64 { return []*uint64{&c.BytesIn, &c.BytesOut, &c.Extra, &c.Late} }

// AddCounts adds the counts of another second or shard.
func (c *Counts) AddCounts(o *Counts) {
	to := c.pointers()
	for i, n := range o.pointers() {
		*to[i] += *n
	}
}

// Disturbance is the time that the generator itself added to the operations' times, in one
// span of time. A nil histogram is empty.
//
// Sampled and Undisturbed are from the same operations, a sample of the successes. Each
// operation counts with the number of operations that it represents. Sampled has the time of
// the load's headline: service time in a closed loop, response time in an open loop.
// Undisturbed has this time minus the time that the generator added. The distance between
// their percentiles is the largest effect that the generator can have had on the headline.
type Disturbance struct {
	// Lag is the time from a reply's arrival at this machine to the read call that returned
	// it, of the sampled operations.
	Lag *Histogram
	// Own is, in an open loop, the part of sent - due that the generator caused, of every
	// operation that was sent. Waiting is the rest, of the operations that were blocked: no
	// connection or member could take them, or the limit of operations in flight was reached.
	Own, Waiting         *Histogram
	Sampled, Undisturbed *Histogram
	// Idle is, in a closed loop, the sum of sent - due of all operations that were sent
	// without waiting for a connection, in nanoseconds: clients were free, and the generator
	// had not yet sent for them.
	Idle int64
	// RunWait is, in a closed loop, the part of Sampled - Undisturbed for which the
	// generator's thread waited for a CPU, in nanoseconds: the weighted sum over the sample.
	// For the rest the thread was busy or stopped.
	RunWait int64
}

// histograms lists the locations of all histograms.
func (d *Disturbance) histograms() [5]**Histogram {
	return [5]**Histogram{&d.Lag, &d.Own, &d.Waiting, &d.Sampled, &d.Undisturbed}
}

// merge adds o without changing it.
func (d *Disturbance) merge(o *Disturbance) {
	from := o.histograms()
	for i, to := range d.histograms() {
		*to = Add(*to, *from[i])
	}
	d.Idle += o.Idle
	d.RunWait += o.RunWait
}

// Watch counts the events that watchers received in one span of time. Events belong to the
// phase of their write, and to the second in which they arrived.
type Watch struct {
	Delivered  uint64 // distinct events
	Duplicated uint64 // events that had arrived before
	Reordered  uint64 // of Delivered: arrived after a later write of their key
	Untimed    uint64 // of Delivered: the due time of their write is unknown
	// FromDue and FromSent are the times from when the write was due, and from when it was
	// sent, to the event's arrival. An event can arrive before the reply to its write.
	FromDue, FromSent *Histogram
}

// merge adds the counts and histograms of o.
func (w *Watch) merge(o *Watch) {
	w.Delivered += o.Delivered
	w.Duplicated += o.Duplicated
	w.Reordered += o.Reordered
	w.Untimed += o.Untimed
	w.FromDue = Add(w.FromDue, o.FromDue)
	w.FromSent = Add(w.FromSent, o.FromSent)
}

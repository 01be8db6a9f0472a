// Package measure is what a generator hands over: latencies in HDR histograms,
// a set for each second, merged and never averaged.
//
// Latencies and errors belong to the second in which the operation was due,
// throughput to the second in which it was done.
package measure

import "github.com/quorumbench/quorumbench/internal/kv"

// Phase is a part of a trial.
type Phase uint8

// The phases.
const (
	Warmup   Phase = iota // run and recorded, and not counted
	Measured              // the window
)

// String returns the phase's name in files.
func (p Phase) String() string {
	if p == Warmup {
		return "warmup"
	}
	return "measured"
}

// Tally is what one second and a whole phase count alike.
type Tally struct {
	Counts
	Due        uint64                 // operations due in it
	Outcomes   [kv.NumOutcomes]uint64 // of those; the sum is Due
	Keys       uint64                 // that successful gets, ranges and txn-gets read or counted
	Retries    uint64                 // of STM successes: how often a conflict made them begin again
	Done       uint64                 // successes done in it, whenever due
	Missed     [kv.NumKinds]uint64    // Outcomes[kv.Miss] by operation
	Unreported uint64                 // operations whose answer named a member and term beyond MaxReported

	Cells    []*Cell
	Lateness *Histogram // sent - due, open loop only
	// Watch is of the phase's writes, whenever their events came in a whole phase.
	Watch Watch
	// Disturbed is what the generator itself added to the operations' times.
	Disturbed Disturbance
}

// merge adds another's, which stays as it is.
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

// recycle gives each of its histograms to take.
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

// Second is one second of a phase, of one shard or of all merged.
type Second struct {
	Phase Phase
	Index int // from 0 in its phase
	// Length is 1 s, in nanoseconds, or less at a phase's end.
	Length int64
	Tally
	DoneKinds   [kv.NumKinds]uint64 // Done by operation
	Connections int                 // open at its end
	Clients     int                 // of the closed loop; 0 in an open one
	Resting     int                 // of those: wait at its end after a refusal
	InFlight    int                 // at its end
	// Alive has a bit for each millisecond in which an operation was done.
	Alive [16]uint64
	// Fine is nil unless the load has faults.
	Fine *Fine

	live []*LiveSteps // to be settled
	pool *LivePool    // theirs
}

// Response is the response times of the successes due in the second: those of
// its only series, or all merged into scratch, which is emptied before. It is
// only to be read; nil when there are none.
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

// Failed is how many operations due in the second ended in an error.
func (s *Second) Failed() (n uint64) {
	for o := kv.NotSent; o < kv.NumOutcomes; o++ {
		n += s.Outcomes[o]
	}
	return n
}

// merge adds another shard's part of the same second, which stays as it is.
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

// Counts are what a second, a window and a trial's result count, under their
// names in the result. A new one has its field and its place in all here, and the
// engine counts it.
type Counts struct {
	BytesIn  uint64 `json:"bytes_in"`
	BytesOut uint64 `json:"bytes_out"`
	Extra    uint64 `json:"extra_requests"` // beyond the first that successes took
	Late     uint64 `json:"late_answers"`   // that came after their operation had timed out
}

// all are the counts, for adding and for passing on.
func (c *Counts) all() []*uint64 { return []*uint64{&c.BytesIn, &c.BytesOut, &c.Extra, &c.Late} }

// AddCounts adds another second's or shard's.
func (c *Counts) AddCounts(o *Counts) {
	to := c.all()
	for i, n := range o.all() {
		*to[i] += *n
	}
}

// Disturbance is what the generator itself added to the operations' times, in
// one span of time. A nil histogram is an empty one.
//
// Sampled and Undisturbed are of the same operations, a sample of the
// successes in which each counts as often as it stands for others: once with
// the time that the loop's headline has (service time in a closed loop,
// response time in an open one), and once with that time less what the
// generator added to it. How far their percentiles are apart is how far the
// generator can have moved the headline's.
type Disturbance struct {
	// Lag is from an answer's arrival at this machine to the read call that
	// took it, of the sampled operations.
	Lag *Histogram
	// Own is, in an open loop, the part of sent - due that is the generator's
	// own, of every operation that was sent. Waiting is the rest, of those that
	// have one: no connection or member could take the operation, or the limit
	// of operations in flight was reached.
	Own, Waiting         *Histogram
	Sampled, Undisturbed *Histogram
	// Idle is, in a closed loop, the sum of sent - due of all operations that
	// were sent without waiting for a connection, in nanoseconds: the time in
	// which clients were free and the generator had not sent for them yet.
	Idle int64
	// RunWait is, in a closed loop, the part of what Sampled has beyond Undisturbed in
	// which the generator's thread was ready to run and waited for a processor, in
	// nanoseconds: the sum over the sample, with the operations' weights. In the rest
	// it worked, or was stopped.
	RunWait int64
}

// histograms lists the places of all histograms.
func (d *Disturbance) histograms() [5]**Histogram {
	return [5]**Histogram{&d.Lag, &d.Own, &d.Waiting, &d.Sampled, &d.Undisturbed}
}

// merge adds o, which stays as it is.
func (d *Disturbance) merge(o *Disturbance) {
	from := o.histograms()
	for i, to := range d.histograms() {
		*to = Add(*to, *from[i])
	}
	d.Idle += o.Idle
	d.RunWait += o.RunWait
}

// Watch is what watchers got in one span of time: events of the writes of the
// phase that they belong to, in the second in which they arrived.
type Watch struct {
	Delivered  uint64 // distinct events
	Duplicated uint64 // events that had come before
	Reordered  uint64 // of Delivered: came after a later write of their key
	Untimed    uint64 // of Delivered: it is not known when their write was due
	// FromDue and FromSent are the arrival less when the write was due, and
	// less when it was sent. An event can arrive before its write's own answer.
	FromDue, FromSent *Histogram
}

// merge adds another's counts and histograms.
func (w *Watch) merge(o *Watch) {
	w.Delivered += o.Delivered
	w.Duplicated += o.Duplicated
	w.Reordered += o.Reordered
	w.Untimed += o.Untimed
	w.FromDue = Add(w.FromDue, o.FromDue)
	w.FromSent = Add(w.FromSent, o.FromSent)
}

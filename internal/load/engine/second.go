package engine

import (
	"math"
	"slices"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
)

const (
	millisecond = 1_000_000
	secondNS    = 1_000_000_000
	never       = math.MaxInt64
)

// second collects the figures for one second of a phase. Latencies and errors belong to the second
// in which their operation was due, so the second stays in the queue until all its operations have
// ended.
//
// Invariant: Due is the sum of Outcomes and open. A second in a heldSecond is an exception: there,
// open is 1 higher.
type second struct {
	measure.Second
	start             int64              // on the loop's clock
	open              int                // number of operations that were due in this second and have not ended
	lastCell          *cell              // the cell that was used last
	cells             []*cell            // the cells that wrap the elements of Cells, in the same order
	unblockedLateness *measure.LiveSteps // lateness of the operations that were not blocked
	reported          measure.MemberTerms
}

// cell wraps a measure.Cell and counts its successes in LiveSteps.
type cell struct {
	measure.Cell
	response, service *measure.LiveSteps // nil before the first success
}

// slotDetail returns s.SlotDetail, and creates it if needed.
func (s *second) slotDetail() *measure.SlotDetail {
	if s.SlotDetail == nil {
		s.SlotDetail = &measure.SlotDetail{}
	}
	return s.SlotDetail
}

// cell returns the cell for a series, and creates it if needed. A second has few cells, and the
// cell that was used last is nearly always the right one.
func (q *secondQueue) cell(s *second, series *measure.Series) *cell {
	if s.lastCell != nil && sameSeries(&s.lastCell.Series, series) {
		return s.lastCell
	}
	if c := s.find(series); c != nil {
		s.lastCell = c
		return c
	}
	if !s.reported.Accept(series.Member, series.Term, measure.MaxReportedInSecond) || !q.reported.Accept(series.Member, series.Term, measure.MaxReported) {
		s.Unattributed++
		unnamed := series.WithoutMember()
		return q.cell(s, &unnamed)
	}
	s.lastCell = &cell{Cell: measure.Cell{Series: *series}}
	s.Cells, s.cells = append(s.Cells, &s.lastCell.Cell), append(s.cells, s.lastCell)
	return s.lastCell
}

// find returns the cell for a series, or nil if there is none.
func (s *second) find(series *measure.Series) *cell {
	for _, c := range s.cells {
		if sameSeries(&c.Series, series) {
			return c
		}
	}
	return nil
}

// sameSeries compares two series field by field. Comparing structs with padding by == would call a
// function, which costs more than all of these comparisons.
func sameSeries(a, b *measure.Series) bool {
	return a.Member == b.Member && a.Term == b.Term && a.Kind == b.Kind && a.Consistency == b.Consistency
}

// secondQueue is the queue of seconds that have not been passed to Config.Deliver yet.
//
// Invariant: the seconds are ordered by start, and only the last of them may still receive
// completions (see clockwork.current).
type secondQueue struct {
	queue           []*second
	newHistogram    func() *measure.Histogram
	live            *measure.LivePool
	deliver         func(*measure.Second)
	hasSeveralLoops bool                // the load has several event loops
	lastFound       *second             // the last result of dueIn
	reported        measure.MemberTerms // the members and terms that replies reported, over all seconds
	errors          []failureKind       // the kinds of errors that have their own histograms, over all seconds
}

// newSecondQueue returns the empty queue of a loop.
func newSecondQueue(cfg *Config) secondQueue {
	recycle := cfg.Recycle
	fresh := func() *measure.Histogram {
		if recycle != nil {
			if h := recycle(); h != nil {
				return h
			}
		}
		return measure.NewHistogram()
	}
	return secondQueue{newHistogram: fresh, live: measure.NewLivePool(fresh), deliver: cfg.Deliver, hasSeveralLoops: cfg.Shared.hasSeveralLoops()}
}

// failureKind is a kind of error from one member in one term.
type failureKind struct {
	member, term uint64
	outcome      kv.Outcome
}

// allowsHistogram reports whether a kind of error may get its own histogram for a member and term.
// The first MaxReportedFailed combinations of kind, member and term may get one. Errors without a
// member and term always may.
func (q *secondQueue) allowsHistogram(series *measure.Series, outcome kv.Outcome) bool {
	if series.Member == 0 && series.Term == 0 {
		return true
	}
	f := failureKind{series.Member, series.Term, outcome}
	if slices.Contains(q.errors, f) {
		return true
	}
	if len(q.errors) >= measure.MaxReportedFailed {
		return false
	}
	q.errors = append(q.errors, f)
	return true
}

// beginSecond adds a second to the queue. `index` is the second's index in the phase, and `start`
// is the time at which it begins.
func (q *secondQueue) beginSecond(phase measure.Phase, index int, start int64) *second {
	s := &second{start: start}
	s.Phase, s.Index = phase, index
	q.queue = append(q.queue, s)
	return s
}

// dueIn returns the one-second interval in which an operation of the given phase, with the given
// due time, is counted.
func (q *secondQueue) dueIn(phase measure.Phase, due int64) *second {
	if s := q.lastFound; s != nil && due >= s.start && due < s.start+secondNS && s.Phase == phase {
		return s
	}
	for _, s := range q.queue {
		if s.Phase == phase && due >= s.start && due < s.start+secondNS {
			q.lastFound = s
			return s
		}
	}
	if n := len(q.queue); n > 0 && q.hasSeveralLoops {
		// Another loop whose clock was slightly ahead closed this loop's window.
		return q.queue[n-1]
	}
	// Unreachable: a second stays in the queue until no more operations in the schedule can be due
	// in it.
	panic("engine: no second in the queue contains the due time of an operation")
}

// firstHasEnded reports whether the first second in the queue has passed. Before that, no second
// can be complete.
func (q *secondQueue) firstHasEnded(now int64) bool {
	return len(q.queue) > 0 && now >= q.queue[0].start+secondNS
}

// firstIsComplete reports whether the first second can be handed over. `pending` has the same
// meaning as in release.
func (q *secondQueue) firstIsComplete(pending int64) bool {
	return len(q.queue) > 0 && q.queue[0].open == 0 && pending >= q.queue[0].start+secondNS
}

// dropEmpty removes the last second if nothing was due or completed in it. It returns the second
// that is the last one now.
func (q *secondQueue) dropEmpty() *second {
	n := len(q.queue)
	if n > 1 && q.queue[n-1].Due == 0 && q.queue[n-1].Done == 0 {
		n--
		q.queue = q.queue[:n]
	}
	return q.queue[n-1]
}

// release hands over the complete seconds at the front of the queue. `pending` is the earliest time
// at which another operation can become due. A second is complete if none of its operations is open
// and the second ends at or before `pending`.
func (q *secondQueue) release(pending int64) {
	done := 0
	for _, s := range q.queue {
		if s.open > 0 || pending < s.start+secondNS {
			break
		}
		q.deliver(&s.Second)
		done++
	}
	if done > 0 {
		rest := copy(q.queue, q.queue[done:])
		clear(q.queue[rest:])
		q.queue = q.queue[:rest]
	}
}

// record adds a duration to a histogram, and creates the histogram if needed.
func (q *secondQueue) record(h **measure.Histogram, ns int64) {
	if *h == nil {
		*h = q.newHistogram()
	}
	measure.Record(*h, ns)
}

// recordAs adds a duration to a histogram as if that duration had occurred `weight` times.
func (q *secondQueue) recordAs(h **measure.Histogram, ns, weight int64) {
	if *h == nil {
		*h = q.newHistogram()
	}
	measure.RecordAll(*h, ns, uint64(weight))
}

// recordSuccess records the times of a completed operation in the second s in which the operation
// was due.
func (q *secondQueue) recordSuccess(s *second, series *measure.Series, response, service int64) {
	c := q.cell(s, series)
	if c.response == nil {
		c.response, c.service = q.live.NewSteps(&s.Second, &c.Response, nil), q.live.NewSteps(&s.Second, &c.Service, nil)
	}
	c.response.Record(response)
	c.service.Record(service)
}

// recordLateness records how late an operation of an open loop was sent. `ownLateness` is the part
// of the lateness that the generator caused. If the operation was not blocked, ownLateness equals
// `late`.
func (q *secondQueue) recordLateness(s *second, late, ownLateness int64) {
	if waiting := late - ownLateness; waiting != 0 {
		q.record(&s.Lateness, late)
		q.record(&s.Disturbance.OwnDelay, ownLateness)
		q.record(&s.Disturbance.BlockedDelay, waiting)
		return
	}
	if s.unblockedLateness == nil {
		s.unblockedLateness = q.live.NewSteps(&s.Second, &s.Lateness, &s.Disturbance.OwnDelay)
	}
	s.unblockedLateness.Record(late)
}

// recordFailure records an error in the second in which its operation was due. `response` is the
// time from the operation's due time to the error.
func (q *secondQueue) recordFailure(s *second, series *measure.Series, outcome kv.Outcome, response int64) {
	c, i := q.cell(s, series), measure.ErrorIndex(outcome)
	if c.Failed[i] == nil && !q.allowsHistogram(&c.Series, outcome) {
		s.Unattributed++
		unnamed := series.WithoutMember()
		c = q.cell(s, &unnamed)
	}
	q.record(&c.Failed[i], response)
}

// heldSecond keeps the last second of the window open for events that arrive after the window. If
// no second is held, the embedded pointer is nil.
type heldSecond struct{ *second }

func (h *heldSecond) hold(s *second) {
	h.second = s
	s.open++
}

func (h *heldSecond) release() {
	if h.second != nil {
		h.open--
		h.second = nil
	}
}

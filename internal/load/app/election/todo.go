package election

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// todo holds the candidates that have a call to make, either immediately (now) or after a pause
// (later). All pauses have the same length, so both queues are ordered by time.
//
// Invariant: a candidate is in one of the queues at most once.
type todo struct {
	now, later ring
}

// ring is a queue of candidates with a fixed capacity.
type ring struct {
	of    []int32
	first int
	n     int
}

func newTodo(candidates int) todo {
	return todo{ring{of: make([]int32, candidates)}, ring{of: make([]int32, candidates)}}
}

func (t *todo) add(c int32, later bool) {
	if later {
		t.later.push(c)
	} else {
		t.now.push(c)
	}
}

func (r *ring) push(c int32) {
	r.of[(r.first+r.n)%len(r.of)] = c
	r.n++
}

func (r *ring) pop() int32 {
	c := r.of[r.first]
	r.first, r.n = (r.first+1)%len(r.of), r.n-1
	return c
}

// next removes and returns the first candidate whose call is due at or before `now`.
func (t *todo) next(now int64, of []candidate) (c int32, ok bool) {
	switch {
	case t.now.n > 0:
		c = t.now.pop()
	case t.later.n > 0 && of[t.later.of[t.later.first]].due <= now:
		c = t.later.pop()
	default:
		return 0, false
	}
	of[c].queued = false
	return c, true
}

// nextTime returns the time at which `next` will return a candidate. It returns `now` if a
// candidate is already waiting in the queue without a pause.
func (t *todo) nextTime(now int64, of []candidate) int64 {
	switch {
	case t.now.n > 0:
		return now
	case t.later.n > 0:
		return of[t.later.of[t.later.first]].due
	}
	return math.MaxInt64
}

// beats schedules the renewals of all candidates' sessions. All candidates use the same interval.
type beats struct {
	every int64
	due   []int64 // by candidate: when its next renewal is due
	order ring    // all candidates, in the order of their next renewals
}

// newBeats returns the schedule of renewals with the given times of the first renewals. Each of
// these times must be less than `every`.
func newBeats(first []int64, every time.Duration) beats {
	b := beats{int64(every), first, ring{of: make([]int32, len(first)), n: len(first)}}
	for i := range b.order.of {
		b.order.of[i] = int32(i) // #nosec G115 -- at most maxCandidates
	}
	slices.SortFunc(b.order.of, func(c, d int32) int { return cmp.Compare(first[c], first[d]) })
	return b
}

// next returns the next candidate whose renewal is due at or before `now`, and the time at which
// the renewal became due. It skips dead candidates.
func (b *beats) next(now int64, of []candidate) (c int32, due int64, ok bool) {
	for b.order.n > 0 && b.nextTime() <= now {
		c = b.order.pop()
		b.order.push(c)
		due = b.due[c]
		if b.due[c] += b.every; !of[c].dead {
			return c, due, true
		}
	}
	return 0, 0, false
}

func (b *beats) nextTime() int64 {
	if b.order.n == 0 {
		return math.MaxInt64
	}
	return b.due[b.order.of[b.order.first]]
}

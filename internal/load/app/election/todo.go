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
	items []int32
	first int
	n     int
}

func newTodo(candidates int) todo {
	return todo{ring{items: make([]int32, candidates)}, ring{items: make([]int32, candidates)}}
}

func (t *todo) add(c int32, later bool) {
	if later {
		t.later.push(c)
	} else {
		t.now.push(c)
	}
}

func (r *ring) push(c int32) {
	r.items[(r.first+r.n)%len(r.items)] = c
	r.n++
}

func (r *ring) pop() int32 {
	c := r.items[r.first]
	r.first, r.n = (r.first+1)%len(r.items), r.n-1
	return c
}

// next removes and returns the first candidate whose call is due at or before `now`.
func (t *todo) next(now int64, candidates []candidate) (c int32, ok bool) {
	switch {
	case t.now.n > 0:
		c = t.now.pop()
	case t.later.n > 0 && candidates[t.later.items[t.later.first]].due <= now:
		c = t.later.pop()
	default:
		return 0, false
	}
	candidates[c].queued = false
	return c, true
}

// nextTime returns the time at which `next` will return a candidate. It returns `now` if a
// candidate is already waiting in the queue without a pause.
func (t *todo) nextTime(now int64, candidates []candidate) int64 {
	switch {
	case t.now.n > 0:
		return now
	case t.later.n > 0:
		return candidates[t.later.items[t.later.first]].due
	}
	return math.MaxInt64
}

// renewalSchedule schedules the renewals of all candidates' sessions. All candidates use the same
// interval.
type renewalSchedule struct {
	interval int64
	due      []int64 // by candidate: when its next renewal is due
	order    ring    // all candidates, in the order of their next renewals
}

// newRenewalSchedule returns the schedule of renewals with the given times of the first renewals.
// Each of these times must be less than `interval`.
func newRenewalSchedule(first []int64, interval time.Duration) renewalSchedule {
	b := renewalSchedule{int64(interval), first, ring{items: make([]int32, len(first)), n: len(first)}}
	for i := range b.order.items {
		b.order.items[i] = int32(i) // #nosec G115 -- at most maxCandidates
	}
	slices.SortFunc(b.order.items, func(c, d int32) int { return cmp.Compare(first[c], first[d]) })
	return b
}

// next returns the next candidate whose renewal is due at or before `now`, and the time at which
// the renewal became due. It skips dead candidates.
func (b *renewalSchedule) next(now int64, candidates []candidate) (c int32, due int64, ok bool) {
	for b.order.n > 0 && b.nextTime() <= now {
		c = b.order.pop()
		b.order.push(c)
		due = b.due[c]
		if b.due[c] += b.interval; !candidates[c].dead {
			return c, due, true
		}
	}
	return 0, 0, false
}

func (b *renewalSchedule) nextTime() int64 {
	if b.order.n == 0 {
		return math.MaxInt64
	}
	return b.due[b.order.items[b.order.first]]
}

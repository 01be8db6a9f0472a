package null

import "sync"

// Clock is a schedule's time. Wait is called by one goroutine, the others by
// any.
type Clock interface {
	Now() int64   // nanoseconds, never negative
	Arm(at int64) // lets Wait return at that time; only the last call counts
	Wait()        // until the time that Arm was given
	Close()       // after which none of the others is called
}

// Schedule holds what is due later, in a heap, for one goroutine that sleeps
// until the first is. It allocates nothing once it has been as full as it gets.
type Schedule[T any] struct {
	clock Clock
	most  int

	mu      sync.Mutex // guards what follows
	heap    []entry[T]
	turn    uint64
	armed   int64 // what the clock was last armed for, 0 for nothing
	stopped bool
}

// Item is something and the time in nanoseconds, by the schedule's clock, at
// which it is due.
type Item[T any] struct {
	Due  int64
	What T
}

// entry is an item in the heap; what is due at the same time keeps its order by
// turn.
type entry[T any] struct {
	Item[T]
	turn uint64
}

func (a *entry[T]) before(b *entry[T]) bool {
	return a.Due < b.Due || a.Due == b.Due && a.turn < b.turn
}

// NewSchedule returns a schedule that hands over up to most items at once, at
// least 1: those behind wait until the first are dealt with.
func NewSchedule[T any](clock Clock, most int) *Schedule[T] {
	return &Schedule[T]{clock: clock, most: most}
}

// Add takes over what is due later.
func (s *Schedule[T]) Add(items ...Item[T]) {
	if len(items) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		s.turn++
		s.push(entry[T]{it, s.turn})
	}
	if first := s.heap[0].Due; !s.stopped && (s.armed == 0 || first < s.armed) {
		s.arm(first)
	}
}

func (s *Schedule[T]) arm(at int64) {
	s.armed = at
	s.clock.Arm(at)
}

// Next waits until something is due and appends that to to, earliest first, or
// returns false when the schedule is stopped. One goroutine may call it.
func (s *Schedule[T]) Next(to []T) ([]T, bool) {
	for {
		s.mu.Lock()
		if s.stopped {
			s.mu.Unlock()
			return to, false
		}
		now := s.clock.Now()
		for len(s.heap) > 0 && s.heap[0].Due <= now && len(to) < s.most {
			to = append(to, s.pop())
		}
		if len(to) == 0 {
			s.armed = 0
			if len(s.heap) > 0 {
				s.arm(s.heap[0].Due)
			}
		}
		s.mu.Unlock()
		if len(to) > 0 {
			return to, true
		}
		s.clock.Wait()
	}
}

// Stop makes Next return false.
func (s *Schedule[T]) Stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.arm(s.clock.Now())
}

func (s *Schedule[T]) push(e entry[T]) {
	s.heap = append(s.heap, e)
	i := len(s.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !e.before(&s.heap[parent]) {
			break
		}
		s.heap[i] = s.heap[parent]
		i = parent
	}
	s.heap[i] = e
}

func (s *Schedule[T]) pop() T {
	top := s.heap[0].What
	n := len(s.heap) - 1
	last := s.heap[n]
	s.heap[n] = entry[T]{}
	s.heap = s.heap[:n]
	if n == 0 {
		return top
	}
	i := 0
	for {
		child := 2*i + 1
		if child >= n {
			break
		}
		if child+1 < n && s.heap[child+1].before(&s.heap[child]) {
			child++
		}
		if !s.heap[child].before(&last) {
			break
		}
		s.heap[i] = s.heap[child]
		i = child
	}
	s.heap[i] = last
	return top
}

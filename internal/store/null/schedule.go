package null

import "sync"

// Clock is the time source for a schedule. Only one goroutine calls Wait; the other methods may be
// called concurrently.
type Clock interface {
	Now() int64   // current time in nanoseconds, never negative
	Arm(at int64) // makes Wait return at the given time; replaces an earlier Arm
	Wait()        // blocks until the time that Arm has set
	Close()       // afterwards no method may be called
}

// Schedule holds items until they are due. One goroutine takes the items, and sleeps until the
// first item is due. A schedule allocates no memory once it has reached its maximum size.
type Schedule[T any] struct {
	clock    Clock
	maxItems int

	mu       sync.Mutex // guards the fields below
	heap     []entry[T]
	sequence uint64
	armed    int64 // latest argument of Arm, or 0
	stopped  bool
}

// Item is a value with the time at which it is due, in nanoseconds on the schedule's clock.
type Item[T any] struct {
	Due   int64
	Value T
}

// entry is an item in the heap. The field `sequence` preserves the order of items that are due at
// the same time.
type entry[T any] struct {
	Item[T]
	sequence uint64
}

func (a *entry[T]) isBefore(b *entry[T]) bool {
	return a.Due < b.Due || a.Due == b.Due && a.sequence < b.sequence
}

// NewSchedule returns a schedule. Its method Next returns at most maxItems items, and maxItems
// must be at least 1.
func NewSchedule[T any](clock Clock, maxItems int) *Schedule[T] {
	return &Schedule[T]{clock: clock, maxItems: maxItems}
}

// Add adds items.
func (s *Schedule[T]) Add(items ...Item[T]) {
	if len(items) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, it := range items {
		s.sequence++
		s.push(entry[T]{it, s.sequence})
	}
	if first := s.heap[0].Due; !s.stopped && (s.armed == 0 || first < s.armed) {
		s.arm(first)
	}
}

func (s *Schedule[T]) arm(at int64) {
	s.armed = at
	s.clock.Arm(at)
}

// Next waits until an item is due. It appends the due items to the given slice, the earliest first.
// When the schedule is stopped, it returns false. Only one goroutine may call Next.
func (s *Schedule[T]) Next(items []T) ([]T, bool) {
	for {
		s.mu.Lock()
		if s.stopped {
			s.mu.Unlock()
			return items, false
		}
		now := s.clock.Now()
		for len(s.heap) > 0 && s.heap[0].Due <= now && len(items) < s.maxItems {
			items = append(items, s.pop())
		}
		if len(items) == 0 {
			s.armed = 0
			if len(s.heap) > 0 {
				s.arm(s.heap[0].Due)
			}
		}
		s.mu.Unlock()
		if len(items) > 0 {
			return items, true
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
		if !e.isBefore(&s.heap[parent]) {
			break
		}
		s.heap[i] = s.heap[parent]
		i = parent
	}
	s.heap[i] = e
}

func (s *Schedule[T]) pop() T {
	top := s.heap[0].Value
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
		if child+1 < n && s.heap[child+1].isBefore(&s.heap[child]) {
			child++
		}
		if !s.heap[child].isBefore(&last) {
			break
		}
		s.heap[i] = s.heap[child]
		i = child
	}
	s.heap[i] = last
	return top
}

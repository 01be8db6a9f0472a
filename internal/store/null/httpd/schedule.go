package httpd

import (
	"container/heap"
	"sync"
)

// clock is a schedule's time. wait is called by one goroutine, the others by
// any.
type clock interface {
	now() int64   // nanoseconds, never negative
	arm(at int64) // lets wait return at that time; only the last call counts
	wait()        // until the time that arm was given
	close()       // after which none of the others is called
}

// schedule holds the answers of all connections that are due later, for one
// goroutine that sleeps until the first is.
type schedule struct {
	clock clock

	mu      sync.Mutex // guards what follows
	queue   queue
	armed   int64 // what the clock was last armed for, 0 for nothing
	stopped bool
}

// queue is a heap by time.
type queue []*pending

func (q queue) Len() int           { return len(q) }
func (q queue) Less(i, j int) bool { return q[i].due < q[j].due }
func (q queue) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *queue) Push(p any)        { *q = append(*q, p.(*pending)) }
func (q *queue) Pop() any {
	last := len(*q) - 1
	p := (*q)[last]
	(*q)[last] = nil
	*q = (*q)[:last]
	return p
}

// add takes over what is due later.
func (s *schedule) add(p *pending) {
	s.mu.Lock()
	defer s.mu.Unlock()
	heap.Push(&s.queue, p)
	if first := s.queue[0].due; !s.stopped && (s.armed == 0 || first < s.armed) {
		s.arm(first)
	}
}

func (s *schedule) arm(at int64) {
	s.armed = at
	s.clock.arm(at)
}

// next waits until an answer is due and returns it, or false when the schedule
// is stopped.
func (s *schedule) next() (*pending, bool) {
	for {
		s.mu.Lock()
		if s.stopped {
			s.mu.Unlock()
			return nil, false
		}
		if len(s.queue) > 0 && s.queue[0].due <= s.clock.now() {
			p := heap.Pop(&s.queue).(*pending)
			s.mu.Unlock()
			return p, true
		}
		s.armed = 0
		if len(s.queue) > 0 {
			s.arm(s.queue[0].due)
		}
		s.mu.Unlock()
		s.clock.wait()
	}
}

// stop makes next return false.
func (s *schedule) stop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stopped = true
	s.arm(s.clock.now())
}

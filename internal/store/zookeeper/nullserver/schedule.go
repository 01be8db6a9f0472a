package nullserver

import "sync"

// clock is a schedule's time. wait is called by one goroutine, the others by
// any.
type clock interface {
	now() int64   // nanoseconds, never negative
	arm(at int64) // lets wait return at that time; only the last call counts
	wait()        // until the time that arm was given
	close()       // after which none of the others is called
}

// schedule holds the connections whose next answer is due later, in a heap, for
// one goroutine that sleeps until the first is. A connection stands in it once,
// because its answers keep their order.
type schedule struct {
	clock clock

	mu      sync.Mutex // guards what follows
	heap    []item
	turn    uint64
	armed   int64 // what the clock was last armed for, 0 for nothing
	stopped bool
}

// item is a connection in the heap; what is due at the same time keeps its
// order by turn.
type item struct {
	due  int64
	turn uint64
	conn *conn // nil: the script closes all connections
}

func (a item) before(b item) bool { return a.due < b.due || a.due == b.due && a.turn < b.turn }

// add lets a connection be looked at when its next answer is due.
func (s *schedule) add(due int64, c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.turn++
	s.push(item{due, s.turn, c})
	if first := s.heap[0].due; !s.stopped && (s.armed == 0 || first < s.armed) {
		s.arm(first)
	}
}

func (s *schedule) arm(at int64) {
	s.armed = at
	s.clock.arm(at)
}

// maxDue is how many connections are attended to at once: more would make the
// first late.
const maxDue = 64

// next waits until connections are due and appends them to to, or returns false
// when the schedule is stopped.
func (s *schedule) next(to []*conn) ([]*conn, bool) {
	for {
		s.mu.Lock()
		if s.stopped {
			s.mu.Unlock()
			return to, false
		}
		now := s.clock.now()
		for len(s.heap) > 0 && s.heap[0].due <= now && len(to) < maxDue {
			to = append(to, s.pop())
		}
		if len(to) == 0 {
			s.armed = 0
			if len(s.heap) > 0 {
				s.arm(s.heap[0].due)
			}
		}
		s.mu.Unlock()
		if len(to) > 0 {
			return to, true
		}
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

func (s *schedule) push(it item) {
	s.heap = append(s.heap, it)
	i := len(s.heap) - 1
	for i > 0 {
		parent := (i - 1) / 2
		if !it.before(s.heap[parent]) {
			break
		}
		s.heap[i] = s.heap[parent]
		i = parent
	}
	s.heap[i] = it
}

func (s *schedule) pop() *conn {
	top := s.heap[0].conn
	n := len(s.heap) - 1
	last := s.heap[n]
	s.heap[n] = item{}
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
		if child+1 < n && s.heap[child+1].before(s.heap[child]) {
			child++
		}
		if !s.heap[child].before(last) {
			break
		}
		s.heap[i] = s.heap[child]
		i = child
	}
	s.heap[i] = last
	return top
}

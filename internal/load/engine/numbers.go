package engine

import (
	"sync"
	"sync/atomic"
)

// mostNumbers bounds a batch of operation numbers.
const mostNumbers = 256

// span is the numbers from the first up to, and without, the end.
type span struct{ first, end uint64 }

// work is what is left of a closed loop's total. Batches shrink as it does, to
// single operations at the end, so that no client is without work while
// another loop has some that it has not begun.
type work struct {
	// wanted says that a loop found nothing left: who has numbers that it has
	// not begun gives them back.
	wanted atomic.Bool

	mu       sync.Mutex
	next     uint64
	total    uint64
	returned []span
	ended    []bool // by loop: it has neither numbers nor operations
	lastAt   int64  // when the last of the operations ended that ended loops had
}

// take returns the loop's next batch; it is empty when nothing is left.
func (w *work) take(loop, loops int) span {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n := len(w.returned); n > 0 {
		s := &w.returned[n-1]
		batch := span{s.first, s.first + 1}
		if s.first++; s.first == s.end {
			w.returned = w.returned[:n-1]
		}
		w.ended[loop] = false
		return batch
	}
	left := w.total - w.next
	if left == 0 {
		return span{}
	}
	size := min(max(left/uint64(4*loops), 1), mostNumbers)
	batch := span{w.next, w.next + size}
	w.next += size
	return batch
}

// giveBack returns numbers that were not begun.
func (w *work) giveBack(s span) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned = append(w.returned, s)
	w.wanted.Store(false)
}

// end says that a loop has no numbers and no operations any more, the last of
// which ended at the given time. It reports whether that is so of all loops,
// and when the last operation of all ended. idle is a loop without clients.
func (w *work) end(loop int, at int64, idle bool) (all bool, last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !idle && (w.next < w.total || len(w.returned) > 0) {
		return false, 0
	}
	w.ended[loop] = true
	w.lastAt = max(w.lastAt, at)
	for _, ended := range w.ended {
		if !ended {
			return false, 0
		}
	}
	return true, w.lastAt
}

// next is the number of a closed loop's next operation; ok is false when the
// total has been begun.
func (l *Loop) next() (n uint64, ok bool) {
	c := &l.closed
	if !c.bounded {
		n = c.n
		c.n += l.sched.stride
		return n, true
	}
	if c.batch.first == c.batch.end {
		s := l.cfg.Shared
		if c.batch = s.work.take(l.me(), len(s.loops)); c.batch.first == c.batch.end {
			if s.work.wanted.CompareAndSwap(false, true) {
				s.wakeOthers(l.me())
			}
			return 0, false
		}
	}
	n = c.batch.first*l.cfg.Shards + l.cfg.Shard
	c.batch.first++
	return n, true
}

// shareWork gives back numbers that this loop has not begun when another has
// none left, and lets clients go on for which there was nothing.
func (l *Loop) shareWork() {
	c := &l.closed
	if !c.bounded || l.draining {
		return
	}
	w := &l.cfg.Shared.work
	if !w.wanted.Load() {
		if n := len(c.without); n > 0 {
			// Numbers came back: each client asks again.
			clients := append(c.asking[:0], c.without...)
			c.asking, c.without = clients, c.without[:0]
			for _, client := range clients {
				l.begin(client, l.now)
			}
		}
		return
	}
	if c.batch.first < c.batch.end {
		w.giveBack(c.batch)
		c.batch = span{}
		l.cfg.Shared.wakeOthers(l.me())
		return
	}
	l.endWork()
}

// endWork closes the window of all loops when the total is done.
func (l *Loop) endWork() {
	c := &l.closed
	if !c.bounded || l.draining || c.inWindow > 0 || c.batch.first < c.batch.end {
		return
	}
	s := l.cfg.Shared
	all, at := s.work.end(l.me(), c.lastAt, len(l.cfg.Clients) == 0)
	if !all {
		return
	}
	for i, other := range s.loops {
		if i != l.me() && other != nil {
			other.closeAt(at)
		}
	}
	l.close(at)
}

// me is this loop's place among those that share the load.
func (l *Loop) me() int { return int(l.cfg.Offset) }

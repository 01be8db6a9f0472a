package engine

import (
	"sync"
	"sync/atomic"
)

// maxBatch is the maximum number of operation numbers in a batch.
const maxBatch = 256

// span is the half-open range of numbers [first, end).
type span struct{ first, end uint64 }

// work hands out the operation numbers of a closed-loop load that ends after a total number of
// operations. Event loops take the numbers in batches. The batches get smaller towards the end,
// down to one number, so that no client is idle while another event loop still has numbers that it
// has not started.
//
// Invariant: each number below total is in exactly one of four groups: not handed out yet (next or
// above), returned (in the field `returned`), in an event loop's batch, or started.
type work struct {
	// requested is set when an event loop needs a number and none is left. Then the event loops
	// that have unstarted numbers give these numbers back.
	requested atomic.Bool

	mu       sync.Mutex
	next     uint64
	total    uint64
	returned []span
	ended    []bool // by loop: the loop has no numbers left and no open operations
	lastEnd  int64  // time at which the last operation of all ended loops ended
}

// nextBatch returns the event loop's next batch, which is empty if no number is left.
func (w *work) nextBatch(loop, loops int) span {
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
	size := min(max(left/uint64(4*loops), 1), maxBatch)
	batch := span{w.next, w.next + size}
	w.next += size
	return batch
}

// giveBack takes back the numbers that an event loop had taken but not started.
func (w *work) giveBack(s span) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.returned = append(w.returned, s)
	w.requested.Store(false)
}

// endLoop must be called when an event loop has no numbers left and no open operations. The event
// loop's last operation ended at the time `at`. If all event loops have ended, `allEnded` is true
// and `last` is the time at which the last operation of all event loops ended. idle is set for an
// event loop without clients.
func (w *work) endLoop(loop int, at int64, idle bool) (allEnded bool, last int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !idle && (w.next < w.total || len(w.returned) > 0) {
		return false, 0
	}
	w.ended[loop] = true
	w.lastEnd = max(w.lastEnd, at)
	for _, ended := range w.ended {
		if !ended {
			return false, 0
		}
	}
	return true, w.lastEnd
}

// nextNumber returns the number of the event loop's next operation in a closed-loop load. ok is
// false if no number is left.
func (l *Loop) nextNumber() (n uint64, ok bool) {
	c := &l.closed
	if !c.hasTotal {
		n = c.n
		c.n += l.sched.stride
		return n, true
	}
	if c.batch.first == c.batch.end {
		s := l.cfg.Shared
		if c.batch = s.work.nextBatch(l.index(), len(s.loops)); c.batch.first == c.batch.end {
			if s.work.requested.CompareAndSwap(false, true) {
				s.wakeOthers(l.index())
			}
			return 0, false
		}
	}
	n = c.batch.first*l.cfg.Shards + l.cfg.Shard
	c.batch.first++
	return n, true
}

// shareWork gives back this loop's unstarted numbers if another loop has run out of numbers.
// Otherwise it restarts those of this loop's clients that had found no number.
func (l *Loop) shareWork() {
	c := &l.closed
	if !c.hasTotal || l.draining {
		return
	}
	w := &l.cfg.Shared.work
	if !w.requested.Load() {
		if n := len(c.idleClients); n > 0 {
			// Numbers may have been given back in the meantime, so each client requests a number
			// again.
			clients := append(c.retryingClients[:0], c.idleClients...)
			c.retryingClients, c.idleClients = clients, c.idleClients[:0]
			for _, client := range clients {
				l.startNext(client, l.now)
			}
		}
		return
	}
	if c.batch.first < c.batch.end {
		w.giveBack(c.batch)
		c.batch = span{}
		l.cfg.Shared.wakeOthers(l.index())
		return
	}
	l.endWork()
}

// endWork closes the window of all loops when all operations that the load must send have ended.
func (l *Loop) endWork() {
	c := &l.closed
	if !c.hasTotal || l.draining || c.openInWindow > 0 || c.batch.first < c.batch.end {
		return
	}
	s := l.cfg.Shared
	all, at := s.work.endLoop(l.index(), c.lastEnd, len(l.cfg.Clients) == 0)
	if !all {
		return
	}
	for i, other := range s.loops {
		if i != l.index() && other != nil {
			other.closeAt(at)
		}
	}
	l.closeWindow(at)
}

// index returns this loop's index among the loops of this process.
func (l *Loop) index() int { return int(l.cfg.Offset) }

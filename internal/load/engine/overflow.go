package engine

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// maxSpilled is the maximum number of operations in a spill. It limits the memory. Further
// operations stay in the schedules of their own loops.
const maxSpilled = 1 << 16

// spill holds due operations that their own event loop could not start, because none of its
// connections was free or the limit of operations in flight was reached. A spill is used by an open
// loop with several event loops. Any event loop that has a free connection starts these operations,
// in the order of their due times. An operation is counted as due in a second (Second.Due) only
// when an event loop takes it from the spill.
//
// Invariant: queue[head:] is ordered by due, and oldest is the first due time in queue[head:].
type spill struct {
	oldest atomic.Int64 // due time of the first operation in queue; never if the queue is empty
	// cursors holds, for each loop, a lower bound for the due times of the operations that the loop
	// may still add.
	cursors []cursor

	mu            sync.Mutex
	queue         []spilled // ordered by due
	head          int       // index of the first operation in queue
	finishedLoops int       // number of loops that will add no more operations
}

type cursor struct {
	due          atomic.Int64
	noConnection atomic.Bool // none of the loop's connections can take an operation
	_            [48]byte
}

type spilled struct {
	n     uint64
	due   int64
	phase measure.Phase
	loop  int // index of the loop whose schedule contains the operation
}

func (s *spill) init(loops int) {
	s.cursors = make([]cursor, loops)
	s.oldest.Store(never)
}

// add adds an operation. It returns false if the queue is full.
func (s *spill) add(o spilled) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue)-s.head >= maxSpilled {
		return false
	}
	if s.head > len(s.queue)/2 {
		s.queue, s.head = s.queue[:copy(s.queue, s.queue[s.head:])], 0
	}
	s.queue = append(s.queue, o)
	// Each loop adds its operations in order, so the new operation has to move forward only a
	// little.
	for i := len(s.queue) - 1; i > s.head && s.queue[i-1].due > o.due; i-- {
		s.queue[i], s.queue[i-1] = s.queue[i-1], o
	}
	s.oldest.Store(s.queue[s.head].due)
	return true
}

// takeFirst removes and returns the first operation in the queue, if that operation was due before
// the given time.
func (s *spill) takeFirst(before int64) (o spilled, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.head == len(s.queue) || s.queue[s.head].due >= before {
		return spilled{}, false
	}
	o = s.queue[s.head]
	if s.head++; s.head == len(s.queue) {
		s.queue, s.head = s.queue[:0], 0
		s.oldest.Store(never)
	} else {
		s.oldest.Store(s.queue[s.head].due)
	}
	return o, true
}

// leave must be called when a loop will add no more operations. It reports whether all other loops
// had already left.
func (s *spill) leave() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finishedLoops++
	return s.finishedLoops == len(s.cursors)
}

// countBefore returns the number of a loop's operations in the queue that were due before `at`, and
// the earliest of their due times.
func (s *spill) countBefore(loop int, at int64) (count uint64, oldest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest = at
	for _, o := range s.queue[s.head:] {
		if o.loop == loop && o.due < at {
			count, oldest = count+1, min(oldest, o.due)
		}
	}
	return count, oldest
}

// pending returns a lower bound for the due times of the operations that no loop has counted yet.
func (s *spill) pending() int64 {
	at := int64(math.MaxInt64)
	// Read the cursors first: a loop advances its cursor only after it has added its operations.
	for i := range s.cursors {
		at = min(at, s.cursors[i].due.Load())
	}
	return min(at, s.oldest.Load())
}

// spillDue moves the operations that are due before `end` from the schedule to the spill, because
// this loop cannot start them.
func (l *Loop) spillDue(end int64) {
	s := &l.cfg.Shared.spill
	for l.sched.due < end {
		o := spilled{n: l.sched.n, due: l.sched.due, phase: l.clock.phases[l.sched.phase].Kind, loop: l.index()}
		if !s.add(o) {
			break
		}
		l.sched.step()
	}
	if l.blockedBy == blockedByConnections && s.oldest.Load() < end {
		s.cursors[l.index()].noConnection.Store(true)
		l.wakeFreeLoop()
	}
}

// wakeFreeLoop wakes a loop that may have a free connection.
func (l *Loop) wakeFreeLoop() {
	s := l.cfg.Shared
	for k := 1; k < len(s.loops); k++ {
		if i := (l.index() + k) % len(s.loops); !s.spill.cursors[i].noConnection.Load() {
			s.wake(i)
			return
		}
	}
}

// abandonSpilled counts the spilled operations that no loop had started by the time all loops had
// closed their windows. The loop that closed its window last calls abandonSpilled.
func (l *Loop) abandonSpilled(at int64) {
	if !l.abandoned.spill {
		return
	}
	for {
		o, ok := l.cfg.Shared.spill.takeFirst(never)
		if !ok {
			return
		}
		l.countNeverSent(l.secs.dueIn(o.phase, o.due), span{o.n, o.n + 1}, 1, at-o.due)
	}
}

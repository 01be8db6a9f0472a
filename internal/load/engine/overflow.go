package engine

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// mostSpilled limits the memory for operations that are due and that no loop can start.
// Further ones stay in the schedules of their own loops.
const mostSpilled = 1 << 16

// spill holds operations of an open loop with several event loops that are due and that
// their own loop could not start: none of its connections was free, or the limit was
// reached. Any loop that can starts them, in the order of their due times. An operation
// is counted in a second (Second.Due) only when a loop takes it.
//
// Invariant: queue[head:] is ordered by due, and oldest is the first due time in it.
type spill struct {
	oldest atomic.Int64 // due time of the first operation; never if there is none
	// cursors has, for each loop, a time before which the loop adds nothing any more.
	cursors []cursorAt

	mu     sync.Mutex
	queue  []spilled // ordered by due
	head   int       // index of the first operation in queue
	closed int       // number of loops that add nothing any more
}

type cursorAt struct {
	due  atomic.Int64
	full atomic.Bool // none of the loop's connections can take an operation
	_    [48]byte
}

type spilled struct {
	n     uint64
	due   int64
	phase measure.Phase
	from  int // the loop whose schedule it belongs to
}

func (s *spill) init(loops int) {
	s.cursors = make([]cursorAt, loops)
	s.oldest.Store(never)
}

// add adds an operation, and reports false if there is no space for it.
func (s *spill) add(o spilled) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.queue)-s.head >= mostSpilled {
		return false
	}
	if s.head > len(s.queue)/2 {
		s.queue, s.head = s.queue[:copy(s.queue, s.queue[s.head:])], 0
	}
	s.queue = append(s.queue, o)
	// Each loop adds in order, so the new operation moves only a little.
	for i := len(s.queue) - 1; i > s.head && s.queue[i-1].due > o.due; i-- {
		s.queue[i], s.queue[i-1] = s.queue[i-1], o
	}
	s.oldest.Store(s.queue[s.head].due)
	return true
}

// takeFirst removes and returns the operation that was due first, if that was before a time.
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

// leave records that a loop adds nothing any more, and reports whether it was the last.
func (s *spill) leave() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return s.closed == len(s.cursors)
}

// countBefore returns the number of a loop's operations that were due before at, and the
// earliest of their due times.
func (s *spill) countBefore(loop int, at int64) (count uint64, oldest int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest = at
	for _, o := range s.queue[s.head:] {
		if o.from == loop && o.due < at {
			count, oldest = count+1, min(oldest, o.due)
		}
	}
	return count, oldest
}

// pending returns the earliest due time that an operation can have that no loop has
// counted.
func (s *spill) pending() int64 {
	at := int64(math.MaxInt64)
	// Read the cursors first: a loop advances its cursor only after it has added.
	for i := range s.cursors {
		at = min(at, s.cursors[i].due.Load())
	}
	return min(at, s.oldest.Load())
}

// spillDue adds the operations that are due before end and that this loop cannot start.
func (l *Loop) spillDue(end int64) {
	s := &l.cfg.Shared.spill
	for l.sched.due < end {
		o := spilled{n: l.sched.n, due: l.sched.due, phase: l.clock.phases[l.sched.phase].Kind, from: l.index()}
		if !s.add(o) {
			break
		}
		l.sched.step()
	}
	if l.blockedBy == byConnections && s.oldest.Load() < end {
		s.cursors[l.index()].full.Store(true)
		l.passOn()
	}
}

// passOn wakes a loop that may have a free connection.
func (l *Loop) passOn() {
	s := l.cfg.Shared
	for k := 1; k < len(s.loops); k++ {
		if i := (l.index() + k) % len(s.loops); !s.spill.cursors[i].full.Load() {
			s.wake(i)
			return
		}
	}
}

// abandonSpilled counts the operations that no loop could start until all loops had
// closed. The loop that closed last counts them.
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

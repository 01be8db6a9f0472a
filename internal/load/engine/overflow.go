package engine

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// mostSpilled bounds the memory of what is due and no loop can take: what comes
// beyond it stays in the schedule of its own loop.
const mostSpilled = 1 << 16

// spill is what is due in an open loop of several loops and could not be taken
// up by its own: no connection of that loop was free, or the limit was reached.
// Whichever loop can takes it, what was due first first. It is in nobody's
// books until it is taken.
type spill struct {
	oldest atomic.Int64 // when the first was due; never when there is none
	// cursors has, by loop, a time before which it has nothing to add any more.
	cursors []cursorAt

	mu     sync.Mutex
	queue  []spilled // in the order of due
	head   int
	closed int // loops that add nothing any more
}

type cursorAt struct {
	due  atomic.Int64
	full atomic.Bool // no connection of this loop can take anything
	_    [48]byte
}

type spilled struct {
	n     uint64
	due   int64
	phase measure.Phase
	from  int // the loop whose it is
}

func (s *spill) init(loops int) {
	s.cursors = make([]cursorAt, loops)
	s.oldest.Store(never)
}

// add reports whether there was space for it.
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
	// Each loop adds in order, so that little is out of it.
	for i := len(s.queue) - 1; i > s.head && s.queue[i-1].due > o.due; i-- {
		s.queue[i], s.queue[i-1] = s.queue[i-1], o
	}
	s.oldest.Store(s.queue[s.head].due)
	return true
}

// take takes what was due first, if that was before the given time.
func (s *spill) take(before int64) (o spilled, ok bool) {
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

// leave says that a loop adds nothing any more; last is true for the last.
func (s *spill) leave() (last bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed++
	return s.closed == len(s.cursors)
}

// before counts a loop's operations that were due before a time, and when the
// first of them was.
func (s *spill) before(loop int, at int64) (count uint64, oldest int64) {
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

// pending is the earliest time at which an operation can be due that is in
// nobody's books yet.
func (s *spill) pending() int64 {
	at := int64(math.MaxInt64)
	// The cursors first: one has moved on only after what it added was there.
	for i := range s.cursors {
		at = min(at, s.cursors[i].due.Load())
	}
	return min(at, s.oldest.Load())
}

// spillDue adds what is due before the given time and could not be taken up.
func (l *Loop) spillDue(end int64) {
	s := &l.cfg.Shared.spill
	for l.sched.due < end {
		o := spilled{n: l.sched.n, due: l.sched.due, phase: l.clock.phases[l.sched.phase].Kind, from: l.me()}
		if !s.add(o) {
			break
		}
		l.sched.step()
	}
	if l.blockedBy == byConnections && s.oldest.Load() < end {
		s.cursors[l.me()].full.Store(true)
		l.passOn()
	}
}

// passOn wakes a loop that may have a connection for what is due.
func (l *Loop) passOn() {
	s := l.cfg.Shared
	for k := 1; k < len(s.loops); k++ {
		if i := (l.me() + k) % len(s.loops); !s.spill.cursors[i].full.Load() {
			s.wake(i)
			return
		}
	}
}

// abandonSpilled ends what was due and no loop took until all had closed. It is
// in the books of the loop that closed last.
func (l *Loop) abandonSpilled(at int64) {
	if !l.abandoned.spill {
		return
	}
	for {
		o, ok := l.cfg.Shared.spill.take(never)
		if !ok {
			return
		}
		l.neverSent(l.secs.dueIn(o.phase, o.due), span{o.n, o.n + 1}, 1, at-o.due)
	}
}

package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
)

// none is the tag that marks the end of a list of slots.
const none = ^uint32(0)

// slot is an operation between its start and its end. The slot's index in the table is the tag by
// which the codec identifies the operation.
//
// A slot passes through these states:
//
//	free → waiting → submitted → written → free
//	                     │           └──→ late → free   (timed out; its reply is still awaited)
//	                     └──→ waiting                   (connection lost before the write)
//
// An operation skips the state waiting if its connection accepts it at once. An operation that
// fails can end in any state.
type slot struct {
	due, sent int64
	// Open loop: the earliest time at which the operation could start. This is `due` unless the
	// operation was blocked.
	readyAt    int64
	start      int64 // when the timeout began: at `sent` or, until then, when the wait began
	writePause int64 // longest pause of the loop from sent to the end of the write call
	n, ref     uint64
	term       uint64 // the leader's term when the operation was sent
	expected   int64  // the version that a compare-and-set requires
	acc        *second
	conn       int32
	client     int32 // closed loop: index of the client; -1 in an open loop
	state      slotState
	kind       kv.Kind
	level      kv.Consistency
	measured   bool
	queued     bool // closed loop: the operation had to wait for its connection
	exempt     bool // open loop: its place has moved, so it does not count towards the limit
	// The operation creates a key that the store deletes when the session ends. Set only if the
	// load has a history.
	ephemeral  bool
	prev, next uint32 // list of timeouts, ordered by start
}

type slotState uint8

const (
	free      slotState = iota
	waiting             // waits for room on its connection
	submitted           // encoded, not written
	written             // at least partly written
	late                // was given up, but its codec still awaits the reply
)

// connRoom reports whether the end of an operation makes room on its connection.
type connRoom bool

const (
	roomFree  connRoom = true
	roomTaken connRoom = false // the operation's late reply is still awaited
)

// slots is the table of operations in flight, and the list of their timeouts.
//
// Invariant: the list contains every slot that is neither free nor late, and `open` is the number
// of these slots.
//
// Invariant: `start` never decreases along the list, so the first operation in the list is always
// the next to time out.
type slots struct {
	table      []slot
	unused     []uint32
	head, tail uint32
	open       int // number of slots in the list
}

func newSlots(n int) slots {
	s := slots{head: none, tail: none}
	s.grow(max(n, 16))
	return s
}

func (s *slots) grow(n int) {
	old := len(s.table)
	table := make([]slot, old+n)
	copy(table, s.table)
	s.table = table
	unused := make([]uint32, len(s.unused), old+n)
	copy(unused, s.unused)
	for i := old + n - 1; i >= old; i-- {
		unused = append(unused, uint32(i))
	}
	s.unused = unused
}

// take returns the tag of an unused slot.
func (s *slots) take() uint32 {
	if len(s.unused) == 0 {
		s.grow(len(s.table))
	}
	tag := s.unused[len(s.unused)-1]
	s.unused = s.unused[:len(s.unused)-1]
	s.open++
	return tag
}

// finish removes the slot from the list of timeouts. The slot becomes free, or stays late until its
// reply arrives.
func (s *slots) finish(tag uint32, room connRoom) {
	sl := &s.table[tag]
	s.unlink(sl)
	s.open--
	if room == roomTaken {
		sl.state = late
		return
	}
	sl.state, sl.acc = free, nil
	s.unused = append(s.unused, tag)
}

// releaseLate frees the slots of the late operations on a connection that has ended, because their
// replies can no longer arrive.
func (s *slots) releaseLate(conn int) {
	for tag := range s.table {
		if sl := &s.table[tag]; sl.state == late && int(sl.conn) == conn {
			s.release(uint32(tag))
		}
	}
}

// requeue moves the operations that wait in `queue` from one connection to another.
func (s *slots) requeue(queue []waiter, from, to int) {
	for _, w := range queue {
		if sl := &s.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == from {
			sl.conn = int32(to)
		}
	}
}

// exemptFromLimit marks an open loop's open operations on a connection as exempt, and returns their
// number.
func (s *slots) exemptFromLimit(conn int) (exempted int) {
	for k := range s.table {
		if sl := &s.table[k]; sl.isOpenOn(conn) && sl.client < 0 && !sl.exempt {
			sl.exempt = true
			exempted++
		}
	}
	return exempted
}

// clientsWaitingOn returns how many clients of a closed loop wait for replies on a connection.
func (s *slots) clientsWaitingOn(conn int) (clients int) {
	for k := range s.table {
		if sl := &s.table[k]; sl.isOpenOn(conn) && sl.client >= 0 {
			clients++
		}
	}
	return clients
}

// isOpenOn reports whether the operation was submitted to the connection and still waits for its
// reply.
func (sl *slot) isOpenOn(conn int) bool {
	return int(sl.conn) == conn && (sl.state == submitted || sl.state == written)
}

// release frees a slot that is not in the list of timeouts.
func (s *slots) release(tag uint32) {
	s.table[tag].state = free
	s.table[tag].acc = nil
	s.unused = append(s.unused, tag)
}

// link appends the slot to the list of timeouts. If `start` is earlier than the start of the last
// slot in the list, link uses the last slot's start. This can happen in the following order: a
// reply is read, another operation is sent, and then the reply is processed and starts a new
// operation.
func (s *slots) link(tag uint32, start int64) {
	sl := &s.table[tag]
	if s.tail != none {
		start = max(start, s.table[s.tail].start)
	}
	sl.start, sl.prev, sl.next = start, s.tail, none
	if s.tail == none {
		s.head = tag
	} else {
		s.table[s.tail].next = tag
	}
	s.tail = tag
}

// unlink removes the slot from the list of timeouts.
func (s *slots) unlink(sl *slot) {
	if sl.prev == none {
		s.head = sl.next
	} else {
		s.table[sl.prev].next = sl.next
	}
	if sl.next == none {
		s.tail = sl.prev
	} else {
		s.table[sl.next].prev = sl.prev
	}
}

package engine

import (
	"github.com/quorumbench/quorumbench/internal/kv"
)

// none is the end of a list of slots.
const none = ^uint32(0)

// slot is an operation from when it is taken up until it has ended. Its index
// is the operation's tag.
type slot struct {
	due, sent  int64
	ready      int64 // open loop: when it could first be taken up; due unless it had to wait
	start      int64 // what the timeout counts from: sent, or due while it waits
	held       int64 // how long the loop paused at most between sent and the write call's end
	n, ref     uint64
	term       uint64 // when it was sent
	expected   int64  // a compare-and-set's condition
	acc        *second
	conn       int32
	client     int32 // closed loop: index in clients; -1 in an open loop
	state      slotState
	kind       kv.Kind
	level      kv.Consistency
	measured   bool
	queued     bool   // closed loop: it had to wait for its connection
	owed       bool   // open loop: its place has moved, and it does not count to the limit
	owned      bool   // it makes a key that ends with its session; for the history alone
	prev, next uint32 // the list of timeouts, in the order of start
}

type slotState uint8

const (
	free      slotState = iota
	waiting             // for room on its connection
	submitted           // encoded, not written
	written             // at least partly written
	late                // given up, but its place is not free yet
)

// place says whether an operation that ends leaves its place on its connection.
type place bool

const (
	placeFree  place = true
	placeTaken place = false // its late answer is awaited
)

// slots is the table of operations in flight and the list of their timeouts.
type slots struct {
	table      []slot
	unused     []uint32
	head, tail uint32
	open       int // not free and not late
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

// take returns an unused slot's tag.
func (s *slots) take() uint32 {
	if len(s.unused) == 0 {
		s.grow(len(s.table))
	}
	tag := s.unused[len(s.unused)-1]
	s.unused = s.unused[:len(s.unused)-1]
	s.open++
	return tag
}

// finish takes the slot from the list of timeouts. It can be taken again when
// its place is free.
func (s *slots) finish(tag uint32, at place) {
	sl := &s.table[tag]
	s.unlink(sl)
	s.open--
	if at == placeTaken {
		sl.state = late
		return
	}
	sl.state, sl.acc = free, nil
	s.unused = append(s.unused, tag)
}

// releaseLate frees the places of operations whose late answers cannot come any
// more, because their connection has ended.
func (s *slots) releaseLate(conn int) {
	for tag := range s.table {
		if sl := &s.table[tag]; sl.state == late && int(sl.conn) == conn {
			s.release(uint32(tag))
		}
	}
}

// requeue gives operations that wait for a connection to another.
func (s *slots) requeue(queue []waiter, from, to int) {
	for _, w := range queue {
		if sl := &s.table[w.tag]; sl.state == waiting && sl.n == w.n && int(sl.conn) == from {
			sl.conn = int32(to)
		}
	}
}

// owe marks the operations of an open loop that are open on a connection, and
// returns how many there are.
func (s *slots) owe(conn int) (owed int) {
	for k := range s.table {
		if sl := &s.table[k]; sl.openOn(conn) && sl.client < 0 && !sl.owed {
			sl.owed = true
			owed++
		}
	}
	return owed
}

// heldBy is how many clients of a closed loop wait for a connection's answers.
func (s *slots) heldBy(conn int) (clients int) {
	for k := range s.table {
		if sl := &s.table[k]; sl.openOn(conn) && sl.client >= 0 {
			clients++
		}
	}
	return clients
}

// openOn reports whether the connection has it, and its answer is awaited.
func (sl *slot) openOn(conn int) bool {
	return int(sl.conn) == conn && (sl.state == submitted || sl.state == written)
}

func (s *slots) release(tag uint32) {
	s.table[tag].state = free
	s.table[tag].acc = nil
	s.unused = append(s.unused, tag)
}

// link puts the slot at the end of the list of timeouts, whose start never
// decreases: what was read a moment before another operation was sent and is
// acted on after it begins with that one's start.
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

// unlink takes the slot from the list of timeouts.
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

package h2

// stream is a long stream, or a call that has no response yet. It is stored in Conn.table.
type stream struct {
	id           uint32 // 0 if the table entry is free
	tag          uint32
	sub          uint8
	state        state
	prefixBytes  uint8   // how many bytes of prefix have arrived
	prefix       [5]byte // the message's prefix: compression flag and length
	unackedBytes uint32  // if isLong: bytes of DATA received since the stream's last WINDOW_UPDATE
	end          uint64  // end of the request, as an offset in the complete output of the connection
	// window is the send window. It is used only while isLong is set and isBlocked is not set.
	window int64
	msg    []byte // the part of the response's message that has arrived
}

// state is a set of flags.
type state uint8

const (
	gotHeaders state = 1 << iota // the first HEADERS frame of the response has arrived
	isComplete                   // msg is the complete message
	isInPlace                    // msg points into the input of Feed
	isPooled                     // msg is a buffer from Conn.budget
	isBlocked                    // a part of the request waits in Conn.blocked
	isLong                       // opened by OpenStream
	halfClosed                   // if isLong: CloseSend was called
)

// unfinished is the value of stream.end while the output does not yet contain the whole request.
const unfinished = 1<<64 - 1

// find returns the open stream with the given ID, or nil if there is none.
func (c *Conn) find(id uint32) *stream {
	if s := &c.table[id>>1&c.mask]; s.id == id && id != 0 {
		return s
	}
	return nil
}

// allocStream opens a stream with the ID c.next and then advances c.next. It skips IDs whose table
// entries are still used by older streams; a client need not use every ID (RFC 9113, section
// 5.1.1). So no two streams share an entry, and the table never needs more than twice as many
// entries as there are open streams.
func (c *Conn) allocStream(tag uint32, sub uint8) *stream {
	if 2*c.open >= len(c.table) {
		c.growTable()
	}
	s := &c.table[c.next>>1&c.mask]
	s.id, s.tag, s.sub = c.next, tag, sub
	s.state, s.prefixBytes, s.unackedBytes = 0, 0, 0
	c.open++
	c.next += 2
	for c.table[c.next>>1&c.mask].id != 0 {
		c.next += 2
	}
	return s
}

// growTable doubles the table. Streams that have different entries in the old table also have
// different entries in the larger one, and the entry for the next ID is free.
func (c *Conn) growTable() {
	old := c.table
	c.table = make([]stream, 2*len(old))
	c.mask = uint32(len(c.table) - 1)
	for i := range old {
		if id := old[i].id; id != 0 {
			c.table[id>>1&c.mask] = old[i]
		}
	}
}

// closeStream frees a stream's table entry. A reply may still refer to the stream's message.
func (c *Conn) closeStream(s *stream) {
	c.idle = 0
	switch {
	case s.state&isInPlace != 0:
		c.inPlaceCount--
	case s.state&isPooled != 0:
		c.budget.Release(s.msg)
	}
	if s.state&isBlocked != 0 {
		c.unblock(s.id)
	}
	s.id, s.msg = 0, nil
	c.open--
}

// eachInOrder calls f for every open stream, oldest first. If the range of open stream IDs exceeds
// twice the length of the table, the order is approximate.
func (c *Conn) eachInOrder(f func(*stream)) {
	c.seekOldest()
	for i := range c.table {
		if s := &c.table[(c.oldest>>1+uint32(i))&c.mask]; s.id != 0 {
			f(s)
		}
	}
}

// seekOldest advances c.oldest to the first open stream. Over the lifetime of the connection, it
// visits each ID only once.
func (c *Conn) seekOldest() {
	for c.oldest < c.next && c.find(c.oldest) == nil {
		c.oldest += 2
	}
}

// Cancel cancels the call with the given tag and informs the server. Later frames for the call are
// ignored. Cancel returns false if no such call is open. It does not cancel long streams.
func (c *Conn) Cancel(tag uint32) bool {
	// Calls are usually canceled in the order in which they were started, which is also their order
	// in the table. So the search usually ends early.
	c.seekOldest()
	for i := range c.table {
		s := &c.table[(c.oldest>>1+uint32(i))&c.mask]
		if s.id == 0 || s.tag != tag || s.state&isLong != 0 {
			continue
		}
		c.out = AppendRSTStream(c.out, s.id, ErrCodeCancel)
		c.closeStream(s)
		return true
	}
	return false
}

package h2

// stream is a call that awaits its response, or a long stream. It is stored in Conn.table.
type stream struct {
	id    uint32 // 0: the table entry is free
	tag   uint32
	sub   uint8
	state state
	npre  uint8   // bytes of pre that arrived
	pre   [5]byte // the message's prefix: compressed, length
	got   uint32  // isLong: bytes of DATA since the last WINDOW_UPDATE of the stream
	end   uint64  // position in the output after the request's last byte
	// window is the flow-control window for sending, if isLong and not isBlocked.
	window int64
	msg    []byte // the response's message, as far as it arrived
}

// state is a set of flags.
type state uint8

const (
	gotHeaders state = 1 << iota // the response's first HEADERS arrived
	complete                     // msg is the complete message
	inPlace                      // msg is a part of Feed's input
	pooled                       // msg is a buffer of Conn.parts
	isBlocked                    // a part of the request waits in Conn.blocked
	isLong                       // opened by OpenStream
	halfClosed                   // isLong: CloseSend was called
)

// unfinished is the end of a request that is not yet completely in the output.
const unfinished = 1<<64 - 1

// find returns the open stream with the id, or nil.
func (c *Conn) find(id uint32) *stream {
	if s := &c.table[id>>1&c.mask]; s.id == id && id != 0 {
		return s
	}
	return nil
}

// allocStream takes the table entry of the next stream and chooses the id after it. If an older
// stream still occupies the entry of an id, allocStream skips that id; a client need not use every
// id (RFC 9113, section 5.1.1). So the table needs no chains, and at most twice as many entries as
// there are open streams.
func (c *Conn) allocStream(tag uint32, sub uint8) *stream {
	if 2*c.open >= len(c.table) {
		c.growTable()
	}
	s := &c.table[c.next>>1&c.mask]
	s.id, s.tag, s.sub = c.next, tag, sub
	s.state, s.npre, s.got = 0, 0, 0
	c.open++
	c.next += 2
	for c.table[c.next>>1&c.mask].id != 0 {
		c.next += 2
	}
	return s
}

// growTable doubles the table. Streams with different entries have different ones in the larger
// table, too, and the entry of the next id is free.
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

// closeStream frees a stream's table entry. A reply may still point into its message.
func (c *Conn) closeStream(s *stream) {
	c.idle = 0
	switch {
	case s.state&inPlace != 0:
		c.nheld--
	case s.state&pooled != 0:
		c.parts.GiveBack(s.msg)
	}
	if s.state&isBlocked != 0 {
		c.unblock(s.id)
	}
	s.id, s.msg = 0, nil
	c.open--
}

// eachInOrder calls f for every open stream, the oldest first. The order is not exact if the open
// ids differ by more than the length of the table.
func (c *Conn) eachInOrder(f func(*stream)) {
	c.seekOldest()
	for i := range c.table {
		if s := &c.table[(c.oldest>>1+uint32(i))&c.mask]; s.id != 0 {
			f(s)
		}
	}
}

// seekOldest advances oldest to the first open stream. Over the life of a connection it visits each
// id once.
func (c *Conn) seekOldest() {
	for c.oldest < c.next && c.find(c.oldest) == nil {
		c.oldest += 2
	}
}

// Cancel cancels the call with the tag and informs the server. Later frames of the call are
// ignored. It reports whether such a call was open; it does not cancel long streams.
func (c *Conn) Cancel(tag uint32) bool {
	// Calls are cancelled roughly in the order in which they were made, and the table has the same
	// order, so the search ends early.
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

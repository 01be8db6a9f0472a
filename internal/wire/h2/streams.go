package h2

// stream is a call whose answer is awaited, or one that stays open. It has a
// place in Conn.table.
type stream struct {
	id    uint32 // 0: the place is free
	tag   uint32
	sub   uint8
	state state
	npre  uint8   // bytes of pre that came
	pre   [5]byte // the message's prefix: compressed, length
	got   uint32  // isLong: bytes of DATA that its window was not topped up for
	end   uint64  // position in the output after the request's last byte
	// window is what may be sent on it, if isLong and not isBlocked.
	window int64
	msg    []byte // the answer's message, or as much of it as came
}

// state is a set of flags.
type state uint8

const (
	gotHeaders state = 1 << iota // the answer's first HEADERS came
	whole                        // msg is the whole message
	inPlace                      // msg lies in what Feed was given
	pooled                       // msg lies in a buffer of ours
	isBlocked                    // a part of the request waits in Conn.blocked
	isLong                       // OpenStream opened it
	halfClosed                   // of a long one: CloseSend was called
)

// unfinished is the end of a request that is not in the output as a whole.
const unfinished = 1<<64 - 1

// find returns the open stream with the id, or nil.
func (c *Conn) find(id uint32) *stream {
	if s := &c.table[id>>1&c.mask]; s.id == id && id != 0 {
		return s
	}
	return nil
}

// opens takes the place of the next stream and chooses the one after it. An
// old stream may still sit on a later id's place: that id is left out, for a
// client need not use every id (RFC 9113, section 5.1.1). So the table needs
// neither chains nor more places than twice the streams open.
func (c *Conn) opens(tag uint32, sub uint8) *stream {
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

// growTable doubles the table. Streams that had places of their own have them
// afterwards too, and so has the next.
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

// closes frees a stream's place. A reply may still point into its message.
func (c *Conn) closes(s *stream) {
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

// eachInOrder calls f with every open stream, from the oldest on (unless more
// ids than the table is long lie between them).
func (c *Conn) eachInOrder(f func(*stream)) {
	c.seekOldest()
	for i := range c.table {
		if s := &c.table[(c.oldest>>1+uint32(i))&c.mask]; s.id != 0 {
			f(s)
		}
	}
}

// seekOldest moves oldest up to the first open stream. Each id is passed once
// in a connection's life.
func (c *Conn) seekOldest() {
	for c.oldest < c.next && c.find(c.oldest) == nil {
		c.oldest += 2
	}
}

// Cancel gives up the call with the tag and informs the server. What still
// comes for it is ignored. It reports whether such a call was open; long
// streams are none.
func (c *Conn) Cancel(tag uint32) bool {
	// Calls are given up in about the order in which they were made, and the
	// places are in that order too, so the search ends early.
	c.seekOldest()
	for i := range c.table {
		s := &c.table[(c.oldest>>1+uint32(i))&c.mask]
		if s.id == 0 || s.tag != tag || s.state&isLong != 0 {
			continue
		}
		c.out = AppendRSTStream(c.out, s.id, ErrCodeCancel)
		c.closes(s)
		return true
	}
	return false
}

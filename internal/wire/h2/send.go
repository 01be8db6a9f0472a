package h2

// blocked is a request of which a part waits for a window, or for a place
// behind such a one.
type blocked struct {
	id     uint32
	body   []byte // prefix and message
	at     int    // of body, written
	window int64  // the stream's; negative after SETTINGS made it smaller
	goesOn bool   // the stream stays open behind it
}

// pump moves what the windows allow from the blocked requests to the output,
// the oldest first.
func (c *Conn) pump() {
	if c.connWindow <= 0 {
		return
	}
	kept := c.blocked[:0]
	for i := range c.blocked {
		b := &c.blocked[i]
		c.pumpOne(b)
		if b.at < len(b.body) {
			kept = append(kept, *b)
			continue
		}
		s := c.find(b.id)
		s.state &^= isBlocked
		s.window = b.window
		s.end = c.origin + uint64(len(c.out))
		c.release(b.body)
	}
	clear(c.blocked[len(kept):])
	c.blocked = kept
}

func (c *Conn) pumpOne(b *blocked) {
	for b.at < len(b.body) {
		n := min(int64(len(b.body)-b.at), int64(c.maxFrame), b.window, c.connWindow)
		if n <= 0 {
			return
		}
		part := b.body[b.at : b.at+int(n)]
		var flags byte
		if b.at += int(n); b.at == len(b.body) && !b.goesOn {
			flags = FlagEndStream
		}
		c.out = AppendFrameHeader(c.out, len(part), FrameData, flags, b.id)
		c.out = append(c.out, part...)
		b.window -= n
		c.connWindow -= n
		c.blockedLen -= int(n)
	}
}

// unblock forgets what waits of a stream's request.
func (c *Conn) unblock(id uint32) {
	for i := range c.blocked {
		if b := &c.blocked[i]; b.id == id {
			c.blockedLen -= len(b.body) - b.at
			c.release(b.body)
			c.blocked = append(c.blocked[:i], c.blocked[i+1:]...)
			return
		}
	}
}

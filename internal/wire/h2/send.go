package h2

// blocked is the part of a request that waits for a flow-control window, or for earlier data on its
// stream.
type blocked struct {
	id         uint32
	body       []byte // messages with their prefixes
	movedBytes int    // how many bytes of body have been moved to the output
	window     int64  // the stream's send window; SETTINGS can make it negative
	staysOpen  bool   // the stream stays open after body
}

// pump moves waiting bytes to the output, oldest first, as far as the windows allow.
func (c *Conn) pump() {
	if c.connWindow <= 0 {
		return
	}
	remaining := c.blocked[:0]
	for i := range c.blocked {
		b := &c.blocked[i]
		c.pumpOne(b)
		if b.movedBytes < len(b.body) {
			remaining = append(remaining, *b)
			continue
		}
		s := c.find(b.id)
		s.state &^= isBlocked
		s.window = b.window
		s.end = c.origin + uint64(len(c.out))
		c.release(b.body)
	}
	clear(c.blocked[len(remaining):])
	c.blocked = remaining
}

func (c *Conn) pumpOne(b *blocked) {
	for b.movedBytes < len(b.body) {
		n := min(int64(len(b.body)-b.movedBytes), int64(c.maxFrame), b.window, c.connWindow)
		if n <= 0 {
			return
		}
		part := b.body[b.movedBytes : b.movedBytes+int(n)]
		var flags byte
		if b.movedBytes += int(n); b.movedBytes == len(b.body) && !b.staysOpen {
			flags = FlagEndStream
		}
		c.out = AppendFrameHeader(c.out, len(part), FrameData, flags, b.id)
		c.out = append(c.out, part...)
		b.window -= n
		c.connWindow -= n
		c.blockedLen -= int(n)
	}
}

// unblock discards the waiting bytes of the stream with the given ID.
func (c *Conn) unblock(id uint32) {
	for i := range c.blocked {
		if b := &c.blocked[i]; b.id == id {
			c.blockedLen -= len(b.body) - b.movedBytes
			c.release(b.body)
			c.blocked = append(c.blocked[:i], c.blocked[i+1:]...)
			return
		}
	}
}

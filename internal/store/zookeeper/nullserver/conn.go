package nullserver

import (
	"encoding/binary"
	"net"

	"github.com/quorumbench/quorumbench/internal/store/null/nullnet"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
)

// Sizes of one connection's buffers, in bytes.
const (
	maxRequest = 16 << 20 // of one request, far above jute.maxbuffer
	flushAt    = 256 << 10
)

// conn is a connection. One goroutine reads; answers that are due later are
// released by the server's schedule.
type conn struct {
	nullnet.Writer // of out; its lock guards what follows
	server         *server
	session        session
	out            []byte // to be written
	closing        bool   // close the connection when out is written
	later          []byte // answers that wait for their time, in order
	marks          []mark // of later
	scheduled      bool   // the schedule has this connection
	taken          uint64 // operations
	silent         bool   // nothing is answered any more
}

// mark says when the bytes of later up to end are due.
type mark struct {
	due   int64
	end   int
	close bool // the connection is closed then
}

func newConn(s *server, member int, nc net.Conn) *conn {
	c := &conn{server: s, session: session{server: s, tree: s.tree, member: member}}
	c.Init(s.Base, nc, &c.out, &c.closing)
	return c
}

// Serve implements nullnet.Conn.
func (c *conn) Serve() { c.Feed(c.take) }

// frameLen is the length of the frame that b begins with; 0 if that is not
// known yet.
func frameLen(b []byte) int {
	if len(b) < 4 {
		return 0
	}
	return 4 + int(binary.BigEndian.Uint32(b))
}

// take answers the complete frames of in. It reports how much that was, how
// long the next is, and whether the connection goes on.
func (c *conn) take(in []byte) (used, need int, goesOn bool) {
	var now int64
	if c.server.Run != nil {
		now = c.server.Clock.Now()
	}
	c.Lock()
	defer c.Unlock()
	tree, all := c.session.tree, c.session.tree.All()
	tree.Lock(all)
	for !c.Over() && !c.closing {
		n := c.step(in[used:], now)
		if n == 0 {
			break
		}
		if used += n; len(c.out) > flushAt {
			tree.Unlock(all)
			c.Flush(true)
			tree.Lock(all)
		}
	}
	tree.Unlock(all)
	c.Settle()
	return used, frameLen(in[used:]), !c.Over()
}

// release moves the answers that are due to the output, and lets the schedule
// come again for the next.
func (c *conn) release(now int64) {
	n, end := 0, 0
	for n < len(c.marks) && c.marks[n].due <= now && !c.closing {
		end, c.closing = c.marks[n].end, c.marks[n].close
		n++
	}
	if n > 0 {
		c.out = append(c.out, c.later[:end]...)
		c.later = c.later[:copy(c.later, c.later[end:])]
		c.marks = c.marks[:copy(c.marks, c.marks[n:])]
		for i := range c.marks {
			c.marks[i].end -= end
		}
	}
	if len(c.marks) > 0 && !c.closing && !c.scheduled {
		c.scheduled = true
		c.server.Later(timer.Item[*conn]{Due: c.marks[0].due, What: c})
	}
}

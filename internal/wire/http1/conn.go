// Package http1 is the client side of a persistent HTTP/1.1 connection (RFC
// 9110, RFC 9112) as bytes without I/O: one request in flight, encoded from a
// template that is made once, and its answer parsed where it lies. In the
// steady state nothing allocates.
package http1

import "github.com/quorumbench/quorumbench/internal/wire/parts"

// Limits of a connection.
const (
	// MaxHead bounds an answer's status line and header fields together, and
	// its trailer, in bytes.
	MaxHead = 64 << 10
	// MaxBody bounds an answer's body, in bytes.
	MaxBody = 64 << 20
	// MaxWanted is how many response fields a connection can be asked to keep.
	MaxWanted = 4

	maxKept = 8 << 10 // bytes of kept fields in one answer

	// maxFraming bounds what an answer's chunks say of themselves, in bytes, and
	// maxInformed how many informational answers may precede it.
	maxFraming  = 1 << 20
	maxInformed = 100
)

// Field is a header field.
type Field struct{ Name, Value string }

// Config is what a connection needs to know.
type Config struct {
	Host   string   // HOST:PORT, the Host of every request
	Fields []Field  // further fields of every request
	Wanted []string // names of response fields to keep, at most MaxWanted
	// Parts keeps answers that are not whole; nil: the connection has its own.
	Parts *parts.Budget
}

// state is what is expected next of an answer.
type state uint8

const (
	statusLine state = iota
	fields
	sizedBody  // c.chunk bytes
	untilClose // all that comes
	chunkSize
	chunkData // c.chunk bytes
	chunkEnd
	trailer
)

// coding is how the body is transferred.
type coding uint8

const (
	identity coding = iota
	chunked
)

// Conn is the client side of one connection. It belongs to one goroutine.
type Conn struct {
	cfg     Config
	common  []byte // the fields of every request
	maxBody int

	// The request.
	out    []byte
	sent   int
	using  *Template
	bodyAt int
	open   bool                     // its answer is awaited
	late   bool                     // and nobody wants it any more
	stream func(piece []byte) error // takes the answer's body as it comes; nil: it is kept

	// The answer under way.
	state   state
	fresh   bool // nothing of it came yet; the rest is as the answer before left it
	answer  Response
	headLen int
	partial []byte // the beginning of a line that is not whole yet
	length  int    // Content-Length, or -1
	coding  coding
	chunk   int    // bytes of the body, or of the chunk, still to come
	size    int    // of the body so far
	piece   []byte // the body, while it lies in one piece in the input
	body    []byte // the body, when it came in several
	keep    bool   // the connection outlives this answer
	framed  bool   // the last field says where the body ends
	known   knownHead

	framing  int // bytes about chunks
	informed int // informational answers

	draining bool
	err      error
}

// NewConn returns a connection. Control characters in the values of fields,
// which would end them, are left out.
func NewConn(cfg Config) *Conn {
	if cfg.Parts == nil {
		cfg.Parts = parts.New(parts.DefaultMax)
	}
	c := &Conn{cfg: cfg, maxBody: MaxBody}
	c.common = appendField(c.common, Field{"Host", cfg.Host})
	for _, f := range cfg.Fields {
		c.common = appendField(c.common, f)
	}
	return c
}

// Idle reports whether a request can be sent now.
func (c *Conn) Idle() bool { return !c.open && !c.draining }

// Draining reports that the connection takes no new requests: the server said
// so, or the connection failed.
func (c *Conn) Draining() bool { return c.draining }

// Out is what is to be written; it is valid until the next call of any method.
func (c *Conn) Out() []byte { return c.out[c.sent:] }

// Wrote says that the first n bytes of Out were written, or may have been.
func (c *Conn) Wrote(n int) { c.sent += n }

// Cancel gives up the request in flight. It reports whether its place is free:
// if any of it was written, its answer must be awaited, and comes with Late.
func (c *Conn) Cancel() (free bool) {
	if !c.open {
		return true
	}
	if c.sent == 0 {
		c.out, c.open = c.out[:0], false
		return true
	}
	c.late = true
	return false
}

// End says what became of the request in flight when the connection ended.
type End uint8

// The ends.
const (
	Nothing  End = iota // no request was in flight that anybody waits for
	NotSent             // the request was not written in full
	Broken              // the answer did not come, or not in full
	Answered            // the end of the connection was the end of the answer
)

// Lost says that the connection ended, and returns the answer if that was its
// end (RFC 9112, section 6.3, rule 8).
func (c *Conn) Lost() (End, *Response) {
	unsent := c.sent < len(c.out)
	c.draining = true
	if !c.open {
		return Nothing, nil
	}
	if c.state == untilClose && c.err == nil && !c.late {
		return Answered, c.complete()
	}
	c.open = false
	c.giveBack()
	switch {
	case c.late:
		return Nothing, nil
	case unsent:
		return NotSent, nil
	}
	return Broken, nil
}

// complete ends the answer under way and returns it.
func (c *Conn) complete() *Response {
	if c.sent < len(c.out) { // answered before it was asked in full
		c.keep = false
		c.out, c.sent = c.out[:0], 0
	}
	c.open = false
	c.draining = c.draining || !c.keep
	if c.piece == nil {
		c.piece = c.body
	}
	c.answer.Body, c.answer.Late = c.piece, c.late
	c.giveBack()
	return &c.answer
}

// giveBack ends the use of the buffers. What is in them may be read until the
// next Feed.
func (c *Conn) giveBack() {
	c.cfg.Parts.GiveBack(c.body)
	c.cfg.Parts.GiveBack(c.partial)
	c.body, c.partial = nil, nil
}

// fail makes err the connection's end.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err, c.draining = err, true
	}
	return c.err
}

// Package http1 implements the client side of a persistent HTTP/1.1 connection (RFC 9110, RFC 9112)
// without I/O. A connection has one request in flight. Requests are encoded from a template that is
// built once, and responses are parsed in the input buffer. In the steady state nothing allocates.
package http1

import "github.com/quorumbench/quorumbench/internal/wire/parts"

// Limits of a connection.
const (
	// MaxHead limits a response's status line and header fields together, and its trailer, in
	// bytes.
	MaxHead = 64 << 10
	// MaxBody limits a response's body, in bytes.
	MaxBody = 64 << 20
	// MaxKeptFields limits the number of response fields that a connection keeps.
	MaxKeptFields = 4

	maxKept = 8 << 10 // total length of the kept fields of one response, in bytes

	// maxFraming limits the chunk sizes and extensions of one response, in bytes, and maxInformed
	// limits the number of informational responses before it.
	maxFraming  = 1 << 20
	maxInformed = 100
)

// Field is a header field.
type Field struct{ Name, Value string }

// Config configures a connection.
type Config struct {
	Host       string   // HOST:PORT, the Host field of every request
	Fields     []Field  // further fields of every request
	KeepFields []string // names of response fields to keep, at most MaxKeptFields
	// Parts buffers incomplete responses. If it is nil, the connection has its own budget.
	Parts *parts.Budget
}

// state is the next part of a response that the parser expects.
type state uint8

const (
	statusLine state = iota
	fields
	sizedBody  // c.chunk bytes
	untilClose // all bytes until the connection ends
	chunkSize
	chunkData // c.chunk bytes
	chunkEnd
	trailer
)

// coding is the transfer coding of a body.
type coding uint8

const (
	identity coding = iota
	chunked
)

// Conn is the client side of one connection. Only one goroutine may use it.
type Conn struct {
	cfg     Config
	common  []byte // the fields of every request, encoded
	maxBody int

	// The request.
	out    []byte
	sent   int
	using  *Template
	bodyAt int
	open   bool                     // the request awaits its response
	late   bool                     // the request was cancelled
	stream func(piece []byte) error // takes the response's body in pieces; nil: the body is kept

	// The response under way.
	state   state
	fresh   bool // no byte of it arrived yet; the other fields are those of the previous response
	answer  Response
	headLen int
	partial []byte // the beginning of an incomplete line
	length  int    // Content-Length, or -1
	coding  coding
	chunk   int    // bytes of the body, or of the chunk, that are missing
	size    int    // bytes of the body so far
	piece   []byte // the body, while it is a single piece of the input
	body    []byte // the body, if it arrived in several pieces
	keep    bool   // the connection stays open after this response
	framed  bool   // the last field determines the length of the body
	known   knownHead

	framing  int // bytes of chunk sizes and extensions
	informed int // informational responses so far

	draining bool
	err      error
}

// NewConn returns a connection. It omits control characters from the values of fields, because a
// line break would end the field.
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

// Idle reports whether the connection can send a request now.
func (c *Conn) Idle() bool { return !c.open && !c.draining }

// Draining reports whether the connection accepts no further requests, because the server announced
// it or the connection failed.
func (c *Conn) Draining() bool { return c.draining }

// Out returns the bytes to write. They are valid until the next call of any method.
func (c *Conn) Out() []byte { return c.out[c.sent:] }

// Wrote records that the first n bytes of Out were written, or may have been.
func (c *Conn) Wrote(n int) { c.sent += n }

// Cancel cancels the request in flight. It returns true if the connection has no request in flight
// any more. If any byte of the request was written, it returns false: the response must be awaited,
// and Feed returns it with Late set.
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

// End is the outcome of the request in flight when the connection ended.
type End uint8

// The ends.
const (
	Nothing  End = iota // no request was in flight, or it was cancelled
	NotSent             // the request was not written completely
	Broken              // the response is missing or incomplete
	Answered            // the end of the connection completed the response
)

// Lost records that the connection ended. It returns the response if the end of the connection
// completed it (RFC 9112, section 6.3, rule 8).
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

// complete completes the response under way and returns it.
func (c *Conn) complete() *Response {
	if c.sent < len(c.out) { // the response came before the request was written completely
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

// giveBack returns the buffers to the budget. Their contents stay readable until the next Feed.
func (c *Conn) giveBack() {
	c.cfg.Parts.GiveBack(c.body)
	c.cfg.Parts.GiveBack(c.partial)
	c.body, c.partial = nil, nil
}

// fail records the first error, after which the connection is unusable, and returns it.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err, c.draining = err, true
	}
	return c.err
}

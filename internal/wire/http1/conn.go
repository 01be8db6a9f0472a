// Package http1 implements the client side of a persistent HTTP/1.1 connection (RFC 9110, RFC 9112)
// without I/O. A connection has at most one request in flight. Requests are encoded from a template
// that is built once, and responses are parsed in the input buffer. In the steady state no function
// allocates memory.
package http1

import "github.com/quorumbench/quorumbench/internal/wire/parts"

// Limits of a connection.
const (
	// MaxHead limits the size of a response's head (status line and header fields), in bytes. The
	// same limit applies to the trailer.
	MaxHead = 64 << 10
	// MaxBody limits the size of a response's body, in bytes.
	MaxBody = 64 << 20
	// MaxKeptFields limits how many header fields of a response a connection keeps.
	MaxKeptFields = 4

	maxKept = 8 << 10 // maximum total length of one response's kept fields, in bytes

	// maxFraming limits the total size of the chunk sizes and chunk extensions in one response, in
	// bytes. maxInformational limits how many informational responses may precede the real
	// response.
	maxFraming       = 1 << 20
	maxInformational = 100
)

// Field is a header field.
type Field struct{ Name, Value string }

// Config configures a connection.
type Config struct {
	Host       string   // HOST:PORT, sent as the Host field in every request
	Fields     []Field  // additional fields in every request
	KeepFields []string // names of the response fields to keep; at most MaxKeptFields
	// BufferBudget provides the buffers for incomplete responses. If it is nil, the connection
	// creates its own budget.
	BufferBudget *parts.Budget
}

// state is the part of a response that the parser expects next.
type state uint8

const (
	statusLine state = iota
	fields
	sizedBody  // c.chunk bytes are missing
	untilClose // the body ends when the connection ends
	chunkSize
	chunkData // c.chunk bytes are missing
	chunkEnd
	trailer
)

// coding is the transfer coding of a response's body.
type coding uint8

const (
	identity coding = iota
	chunked
)

// Conn is the client side of one connection. Only one goroutine may use it.
type Conn struct {
	cfg     Config
	common  []byte // the encoded header fields that every request contains
	maxBody int

	// The request.
	out       []byte
	sent      int
	template  *Template
	bodyStart int
	open      bool                     // the request has no response yet
	late      bool                     // the request was canceled
	stream    func(piece []byte) error // receives the body in pieces; nil if the connection keeps it

	// The current response.
	state             state
	awaitingFirstByte bool // no byte has arrived; the other fields are still those of the previous response
	response          Response
	headLen           int
	partial           []byte // the beginning of an incomplete line
	length            int    // Content-Length, or -1
	coding            coding
	chunk             int    // how many bytes of the body or chunk are missing
	size              int    // bytes of the body received so far
	piece             []byte // the body, while it is a single piece of the input
	body              []byte // the body, if it arrives in several pieces
	keepOpen          bool   // the connection stays open after the current response
	framedByPrevious  bool   // the previous field line determines the length of the body
	known             knownHead

	framing            int // total size of chunk sizes and extensions so far, in bytes
	informationalCount int // number of informational responses so far

	draining bool
	err      error
}

// NewConn returns a connection. It removes control characters from the values of cfg.Fields,
// because a line break would end the field.
func NewConn(cfg Config) *Conn {
	if cfg.BufferBudget == nil {
		cfg.BufferBudget = parts.New(parts.DefaultMax)
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

// Draining returns true if the connection accepts no more requests. In this case, the server has
// announced that it will close the connection, or the connection has failed.
func (c *Conn) Draining() bool { return c.draining }

// Out returns the bytes to write. They are valid until the next call of any method of c.
func (c *Conn) Out() []byte { return c.out[c.sent:] }

// Wrote informs the Conn that the first n bytes of Out were written, or may have been written.
func (c *Conn) Wrote(n int) { c.sent += n }

// Cancel cancels the request in flight. It returns true if the connection can then send another
// request. If part of the request was already written, Cancel returns false. In this case the
// caller must wait for the response, which Feed returns with Late set.
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

// End shows what happened to the request in flight when the connection ended.
type End uint8

// The values of End.
const (
	Nothing  End = iota // no request was in flight, or it had been canceled
	NotSent             // the request was not written completely
	Broken              // the response is missing or incomplete
	Answered            // the end of the connection completed the response
)

// Lost handles the end of the connection. If this completes a response, Lost returns the response
// (RFC 9112, section 6.3, rule 8).
func (c *Conn) Lost() (End, *Response) {
	unsent := c.sent < len(c.out)
	c.draining = true
	if !c.open {
		c.releaseBuffers() // they may contain a part of a response that no request asked for
		return Nothing, nil
	}
	if c.state == untilClose && c.err == nil && !c.late {
		return Answered, c.complete()
	}
	c.open = false
	c.releaseBuffers()
	switch {
	case c.late:
		return Nothing, nil
	case unsent:
		return NotSent, nil
	}
	return Broken, nil
}

// complete ends the current response and returns it.
func (c *Conn) complete() *Response {
	if c.sent < len(c.out) { // the server responded before the request was written completely
		c.keepOpen = false
		c.out, c.sent = c.out[:0], 0
	}
	c.open = false
	c.draining = c.draining || !c.keepOpen
	if c.piece == nil {
		c.piece = c.body
	}
	c.response.Body, c.response.Late = c.piece, c.late
	c.releaseBuffers()
	return &c.response
}

// releaseBuffers returns the connection's buffers to the budget. Their contents stay readable until
// the next Feed.
func (c *Conn) releaseBuffers() {
	c.cfg.BufferBudget.Release(c.body)
	c.cfg.BufferBudget.Release(c.partial)
	c.body, c.partial = nil, nil
}

// fail records err if it is the first error, and returns the first error. After an error the
// connection is unusable.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err, c.draining = err, true
	}
	return c.err
}

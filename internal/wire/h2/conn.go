package h2

import (
	"fmt"
	"slices"

	"golang.org/x/net/http2/hpack"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Limits of a connection.
const (
	// LastStreamID is the highest stream that a client can open.
	LastStreamID = 1<<31 - 1
	// MaxMessage bounds one gRPC message of an answer, in bytes.
	MaxMessage = 64 << 20

	roomBeforeSettings = 100     // streams, until the server says how many
	maxPending         = 4 << 20 // bytes of requests that may wait to be written
	maxControl         = 10_000  // answers to PING and SETTINGS that may wait likewise
	minTable           = 32      // places for streams at the start

	// MaxGoAways is how many GOAWAY frames a connection takes: a server that
	// shuts down sends two.
	MaxGoAways = 8
	// MaxIdleFrames is how many frames a connection takes that answer nothing,
	// between two answers: control frames, and DATA without data. Each costs more
	// than its few bytes.
	MaxIdleFrames = 20_000
	// MaxHeaderList bounds the header fields of an answer, in bytes as RFC 9113,
	// section 6.5.2, counts them: a block of references is much shorter.
	MaxHeaderList = 256 << 10
	// MaxErrorText bounds the message of a gRPC status, in bytes as it is sent.
	MaxErrorText = 2 << 10
)

// Config is what a connection needs to know.
type Config struct {
	Authority string // HOST:PORT, the :authority of every request
	TLS       bool   // makes the :scheme https
	// FirstStream is the first stream's id, odd; 0 means 1.
	FirstStream uint32
	// Parts keeps answers that are not whole; nil: the connection has its own.
	Parts *parts.Budget
}

// Conn is the client side of one HTTP/2 connection that carries gRPC calls,
// unary ones and streams that stay open (RFC 9113; PROTOCOL-HTTP2.md of gRPC), as bytes without I/O: Call
// encodes requests into Out, Feed takes what was read and returns the answers.
// In the steady state no method allocates. A Conn belongs to one goroutine.
type Conn struct {
	// The output. The byte out[0] is number origin of all that is ever written.
	out    []byte
	sent   int // of out, written
	origin uint64

	// Streams.
	table  []stream // a stream's place is id/2 modulo the length, a power of two
	mask   uint32
	open   int
	next   uint32 // the next stream's id; its place is free
	oldest uint32 // no open stream has an id below it
	limit  int    // streams that the server lets us have open

	// Requests.
	methods     []method
	enc         encoder
	connWindow  int64 // of sending
	streamStart int64 // what the window of a new stream is
	maxFrame    int   // the largest payload that the server takes
	blocked     []blocked
	blockedLen  int // bytes that wait in blocked
	free        [][]byte
	freeLen     int // bytes of capacity in free

	// Answers.
	replies    []Reply
	parts      *parts.Budget
	partial    []byte // a frame that is not whole yet
	unacked    int    // bytes of DATA that the server's window was not topped up for
	held       []uint32
	nheld      int // streams whose message lies in the current input
	maxMessage int

	// Header blocks of answers.
	dec       *hpack.Decoder
	fields    fields // what the block under way says
	memo      [4]memo
	memoNext  int
	block     []byte // a block that goes on in CONTINUATION frames
	blockOf   uint32 // its stream; 0: none is under way
	blockEnds bool   // its HEADERS frame had END_STREAM

	greeted  bool // the server's first SETTINGS frame came
	draining bool // GOAWAY came
	control  int  // answers to PING and SETTINGS since the output was last empty
	idle     int  // frames since the last answer that answered nothing
	goAways  int
	goodbye  string
	err      error
}

// NewConn returns a connection whose output begins with the preface.
func NewConn(cfg Config) *Conn {
	c := &Conn{
		next: max(cfg.FirstStream, 1) | 1, limit: roomBeforeSettings,
		connWindow: DefaultWindow, streamStart: DefaultWindow, maxFrame: DefaultMaxFrameSize,
		maxMessage: MaxMessage, parts: cfg.Parts,
	}
	if c.parts == nil {
		c.parts = parts.New(parts.DefaultMax)
	}
	c.oldest = c.next
	c.table, c.mask = make([]stream, minTable), minTable-1
	c.enc = newEncoder(cfg.Authority, cfg.TLS)
	c.dec = hpack.NewDecoder(decoderTable, c.takeField)
	c.dec.SetMaxStringLength(maxBlock)

	c.out = append(make([]byte, 0, 4096), Preface...)
	c.out = AppendSettings(c.out,
		Setting{SettingEnablePush, 0},
		Setting{SettingInitialWindowSize, MaxWindow})
	c.out = AppendWindowUpdate(c.out, 0, MaxWindow-DefaultWindow)
	return c
}

// Greeted reports whether the server has sent its first SETTINGS frame.
func (c *Conn) Greeted() bool { return c.greeted }

// Open is the number of streams that wait for their answer, or stay open.
func (c *Conn) Open() int { return c.open }

// Draining reports that no new stream can be opened: the server said GOAWAY,
// the stream ids are used up, or the connection failed.
func (c *Conn) Draining() bool { return c.draining || c.next > LastStreamID }

// Room is how many more calls may be made now. It can shrink by more than one
// with a call, so it is to be asked before each.
func (c *Conn) Room() int {
	if c.Draining() || len(c.out)-c.sent+c.blockedLen >= maxPending {
		return 0
	}
	return max(0, min(c.limit-c.open, int((LastStreamID-c.next)/2)+1))
}

// Out is what is to be written; it is valid until the next call of any method.
func (c *Conn) Out() []byte {
	if len(c.blocked) > 0 {
		c.pump()
	}
	return c.out[c.sent:]
}

// Wrote says that the first n bytes of Out were written, or may have been.
func (c *Conn) Wrote(n int) {
	c.sent += n
	switch {
	case c.sent == len(c.out):
		c.origin += uint64(c.sent)
		c.out, c.sent, c.control = c.out[:0], 0, 0
	case c.sent > 1<<16 && c.sent > len(c.out)/2: // what a slow reader leaves moves down
		c.origin += uint64(c.sent)
		c.out, c.sent = c.out[:copy(c.out, c.out[c.sent:])], 0
	}
}

// Lost says that the connection ended. It returns a reply for every open
// stream: NotSent if its request was not written in full, else Broken.
func (c *Conn) Lost() []Reply {
	c.replies = c.replies[:0]
	written, text := c.origin+uint64(c.sent), []byte(c.goodbye)
	c.eachInOrder(func(s *stream) {
		end := Broken
		if s.end > written {
			end = NotSent
		}
		c.replies = append(c.replies, Reply{Tag: s.tag, Sub: s.sub, End: end, Text: text})
		if s.state&pooled != 0 {
			c.parts.GiveBack(s.msg)
		}
		s.id = 0
	})
	c.open, c.blocked, c.blockedLen = 0, nil, 0
	c.draining = true
	clear(c.table) // with their messages, which nobody will read
	c.parts.GiveBack(c.partial)
	c.partial, c.free, c.freeLen = nil, nil, 0
	return c.replies
}

// reserve makes room for n more bytes of output and returns them.
func (c *Conn) reserve(n int) []byte {
	at := len(c.out)
	if cap(c.out)-at < n {
		c.out = slices.Grow(c.out, n)
	}
	c.out = c.out[:at+n]
	return c.out[at:]
}

// buffer returns an empty buffer for a request that cannot be written yet.
func (c *Conn) buffer() []byte {
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		c.freeLen -= cap(b)
		return b[:0]
	}
	return nil
}

// release takes a request's buffer back, unless there are many already.
func (c *Conn) release(b []byte) {
	if cap(b) > 0 && c.freeLen+cap(b) <= maxFree {
		c.free = append(c.free, b)
		c.freeLen += cap(b)
	}
}

// maxFree bounds the buffers that a connection keeps for requests, in bytes.
const maxFree = 16 << 20

// idles counts frames that answer nothing.
func (c *Conn) idles(n int) error {
	if c.idle += n; c.idle > MaxIdleFrames {
		return fmt.Errorf("the server floods the connection: %d frames and no answer", MaxIdleFrames)
	}
	return nil
}

// fail makes err the connection's end.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err, c.draining = err, true
	}
	return c.err
}

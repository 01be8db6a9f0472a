package h2

import (
	"fmt"
	"slices"

	"golang.org/x/net/http2/hpack"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Limits of a connection.
const (
	// LastStreamID is the highest stream id that a client can use.
	LastStreamID = 1<<31 - 1
	// MaxMessage limits one gRPC message of a response, in bytes.
	MaxMessage = 64 << 20

	roomBeforeSettings = 100     // streams, until the server sends its limit
	maxPending         = 4 << 20 // limits the bytes of requests that wait to be written
	maxControl         = 10_000  // limits the acknowledgements of PING and SETTINGS that wait to be written
	minTable           = 32      // initial length of the stream table

	// MaxGoAways is the number of GOAWAY frames that a connection accepts. A server that shuts down
	// sends two.
	MaxGoAways = 8
	// MaxIdleFrames is the number of frames between two responses that a connection accepts if they
	// answer no call: control frames, and DATA without data. Processing one costs more than sending
	// its few bytes.
	MaxIdleFrames = 20_000
	// MaxHeaderList limits the header fields of a response, in bytes as counted by RFC 9113,
	// section 6.5.2. A block of references can be much shorter than its fields.
	MaxHeaderList = 256 << 10
	// MaxErrorText limits the message of a gRPC status, in bytes as sent.
	MaxErrorText = 2 << 10
)

// Config configures a connection.
type Config struct {
	Authority string // HOST:PORT, the :authority of every request
	TLS       bool   // sets the :scheme to https
	// FirstStream is the id of the first stream, an odd number; 0 means 1.
	FirstStream uint32
	// Parts buffers incomplete responses. If it is nil, the connection has its own budget.
	Parts *parts.Budget
}

// Conn is the client side of one HTTP/2 connection that carries gRPC calls: unary calls and long
// streams (RFC 9113; gRPC's PROTOCOL-HTTP2.md). It does no I/O: Call encodes requests into Out, and
// Feed parses the bytes that were read and returns the replies. In the steady state no method
// allocates. Only one goroutine may use a Conn.
type Conn struct {
	// The output. out[0] is byte number origin of all output of the connection.
	out    []byte
	sent   int // bytes of out that were written
	origin uint64

	// Streams.
	table  []stream // the stream with an id is at index id/2 modulo the length, a power of two
	mask   uint32
	open   int
	next   uint32 // the next stream's id; its index in table is free
	oldest uint32 // no open stream has a lower id
	limit  int    // the server's limit of open streams

	// Requests.
	methods     []method
	enc         encoder
	connWindow  int64 // flow-control window for sending
	streamStart int64 // initial window of a new stream
	maxFrame    int   // the largest payload that the server accepts
	blocked     []blocked
	blockedLen  int // bytes that wait in blocked
	free        [][]byte
	freeLen     int // capacity of the buffers in free, in bytes

	// Responses.
	replies    []Reply
	parts      *parts.Budget
	partial    []byte // the beginning of an incomplete frame
	unacked    int    // bytes of DATA since the last WINDOW_UPDATE of the connection
	held       []uint32
	nheld      int // streams whose message is in the current input
	maxMessage int

	// Header blocks of responses.
	dec       *hpack.Decoder
	fields    fields // the fields of the block under way
	memo      [4]memo
	memoNext  int
	block     []byte // a block that continues in CONTINUATION frames
	blockOf   uint32 // the block's stream; 0: no block is under way
	blockEnds bool   // the block's HEADERS frame had END_STREAM

	greeted  bool // the server's first SETTINGS frame arrived
	draining bool // a GOAWAY arrived
	control  int  // acknowledgements of PING and SETTINGS since the output was last empty
	idle     int  // frames since the last response that answered no call
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

// SettingsReceived reports whether the server has sent its first SETTINGS frame.
func (c *Conn) SettingsReceived() bool { return c.greeted }

// Open returns the number of streams that await their response or stay open.
func (c *Conn) Open() int { return c.open }

// Draining reports whether no new stream can be opened, because the server sent GOAWAY, all stream
// ids are used, or the connection failed.
func (c *Conn) Draining() bool { return c.draining || c.next > LastStreamID }

// Room returns how many further calls are possible now. One call can reduce it by more than one, so
// the caller must check it before each call.
func (c *Conn) Room() int {
	if c.Draining() || len(c.out)-c.sent+c.blockedLen >= maxPending {
		return 0
	}
	return max(0, min(c.limit-c.open, int((LastStreamID-c.next)/2)+1))
}

// Out returns the bytes to write. They are valid until the next call of any method.
func (c *Conn) Out() []byte {
	if len(c.blocked) > 0 {
		c.pump()
	}
	return c.out[c.sent:]
}

// Wrote records that the first n bytes of Out were written, or may have been.
func (c *Conn) Wrote(n int) {
	c.sent += n
	switch {
	case c.sent == len(c.out):
		c.origin += uint64(c.sent)
		c.out, c.sent, c.control = c.out[:0], 0, 0
	case c.sent > 1<<16 && c.sent > len(c.out)/2: // a slow reader leaves bytes at the end; move them to the front
		c.origin += uint64(c.sent)
		c.out, c.sent = c.out[:copy(c.out, c.out[c.sent:])], 0
	}
}

// Lost records that the connection ended. It returns a reply for every open stream: NotSent if its
// request was not written completely, otherwise Broken.
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
	clear(c.table) // releases the messages, which are not needed any more
	c.parts.GiveBack(c.partial)
	c.partial, c.free, c.freeLen = nil, nil, 0
	return c.replies
}

// reserve extends the output by n bytes and returns them.
func (c *Conn) reserve(n int) []byte {
	at := len(c.out)
	if cap(c.out)-at < n {
		c.out = slices.Grow(c.out, n)
	}
	c.out = c.out[:at+n]
	return c.out[at:]
}

// buffer returns an empty buffer for a request that cannot be written yet, or nil.
func (c *Conn) buffer() []byte {
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		c.freeLen -= cap(b)
		return b[:0]
	}
	return nil
}

// release keeps a request's buffer for reuse, up to maxFree bytes in total.
func (c *Conn) release(b []byte) {
	if cap(b) > 0 && c.freeLen+cap(b) <= maxFree {
		c.free = append(c.free, b)
		c.freeLen += cap(b)
	}
}

// maxFree limits the free buffers of requests in a connection, in bytes.
const maxFree = 16 << 20

// countIdle counts frames that answer no call.
func (c *Conn) countIdle(n int) error {
	if c.idle += n; c.idle > MaxIdleFrames {
		return fmt.Errorf("the server floods the connection: %d frames and no answer", MaxIdleFrames)
	}
	return nil
}

// fail records the first error, after which the connection is unusable, and returns it.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err, c.draining = err, true
	}
	return c.err
}

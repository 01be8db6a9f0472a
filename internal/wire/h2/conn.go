package h2

import (
	"fmt"
	"slices"

	"golang.org/x/net/http2/hpack"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Limits of a connection.
const (
	// LastStreamID is the highest stream ID that a client can use.
	LastStreamID = 1<<31 - 1
	// MaxMessage limits the size of one gRPC message in a response, in bytes.
	MaxMessage = 64 << 20

	roomBeforeSettings = 100     // number of streams allowed until the server sends its limit
	maxPending         = 4 << 20 // maximum total size of waiting requests, in bytes
	maxControl         = 10_000  // maximum number of acknowledgements that wait to be written
	minTable           = 32      // initial length of the stream table

	// MaxGoAways is the maximum number of GOAWAY frames that a connection accepts. A server that
	// shuts down sends two.
	MaxGoAways = 8
	// MaxIdleFrames is the maximum number of idle frames that a connection accepts between two
	// responses. A frame is idle if it contributes nothing to a response: control frames, and DATA
	// frames without data. The limit protects the client from a flood, because processing an idle
	// frame costs more than sending one.
	MaxIdleFrames = 20_000
	// MaxHeaderList limits the size of a response's header fields, in bytes as defined in RFC 9113,
	// section 6.5.2. The encoded header block can be much shorter than this, because it can refer
	// to table entries.
	MaxHeaderList = 256 << 10
	// MaxErrorText limits the length of a gRPC status message, in bytes as sent.
	MaxErrorText = 2 << 10
)

// Config configures a connection.
type Config struct {
	Authority string // HOST:PORT, sent as :authority in every request
	TLS       bool   // set if :scheme is https
	// FirstStream is the ID of the first stream. It must be odd, or 0 for the default, 1.
	FirstStream uint32
	// BufferBudget provides the buffers for incomplete responses. If it is nil, the connection
	// creates its own budget.
	BufferBudget *parts.Budget
}

// Conn is the client side of one HTTP/2 connection that carries unary gRPC calls and long gRPC
// streams (RFC 9113; gRPC's PROTOCOL-HTTP2.md). It does no I/O: Call encodes requests into Out, and
// Feed parses the bytes that the caller has read and returns the replies. In the steady state no
// method allocates memory. Only one goroutine may use a Conn.
type Conn struct {
	// The output. out[0] is at the offset `origin` in the complete output of the connection.
	out    []byte
	sent   int // how many bytes of out were written
	origin uint64

	// Streams.
	table  []stream // the index of a stream is id/2 modulo len(table), a power of two
	mask   uint32
	open   int
	next   uint32 // ID of the next stream; its entry in `table` is free
	oldest uint32 // no open stream has a lower ID
	limit  int    // the server's limit for open streams

	// Requests.
	methods     []method
	enc         encoder
	connWindow  int64 // flow-control window for sending
	streamStart int64 // initial send window of a new stream
	maxFrame    int   // the largest frame payload that the server accepts, in bytes
	blocked     []blocked
	blockedLen  int // total number of bytes that wait in `blocked`
	free        [][]byte
	freeLen     int // total capacity of the buffers in `free`, in bytes

	// Responses.
	replies        []Reply
	budget         *parts.Budget
	partial        []byte // the beginning of an incomplete frame
	unacked        int    // bytes of DATA received since the connection's last WINDOW_UPDATE
	inPlaceStreams []uint32
	inPlaceCount   int // number of streams whose message is still in the current input
	maxMessage     int

	// Header blocks of responses.
	dec             *hpack.Decoder
	fields          fields // fields of the block that is being decoded
	memo            [4]memo
	memoNext        int
	block           []byte // an incomplete block, which continues in CONTINUATION frames
	blockStream     uint32 // ID of the stream to which `block` belongs; 0 if no block is incomplete
	blockEndsStream bool   // the HEADERS frame that started `block` had END_STREAM

	greeted    bool // the server's first SETTINGS frame has arrived
	draining   bool // a GOAWAY has arrived
	control    int  // acknowledgements of PING and SETTINGS since the output was last empty
	idle       int  // idle frames since the last response
	goAways    int
	goAwayText string
	err        error
}

// NewConn returns a connection. Its output already contains the preface and the client's settings.
func NewConn(cfg Config) *Conn {
	c := &Conn{
		next: max(cfg.FirstStream, 1) | 1, limit: roomBeforeSettings,
		connWindow: DefaultWindow, streamStart: DefaultWindow, maxFrame: DefaultMaxFrameSize,
		maxMessage: MaxMessage, budget: cfg.BufferBudget,
	}
	if c.budget == nil {
		c.budget = parts.New(parts.DefaultMax)
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

// Open returns the number of open streams: calls without a response, and long streams.
func (c *Conn) Open() int { return c.open }

// Draining reports whether the connection can open no new stream, because the server sent GOAWAY,
// all stream IDs are used, or the connection failed.
func (c *Conn) Draining() bool { return c.draining || c.next > LastStreamID }

// Room returns how many further calls can be made now. One call can reduce this number by more than
// one, so the caller must check Room before each call.
func (c *Conn) Room() int {
	if c.Draining() || len(c.out)-c.sent+c.blockedLen >= maxPending {
		return 0
	}
	return max(0, min(c.limit-c.open, int((LastStreamID-c.next)/2)+1))
}

// Out returns the bytes to write. They are valid until the next call of any method of c.
func (c *Conn) Out() []byte {
	if len(c.blocked) > 0 {
		c.pump()
	}
	return c.out[c.sent:]
}

// Wrote informs the Conn that the first n bytes of Out were written, or may have been written.
func (c *Conn) Wrote(n int) {
	c.sent += n
	switch {
	case c.sent == len(c.out):
		c.origin += uint64(c.sent)
		c.out, c.sent, c.control = c.out[:0], 0, 0
	case c.sent > 1<<16 && c.sent > len(c.out)/2:
		// The server reads slowly: move the unwritten bytes to the front.
		c.origin += uint64(c.sent)
		c.out, c.sent = c.out[:copy(c.out, c.out[c.sent:])], 0
	}
}

// Lost handles the end of the connection, and returns a reply for every open stream. The reply's
// End is NotSent if the request was not written completely, and Broken otherwise.
func (c *Conn) Lost() []Reply {
	c.replies = c.replies[:0]
	written, text := c.origin+uint64(c.sent), []byte(c.goAwayText)
	c.eachInOrder(func(s *stream) {
		end := Broken
		if s.end > written {
			end = NotSent
		}
		c.replies = append(c.replies, Reply{Tag: s.tag, Sub: s.sub, End: end, Text: text})
		if s.state&isPooled != 0 {
			c.budget.Release(s.msg)
		}
		s.id = 0
	})
	c.open, c.blocked, c.blockedLen = 0, nil, 0
	c.draining = true
	clear(c.table) // so that the messages can be garbage-collected
	c.budget.Release(c.partial)
	c.partial, c.free, c.freeLen = nil, nil, 0
	return c.replies
}

// reserve extends the output by n bytes and returns the new bytes.
func (c *Conn) reserve(n int) []byte {
	at := len(c.out)
	if cap(c.out)-at < n {
		c.out = slices.Grow(c.out, n)
	}
	c.out = c.out[:at+n]
	return c.out[at:]
}

// buffer returns an empty buffer for a request that must wait. It returns nil if there is no free
// buffer.
func (c *Conn) buffer() []byte {
	if n := len(c.free); n > 0 {
		b := c.free[n-1]
		c.free = c.free[:n-1]
		c.freeLen -= cap(b)
		return b[:0]
	}
	return nil
}

// release keeps the buffer of a request for reuse. The total size of such buffers is limited to
// maxFree.
func (c *Conn) release(b []byte) {
	if cap(b) > 0 && c.freeLen+cap(b) <= maxFree {
		c.free = append(c.free, b)
		c.freeLen += cap(b)
	}
}

// maxFree limits the size of the free request buffers in a connection, in bytes.
const maxFree = 16 << 20

// countIdle counts n idle frames. It returns an error if too many idle frames have arrived since
// the last response.
func (c *Conn) countIdle(n int) error {
	if c.idle += n; c.idle > MaxIdleFrames {
		return fmt.Errorf("the server floods the connection: it sent more than %d frames without a response", MaxIdleFrames)
	}
	return nil
}

// fail records err if it is the first error, and returns the first error. After an error the
// connection is unusable.
func (c *Conn) fail(err error) error {
	if c.err == nil {
		c.err, c.draining = err, true
	}
	return c.err
}

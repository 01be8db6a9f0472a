package nullserver

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"
	"testing"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Paths of the methods that the tests call.
const (
	pathRange = "/etcdserverpb.KV/Range"
	pathPut   = "/etcdserverpb.KV/Put"
)

// start starts a null cluster with n members on free ports, which runs until the test ends. It
// returns the members' addresses.
func start(t testing.TB, n int, o store.NullOptions, c null.Clock) []string {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var listeners []net.Listener
	var addresses []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		addresses = append(addresses, l.Addr().String())
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	if c != nil {
		s.UseClock(c)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx, listeners) }()
	t.Cleanup(func() {
		cancel()
		storetest.AwaitEnd(t, "the null server", done)
	})
	return addresses
}

// options returns the options for a server with memory and the given script.
func options(script string) store.NullOptions {
	return store.NullOptions{Script: script, Memory: true}
}

// rawClient sends and receives single HTTP/2 frames, so a test sees exactly what the server
// sends.
type rawClient struct {
	t       testing.TB
	net     net.Conn
	in      *bufio.Reader
	out     []byte
	next    uint32 // number of the next stream
	decoder *hpack.Decoder
	fields  map[string]string // fields in the header block that is being decoded
}

// reply is the response on one stream.
type reply struct {
	stream  uint32
	status  string // HTTP status, or empty
	grpc    string // grpc-status, or empty
	message string
	body    []byte
	reset   bool
	code    uint32 // error code in RST_STREAM
}

// dial connects to a server. The connection's window is so large that no test exhausts it.
func dial(t testing.TB, address string, settings ...h2.Setting) *rawClient {
	t.Helper()
	c := dialNarrow(t, address, settings...)
	c.out = h2.AppendWindowUpdate(c.out, 0, h2.MaxWindow-h2.DefaultWindow)
	return c
}

// dialNarrow connects to a server with HTTP/2's default window for the connection.
func dialNarrow(t testing.TB, address string, settings ...h2.Setting) *rawClient {
	t.Helper()
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = nc.Close() })
	// The deadline ensures that no test hangs forever.
	if err := nc.SetDeadline(time.Now().Add(5 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	c := &rawClient{t: t, net: nc, in: bufio.NewReaderSize(nc, 64<<10), next: 1, fields: map[string]string{}}
	c.decoder = hpack.NewDecoder(4096, func(f hpack.HeaderField) { c.fields[f.Name] = f.Value })
	c.out = append(c.out, h2.Preface...)
	c.out = h2.AppendSettings(c.out, settings...)
	return c
}

// literal appends a header field that must not be added to the HPACK table.
func literal(b []byte, name, value string) []byte {
	b = append(b, 0)
	b = appendHeaderString(b, name)
	return appendHeaderString(b, value)
}

// fields returns a request's header fields.
func fields(path string) [][2]string {
	return [][2]string{
		{":method", "POST"}, {":scheme", "http"}, {":path", path}, {":authority", "null"},
		{"content-type", "application/grpc"}, {"te", "trailers"},
	}
}

// block returns a request's header block, in which no field refers to the HPACK table.
func block(path string) []byte {
	var b []byte
	for _, f := range fields(path) {
		b = literal(b, f[0], f[1])
	}
	return b
}

// grpcMessage returns a request's message with its gRPC prefix.
func grpcMessage(m proto.Message) []byte {
	b, err := proto.MarshalOptions{}.MarshalAppend(make([]byte, prefixLen), m)
	if err != nil {
		panic(err)
	}
	putPrefix(b, len(b)-prefixLen)
	return b
}

// call appends a request to the output and returns the number of its stream.
func (c *rawClient) call(path string, m proto.Message) uint32 {
	return c.request(block(path), grpcMessage(m))
}

// request appends a request with the given header block. body is the message with its prefix.
func (c *rawClient) request(head, body []byte) uint32 {
	id := c.next
	c.next += 2
	c.out = h2.AppendFrameHeader(c.out, len(head), h2.FrameHeaders, h2.FlagEndHeaders, id)
	c.out = append(c.out, head...)
	for first := true; first || len(body) > 0; first = false {
		n := min(len(body), h2.DefaultMaxFrameSize)
		var flags byte
		if n == len(body) {
			flags = h2.FlagEndStream
		}
		c.out = h2.AppendFrameHeader(c.out, n, h2.FrameData, flags, id)
		c.out = append(c.out, body[:n]...)
		body = body[n:]
	}
	return id
}

func (c *rawClient) get(key string) uint32 {
	return c.call(pathRange, &pb.RangeRequest{Key: []byte(key)})
}

func (c *rawClient) put(key, value string) uint32 {
	return c.call(pathPut, &pb.PutRequest{Key: []byte(key), Value: []byte(value)})
}

// flush writes the output to the connection.
func (c *rawClient) flush() {
	c.t.Helper()
	if _, err := c.net.Write(c.out); err != nil {
		c.t.Fatal(err)
	}
	c.out = c.out[:0]
}

// frame reads one frame; err is a connection error.
func (c *rawClient) frame() (f h2.FrameHeader, p []byte, err error) {
	head := make([]byte, h2.FrameHeaderLen)
	if _, err := io.ReadFull(c.in, head); err != nil {
		return f, nil, err
	}
	f = h2.ParseFrameHeader(head)
	p = make([]byte, f.Length)
	_, err = io.ReadFull(c.in, p)
	return f, p, err
}

// read reads frames until the function `stop` returns true. It returns a map from stream IDs to
// replies, including incomplete replies.
func (c *rawClient) read(stop func(f h2.FrameHeader, p []byte, replies map[uint32]*reply) bool) map[uint32]*reply {
	c.t.Helper()
	replies := map[uint32]*reply{}
	for {
		f, p, err := c.frame()
		if err != nil {
			c.t.Fatalf("after %d replies: %v", len(replies), err)
		}
		c.collect(f, p, replies)
		if stop(f, p, replies) {
			return replies
		}
	}
}

func (c *rawClient) collect(f h2.FrameHeader, p []byte, replies map[uint32]*reply) {
	c.t.Helper()
	switch f.Type {
	case h2.FrameHeaders, h2.FrameData, h2.FrameRSTStream:
		if replies[f.Stream] == nil {
			replies[f.Stream] = &reply{stream: f.Stream}
		}
	default:
		return
	}
	r := replies[f.Stream]
	switch f.Type {
	case h2.FrameHeaders:
		clear(c.fields)
		if _, err := c.decoder.Write(p); err != nil {
			c.t.Fatalf("stream %d: %v in % x", f.Stream, err, p)
		}
		if s, ok := c.fields[":status"]; ok {
			r.status = s
		}
		if s, ok := c.fields["grpc-status"]; ok {
			r.grpc, r.message = s, c.fields["grpc-message"]
		}
	case h2.FrameData:
		r.body = append(r.body, p...)
	case h2.FrameRSTStream:
		r.reset, r.code = true, binary.BigEndian.Uint32(p)
	}
}

// finish reads until n streams have ended, and returns the replies.
func (c *rawClient) finish(n int) map[uint32]*reply {
	c.t.Helper()
	return c.read(func(f h2.FrameHeader, _ []byte, replies map[uint32]*reply) bool {
		if f.Type == h2.FrameRSTStream || f.Type != h2.FrameSettings && f.Flags&h2.FlagEndStream != 0 && f.Stream != 0 {
			n--
		}
		return n == 0
	})
}

// sync waits until the server has read everything that was sent. It returns the replies that have
// arrived by then.
func (c *rawClient) sync() map[uint32]*reply {
	c.t.Helper()
	c.out = h2.AppendPing(c.out, 0, []byte("are you?"))
	c.flush()
	return c.read(func(f h2.FrameHeader, p []byte, _ map[uint32]*reply) bool {
		return f.Type == h2.FramePing && string(p) == "are you?"
	})
}

// decode decodes a RangeResponse.
func (r *reply) decode(t testing.TB) *pb.RangeResponse {
	t.Helper()
	m := &pb.RangeResponse{}
	if len(r.body) < prefixLen || int(binary.BigEndian.Uint32(r.body[1:])) != len(r.body)-prefixLen {
		t.Fatalf("stream %d: the body of %d bytes is not exactly one message", r.stream, len(r.body))
	}
	if err := proto.Unmarshal(r.body[prefixLen:], m); err != nil {
		t.Fatal(err)
	}
	return m
}

// ok fails the test unless the reply is a success.
func (r *reply) ok(t testing.TB) {
	t.Helper()
	if r == nil {
		t.Fatal("no reply")
	}
	if r.status != "200" || r.grpc != "0" || r.reset {
		t.Fatalf("stream %d: status %q, grpc-status %q (%s), reset %s", r.stream, r.status, r.grpc, r.message,
			strconv.FormatBool(r.reset))
	}
}

package h2

import (
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

const testPath = "/test.Service/Call"

// request is a call as the server received it.
type request struct {
	id     uint32
	fields map[string]string
	block  int    // size of the call's header block, in bytes
	body   []byte // the received part of the prefix and message
	ended  bool
	reset  bool

	long    bool  // the stream stays open
	updates int64 // sum of the increments of the stream's window
}

// server is the other end of a Conn, based on golang.org/x/net/http2. It reads the Conn's output
// and encodes the Conn's input.
type server struct {
	t        testing.TB
	c        *Conn
	m        Method
	preface  bool
	wire     bytes.Buffer // output from the Conn
	in       *http2.Framer
	decoder  *hpack.Decoder
	out      bytes.Buffer // input for the Conn
	framer   *http2.Framer
	block    bytes.Buffer
	encoder  *hpack.Encoder
	requests map[uint32]*request
	order    []uint32
	settings map[http2.SettingID]uint32
	acks     int
	pings    [][8]byte
	updates  int64 // sum of the increments of the connection's window
}

// newServer returns a server with a connected Conn. The server has not sent anything yet.
func newServer(t testing.TB, cfg Config) *server {
	if cfg.Authority == "" {
		cfg.Authority = "127.0.0.1:2379"
	}
	s := &server{t: t, c: NewConn(cfg), requests: map[uint32]*request{}, settings: map[http2.SettingID]uint32{}}
	s.m = s.c.Register(testPath, true)
	s.in = http2.NewFramer(io.Discard, &s.wire)
	s.decoder = hpack.NewDecoder(4096, nil)
	s.in.SetMaxReadFrameSize(1<<24 - 1)
	s.framer = http2.NewFramer(&s.out, nil)
	s.framer.AllowIllegalWrites = true
	s.encoder = hpack.NewEncoder(&s.block)
	return s
}

// greet returns a server whose Conn has exchanged SETTINGS with it.
func greet(t testing.TB, cfg Config, settings ...http2.Setting) *server {
	s := newServer(t, cfg)
	s.sendSettings(settings...)
	s.mustFeed()
	s.read()
	return s
}

func (s *server) sendSettings(settings ...http2.Setting) { s.must(s.framer.WriteSettings(settings...)) }

func (s *server) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// call starts a call with the given message.
func (s *server) call(tag uint32, message []byte) {
	s.t.Helper()
	if s.c.Room() <= 0 {
		s.t.Fatalf("no room for call %d", tag)
	}
	copy(s.c.Call(s.m, tag, uint8(tag), len(message)), message)
}

// read lets the server read the whole output of the Conn.
func (s *server) read() {
	s.t.Helper()
	out := s.c.Out()
	s.wire.Write(out)
	s.c.Wrote(len(out))
	if !s.preface {
		if got := string(s.wire.Next(len(Preface))); got != Preface {
			s.t.Fatalf("the preface is %q", got)
		}
		s.preface = true
	}
	for s.wire.Len() > 0 {
		f, err := s.in.ReadFrame()
		s.must(err)
		s.handleFrame(f)
	}
}

func (s *server) handleFrame(f http2.Frame) {
	s.t.Helper()
	r := s.requests[f.Header().StreamID]
	switch f := f.(type) {
	case *http2.HeadersFrame:
		r = &request{id: f.StreamID, fields: map[string]string{}, block: len(f.HeaderBlockFragment())}
		s.decoder.SetEmitFunc(func(h hpack.HeaderField) { r.fields[h.Name] = h.Value })
		if _, err := s.decoder.Write(f.HeaderBlockFragment()); err != nil || !f.HeadersEnded() {
			s.t.Fatalf("headers of stream %d: %v, ended: %v", f.StreamID, err, f.HeadersEnded())
		}
		s.must(s.decoder.Close())
		s.requests[r.id] = r
		s.order = append(s.order, r.id)
	case *http2.DataFrame:
		r.body = append(r.body, f.Data()...)
		r.ended = f.StreamEnded()
	case *http2.RSTStreamFrame:
		if r == nil {
			s.t.Fatalf("RST_STREAM for stream %d, which was not opened", f.StreamID)
		}
		r.reset = true
	case *http2.SettingsFrame:
		if f.IsAck() {
			s.acks++
		}
		s.must(f.ForeachSetting(func(x http2.Setting) error { s.settings[x.ID] = x.Val; return nil }))
	case *http2.PingFrame:
		if !f.IsAck() {
			s.t.Fatal("the client sent a PING without ACK")
		}
		s.pings = append(s.pings, f.Data)
	case *http2.WindowUpdateFrame:
		if f.StreamID == 0 {
			s.updates += int64(f.Increment)
			return
		}
		if r == nil || !r.long {
			s.t.Fatalf("WINDOW_UPDATE of stream %d", f.StreamID)
		}
		r.updates += int64(f.Increment)
	default:
		s.t.Fatalf("unexpected frame %v", f)
	}
}

// encode returns a header block with the given names and values.
func (s *server) encode(fields ...string) []byte {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		s.must(s.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	return bytes.Clone(s.block.Bytes())
}

func (s *server) headers(id uint32, end bool, fields ...string) {
	s.must(s.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: s.encode(fields...), EndHeaders: true, EndStream: end,
	}))
}

func (s *server) begin(id uint32) {
	s.headers(id, false, ":status", "200", "content-type", "application/grpc")
}

func (s *server) data(id uint32, p []byte) { s.must(s.framer.WriteDataPadded(id, false, p, nil)) }

func (s *server) trailers(id uint32, status, message string) {
	s.headers(id, true, "grpc-status", status, "grpc-message", message)
}

// answer responds to a call in the way gRPC servers do.
func (s *server) answer(id uint32, message []byte) {
	s.begin(id)
	for p := prefixed(message); len(p) > 0; {
		n := min(len(p), DefaultMaxFrameSize)
		s.data(id, p[:n])
		p = p[n:]
	}
	s.trailers(id, "0", "")
}

// feed passes the encoded frames to the Conn and returns copies of the replies.
func (s *server) feed() ([]Reply, error) {
	in := bytes.Clone(s.out.Bytes())
	s.out.Reset()
	replies, err := s.c.Feed(in)
	return copyReplies(replies), err
}

func (s *server) mustFeed() []Reply {
	s.t.Helper()
	replies, err := s.feed()
	s.must(err)
	return replies
}

func copyReplies(replies []Reply) []Reply {
	replies = slices.Clone(replies)
	for i := range replies {
		replies[i].Body = bytes.Clone(replies[i].Body)
		replies[i].Text = bytes.Clone(replies[i].Text)
	}
	return replies
}

func prefixed(message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message))), message...)
}

// onlyReply checks that there is exactly one reply and that it is for the call with the given tag.
// It returns the reply.
func onlyReply(t testing.TB, replies []Reply, tag uint32) Reply {
	t.Helper()
	if len(replies) != 1 || replies[0].Tag != tag || replies[0].Sub != uint8(tag) {
		t.Fatalf("got %d replies %+v, want one to call %d", len(replies), replies, tag)
	}
	return replies[0]
}

package etcd

import (
	"bytes"
	"encoding/binary"
	"io"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/protobuf/proto"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// grpcCall is a request that the scripted server has received.
type grpcCall struct {
	id      uint32
	path    string
	token   string
	message []byte
}

// scripted is the server's end of a codec's connection. It reads what the codec has written,
// and replies as the test specifies.
type scripted struct {
	t       testing.TB
	c       store.Codec
	wire    bytes.Buffer
	in      *http2.Framer
	out     bytes.Buffer
	framer  *http2.Framer
	block   bytes.Buffer
	encoder *hpack.Encoder
	started bool
}

func newScripted(t testing.TB, c store.Codec) *scripted {
	s := &scripted{t: t, c: c}
	s.in = http2.NewFramer(io.Discard, &s.wire)
	s.in.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	s.framer = http2.NewFramer(&s.out, nil)
	s.encoder = hpack.NewEncoder(&s.block)
	return s
}

// greeted returns a scripted server that has already sent its SETTINGS frame.
func greeted(t testing.TB, c store.Codec) *scripted {
	s := newScripted(t, c)
	s.settings()
	s.feed()
	return s
}

func (s *scripted) settings() { s.must(s.framer.WriteSettings()) }

func (s *scripted) must(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

// calls returns the calls that the codec has written since `calls` last ran. It also returns
// messages on streams that were opened earlier; these messages have no path.
func (s *scripted) calls() (calls []*grpcCall) {
	s.t.Helper()
	out := s.c.Out()
	s.wire.Write(out)
	s.c.Wrote(len(out))
	if !s.started {
		s.wire.Next(len(h2.Preface))
		s.started = true
	}
	for s.wire.Len() > 0 {
		f, err := s.in.ReadFrame()
		s.must(err)
		switch f := f.(type) {
		case *http2.MetaHeadersFrame:
			c := &grpcCall{id: f.StreamID, path: f.PseudoValue("path")}
			for _, h := range f.RegularFields() {
				if h.Name == "token" {
					c.token = h.Value
				}
			}
			calls = append(calls, c)
		case *http2.DataFrame:
			if len(calls) == 0 || calls[len(calls)-1].id != f.StreamID {
				calls = append(calls, &grpcCall{id: f.StreamID})
			}
			calls[len(calls)-1].message = bytes.Clone(f.Data()[5:])
		}
	}
	return calls
}

// call returns the only call that the codec has written since `calls` last ran. It parses the
// call's message with the official library.
func (s *scripted) call(path string, m proto.Message) *grpcCall {
	s.t.Helper()
	calls := s.calls()
	if len(calls) != 1 || calls[0].path != path {
		s.t.Fatalf("got %d calls, want one call of %s", len(calls), path)
	}
	s.must(proto.Unmarshal(calls[0].message, m))
	return calls[0]
}

func (s *scripted) headers(id uint32, end bool, fields ...string) {
	s.block.Reset()
	for i := 0; i < len(fields); i += 2 {
		s.must(s.encoder.WriteField(hpack.HeaderField{Name: fields[i], Value: fields[i+1]}))
	}
	s.must(s.framer.WriteHeaders(http2.HeadersFrameParam{
		StreamID: id, BlockFragment: s.block.Bytes(), EndHeaders: true, EndStream: end,
	}))
}

// answer replies to a call with a message.
func (s *scripted) answer(id uint32, m proto.Message) {
	s.t.Helper()
	body, err := proto.Marshal(m)
	s.must(err)
	s.answerBytes(id, body)
}

func (s *scripted) answerBytes(id uint32, body []byte) {
	s.headers(id, false, ":status", "200", "content-type", "application/grpc")
	message := append(binary.BigEndian.AppendUint32([]byte{0}, uint32(len(body))), body...)
	for n := 0; len(message) > 0; message = message[n:] {
		n = min(len(message), h2.DefaultMaxFrameSize)
		s.must(s.framer.WriteData(id, false, message[:n]))
	}
	s.headers(id, true, "grpc-status", "0", "grpc-message", "")
}

// refuse replies to a call with an error status.
func (s *scripted) refuse(id uint32, status, message string) {
	s.headers(id, true, ":status", "200", "content-type", "application/grpc",
		"grpc-status", status, "grpc-message", message)
}

func (s *scripted) tryFeed() ([]store.Event, error) {
	in := bytes.Clone(s.out.Bytes())
	s.out.Reset()
	return s.c.Feed(in, nil)
}

func (s *scripted) feed() []store.Event {
	s.t.Helper()
	events, err := s.tryFeed()
	s.must(err)
	return events
}

// submit submits an operation. It fails the test if the codec cannot accept the operation.
func (s *scripted) submit(op store.Op) {
	s.t.Helper()
	if s.c.Room() <= 0 {
		s.t.Fatal("no room")
	}
	s.c.Submit(&op)
}

// event feeds the replies to the codec and returns the only event that the codec returns.
func (s *scripted) event(tag uint32) store.Event {
	s.t.Helper()
	events := s.feed()
	if len(events) != 1 || events[0].Tag != tag || events[0].Type != store.OperationDone {
		s.t.Fatalf("got %d events %+v, want one event for operation %d", len(events), events, tag)
	}
	return events[0]
}

var testHeader = &pb.ResponseHeader{ClusterId: 1 << 63, MemberId: 1<<64 - 5, Revision: 300, RaftTerm: 1 << 40}

package hostile

import (
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"net"
	"strconv"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
)

// h2Conn is the server's end of an HTTP/2 connection. It responds to calls one after the other.
type h2Conn struct {
	net.Conn
	fr     *http2.Framer
	block  bytes.Buffer
	enc    *hpack.Encoder
	up     *grpc.ClientConn
	calls  map[uint32]*h2Call
	served int // number of calls so far
}

// h2Call is a received unary call.
type h2Call struct {
	id     uint32
	method string // for example /etcdserverpb.KV/Put
	body   []byte // gRPC prefix and message
}

// message returns the call's message without the gRPC prefix.
func (c *h2Call) message() []byte { return c.body[min(5, len(c.body)):] }

// h2Kind returns a kind. In place of sending its SETTINGS frame, the server calls the function
// `greet`. In place of responding to a call, it calls the function `answer`. If a function is nil,
// the server behaves correctly. If `answer` returns false, the server closes the connection.
func h2Kind(name string, greet func(*h2Conn), answer func(*h2Conn, *h2Call) bool) Kind {
	return Kind{Name: name, serve: func(nc net.Conn, upstream string) {
		up, err := grpc.NewClient("passthrough:///"+upstream, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return
		}
		defer func() { _ = up.Close() }()
		c := &h2Conn{Conn: nc, up: up, calls: map[uint32]*h2Call{}}
		c.fr = http2.NewFramer(nc, nc)
		c.fr.AllowIllegalWrites = true
		c.fr.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		c.fr.SetMaxReadFrameSize(1<<24 - 1)
		c.enc = hpack.NewEncoder(&c.block)
		if greet != nil {
			greet(c)
		} else {
			c.settings()
		}
		if _, err := io.ReadFull(nc, make([]byte, len(http2.ClientPreface))); err == nil {
			c.run(answer)
		}
	}}
}

func (c *h2Conn) run(answer func(*h2Conn, *h2Call) bool) {
	for {
		f, err := c.fr.ReadFrame()
		if err != nil {
			return
		}
		var done *h2Call
		switch f := f.(type) {
		case *http2.SettingsFrame:
			if !f.IsAck() {
				_ = c.fr.WriteSettingsAck() // the next read reports a lost connection
			}
		case *http2.PingFrame:
			if !f.IsAck() {
				_ = c.fr.WritePing(true, f.Data)
			}
		case *http2.MetaHeadersFrame:
			call := &h2Call{id: f.StreamID, method: f.PseudoValue("path")}
			c.calls[call.id] = call
			if f.StreamEnded() {
				done = call
			}
		case *http2.DataFrame:
			if call := c.calls[f.StreamID]; call != nil {
				call.body = append(call.body, f.Data()...)
				if f.StreamEnded() {
					done = call
				}
			}
		case *http2.RSTStreamFrame:
			delete(c.calls, f.StreamID)
		}
		if done == nil {
			continue
		}
		delete(c.calls, done.id)
		c.served++
		if answer == nil {
			c.respondCorrectly(done)
		} else if !answer(c, done) {
			return
		}
	}
}

// settings sends a SETTINGS frame.
func (c *h2Conn) settings(s ...http2.Setting) { _ = c.fr.WriteSettings(s...) }

// raw sends an arbitrary frame.
func (c *h2Conn) raw(t http2.FrameType, flags http2.Flags, id uint32, payload []byte) bool {
	return c.fr.WriteRawFrame(t, flags, id, payload) == nil
}

// frameOf returns a frame's bytes.
func frameOf(t http2.FrameType, flags http2.Flags, id uint32, payload []byte) []byte {
	var b bytes.Buffer
	fr := http2.NewFramer(&b, nil)
	fr.AllowIllegalWrites = true
	_ = fr.WriteRawFrame(t, flags, id, payload) // writes to a buffer never fail
	return b.Bytes()
}

// fields returns an encoded header block.
func (c *h2Conn) fields(pairs ...string) []byte {
	c.block.Reset()
	for i := 0; i+1 < len(pairs); i += 2 {
		_ = c.enc.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1], Sensitive: true}) // writes to a buffer never fail
	}
	return bytes.Clone(c.block.Bytes())
}

// begin sends the correct HEADERS frame that begins a response.
func (c *h2Conn) begin(id uint32) bool {
	return c.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders, id, c.fields(":status", "200", "content-type", "application/grpc"))
}

// data sends a DATA frame.
func (c *h2Conn) data(id uint32, payload []byte) bool { return c.raw(http2.FrameData, 0, id, payload) }

// trailers sends the trailers that end a response.
func (c *h2Conn) trailers(id uint32, code, text string) bool {
	return c.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, id, c.fields("grpc-status", code, "grpc-message", text))
}

// reply sends a complete response.
func (c *h2Conn) reply(id uint32, message []byte) bool {
	if !c.begin(id) {
		return false
	}
	for b := prefixed(0, message); len(b) > 0; {
		n := min(len(b), 16<<10)
		if !c.data(id, b[:n]) {
			return false
		}
		b = b[n:]
	}
	return c.trailers(id, "0", "")
}

// refuse responds with an error.
func (c *h2Conn) refuse(id uint32, code int, text string) bool {
	return c.raw(http2.FrameHeaders, http2.FlagHeadersEndHeaders|http2.FlagHeadersEndStream, id,
		c.fields(":status", "200", "content-type", "application/grpc", "grpc-status", strconv.Itoa(code), "grpc-message", text))
}

// respondCorrectly responds to a call with the upstream server's response.
func (c *h2Conn) respondCorrectly(call *h2Call) bool {
	m, err := c.askUpstream(call.method, call.message())
	if err != nil {
		return c.refuse(call.id, int(status.Code(err)), status.Convert(err).Message())
	}
	return c.reply(call.id, m)
}

// askUpstream sends a request to the upstream server and returns its response.
func (c *h2Conn) askUpstream(method string, message []byte) ([]byte, error) {
	var answer []byte
	err := c.up.Invoke(context.Background(), method, &message, &answer, grpc.ForceCodecV2(rawCodec{}))
	return answer, err
}

// prefixed returns a gRPC message with its length prefix.
func prefixed(compressed byte, message []byte) []byte {
	return append(binary.BigEndian.AppendUint32([]byte{compressed}, uint32(len(message))), message...)
}

// rawCodec is a codec for messages that are already encoded.
type rawCodec struct{}

var _ encoding.CodecV2 = rawCodec{}

func (rawCodec) Name() string { return "proto" }

func (rawCodec) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}

func (rawCodec) Unmarshal(b mem.BufferSlice, v any) error {
	*v.(*[]byte) = b.Materialize()
	return nil
}

package nullserver

import (
	"bytes"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// TestRepliesRespectFlowControl checks that a response that is larger than the windows arrives in
// pieces that never exceed the windows. Small responses must be able to overtake the large
// response.
func TestRepliesRespectFlowControl(t *testing.T) {
	value := bytes.Repeat([]byte("0"), 320_000)
	o := store.NullOptions{ValueSize: len(value)}
	const streamWindow = 10_000
	c := dialNarrow(t, start(t, 1, o, nil)[0], h2.Setting{ID: h2.SettingInitialWindowSize, Value: streamWindow})
	large := c.get("large")
	small := c.call("/etcdserverpb.Maintenance/Status", &pb.StatusRequest{})
	got := c.sync()
	if n := len(got[large].body); n != streamWindow {
		t.Fatalf("the client received %d bytes with a window of %d bytes", n, streamWindow)
	}
	got[small].ok(t)

	used := streamWindow + len(got[small].body)
	for _, step := range []struct{ stream, connection int }{{100_000, 0}, {0, 50_000}, {400_000, 400_000}} {
		if step.stream > 0 {
			c.out = h2.AppendWindowUpdate(c.out, large, uint32(step.stream))
		}
		if step.connection > 0 {
			c.out = h2.AppendWindowUpdate(c.out, 0, uint32(step.connection))
		}
		more := c.sync()[large]
		if more == nil {
			t.Fatalf("the client received nothing after step %+v", step)
		}
		used += len(more.body)
		got[large].body = append(got[large].body, more.body...)
		got[large].grpc = more.grpc
		limit := h2.DefaultWindow
		switch {
		case step.stream == 100_000: // the connection's window is the limit now
		case step.connection == 50_000:
			limit += 50_000 // the stream's window is the limit now: 110,000
			limit = min(limit, 110_000+len(got[small].body))
		default:
			continue
		}
		if used != limit {
			t.Fatalf("after step %+v the client has received %d bytes, want %d", step, used, limit)
		}
	}
	got[large].ok(t)
	if answer := got[large].decode(t); !bytes.Equal(answer.Kvs[0].Value, value) {
		t.Error("the received value differs from the written value")
	}
}

// TestNewInitialWindowAppliesToOpenReplies checks that a new initial window also applies to
// responses that have already started (RFC 9113, section 6.9.2).
func TestNewInitialWindowAppliesToOpenReplies(t *testing.T) {
	o := store.NullOptions{ValueSize: 1000}
	c := dial(t, start(t, 1, o, nil)[0], h2.Setting{ID: h2.SettingInitialWindowSize, Value: 0})
	id := c.get("k")
	if got := c.sync()[id]; len(got.body) != 0 || got.status != "200" {
		t.Fatalf("without a window, the client received %+v", got)
	}
	c.out = h2.AppendSettings(c.out, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 100})
	if got := c.sync()[id]; len(got.body) != 100 {
		t.Fatalf("with a window of 100 bytes, the client received %d bytes", len(got.body))
	}
	c.out = h2.AppendSettings(c.out, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 20})
	c.out = h2.AppendWindowUpdate(c.out, id, 100)
	if got := c.sync()[id]; len(got.body) != 20 {
		t.Fatalf("after the window grew by 100 and shrank by 80 bytes, the client received %d bytes", len(got.body))
	}
	// A stream that was reset must not use up the connection's window.
	c.out = h2.AppendRSTStream(c.out, id, h2.ErrCodeCancel)
	c.out = h2.AppendSettings(c.out, h2.Setting{ID: h2.SettingInitialWindowSize, Value: 100_000})
	again := c.get("k")
	got := c.sync()
	if got[id] != nil {
		t.Error("the client received more data on a reset stream")
	}
	got[again].ok(t)
}

// TestWindowUpdateBeforeReply checks that the server respects window updates that arrive before
// it starts to send the response.
func TestWindowUpdateBeforeReply(t *testing.T) {
	clock := settle.NewClock()
	o := options("delay=1ms")
	o.Memory, o.ValueSize = false, 300
	c := dial(t, start(t, 1, o, clock)[0], h2.Setting{ID: h2.SettingInitialWindowSize, Value: 100})
	id := c.get("k")
	c.sync()
	c.out = h2.AppendWindowUpdate(c.out, id, 100_000)
	c.sync()
	clock.Advance(1_000_000)
	c.finish(1)[id].ok(t)
}

// TestReturnsReceiveWindows checks that the server enlarges a receive window again once half of the
// window is used. For the connection's window, this includes data that the server discards.
func TestReturnsReceiveWindows(t *testing.T) {
	s := newSession(&member{identity: newIdentity(1), backend: &cannedBackend{}}, &null.Script{})
	feed := func(in []byte) {
		t.Helper()
		if n, err := s.step(in); n != len(in) || err != nil {
			t.Fatal(n, err)
		}
	}
	feed([]byte(h2.Preface))
	head := block(pathPut)
	feed(append(h2.AppendFrameHeader(nil, len(head), h2.FrameHeaders, h2.FlagEndHeaders, 1), head...))
	s.out = nil
	data := append(h2.AppendFrameHeader(nil, h2.DefaultMaxFrameSize, h2.FrameData, 0, 1), make([]byte, h2.DefaultMaxFrameSize)...)
	for range window / 2 / h2.DefaultMaxFrameSize {
		feed(data)
	}
	if want := h2.AppendWindowUpdate(nil, 0, window/2); !bytes.HasSuffix(s.out, want) {
		t.Errorf("the output % x does not end with the expected WINDOW_UPDATE frame", s.out)
	}
}

// goAway reads until the server sends GOAWAY, and checks the frame's error code. It returns the
// last stream ID in the frame.
func (c *rawClient) goAway(code byte) (last uint32) {
	c.t.Helper()
	c.read(func(f h2.FrameHeader, p []byte, _ map[uint32]*reply) bool {
		if f.Type != h2.FrameGoAway {
			return false
		}
		if p[7] != code {
			c.t.Errorf("GOAWAY with code %d, want %d", p[7], code)
		}
		last = uint32(p[0])<<24 | uint32(p[1])<<16 | uint32(p[2])<<8 | uint32(p[3])
		return true
	})
	return last
}

func TestMaxStreams(t *testing.T) {
	o := options("never every 1")
	o.MaxStreams = 3
	c := dial(t, start(t, 1, o, nil)[0])
	ids := []uint32{c.get("k"), c.get("k"), c.get("k"), c.get("k")}
	got := c.sync()
	if r := got[ids[3]]; len(got) != 1 || r == nil || !r.reset || r.code != h2.ErrCodeRefusedStream {
		t.Errorf("the fourth request with a limit of three got the responses %+v", got)
	}
	c.out = h2.AppendRSTStream(c.out, ids[1], h2.ErrCodeCancel)
	c.get("k")
	if got := c.sync(); len(got) != 0 {
		t.Errorf("after a slot became free, the client received %+v", got)
	}
}

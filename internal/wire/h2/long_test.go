package h2

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// openLong opens a long stream and lets the server read the request.
func (s *server) openLong(tag uint32) (id uint32) {
	s.t.Helper()
	id = s.c.OpenStream(s.m, tag, uint8(tag))
	s.read()
	s.requests[id].long = true
	return id
}

func (s *server) send(id uint32, message []byte) {
	copy(s.c.Send(id, len(message)), message)
}

func TestLongStreamSendsBothWays(t *testing.T) {
	s := greet(t, Config{})
	a, b := s.openLong(1), s.openLong(2)
	s.send(a, []byte("first"))
	s.send(b, []byte("other"))
	s.send(a, nil)
	s.read()
	if got, want := s.requests[a].body, append(prefixed([]byte("first")), prefixed(nil)...); !bytes.Equal(got, want) || s.requests[a].ended {
		t.Fatalf("got %q, ended %v", got, s.requests[a].ended)
	}
	s.begin(a)
	s.data(a, append(prefixed([]byte("one")), prefixed(nil)...))
	s.call(7, []byte("unary meanwhile"))
	s.read()
	s.answer(5, []byte("answer"))
	s.data(a, prefixed([]byte("two")))
	replies := s.mustFeed()
	var seen []string
	for _, r := range replies {
		seen = append(seen, fmt.Sprintf("%d %d %s", r.Tag, r.End, r.Body))
	}
	if got := strings.Join(seen, ", "); got != "1 6 one, 1 6 , 7 0 answer, 1 6 two" {
		t.Fatalf("got %s", got)
	}
	if s.c.Open() != 2 {
		t.Errorf("%d streams are open", s.c.Open())
	}
	// The client half-closes the stream, and then the server ends it.
	s.c.CloseSend(a)
	s.c.CloseSend(a)
	s.read()
	s.check(a, len(prefixed([]byte("first")))+prefixLen, true)
	s.data(a, prefixed([]byte("last")))
	s.trailers(a, "0", "")
	replies = s.mustFeed()
	if len(replies) != 2 || replies[0].End != Message || string(replies[0].Body) != "last" || replies[1].End != Answered || replies[1].Code != StatusOK {
		t.Fatalf("%+v", replies)
	}
	s.read()
	if s.requests[a].reset {
		t.Error("a stream that ended on both sides was reset")
	}
	// The server ends the other stream, although the client has not half-closed it.
	s.begin(b)
	s.trailers(b, "14", "going away")
	if r := onlyReply(t, s.mustFeed(), 2); r.Code != StatusUnavailable || string(r.Text) != "going away" {
		t.Fatalf("%+v", r)
	}
	s.c.CloseSend(b) // does nothing, because the stream has ended
	s.c.ResetStream(b)
	if s.read(); !s.requests[b].reset || s.c.Open() != 0 {
		t.Error("a half-open stream was not reset or is still counted as open")
	}
}

func TestLongStreamEnds(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(s *server, id uint32)
		end  End
		code uint32
		text string
	}{
		"reset":   {func(s *server, id uint32) { s.must(s.framer.WriteRSTStream(id, http2.ErrCodeInternal)) }, Reset, ErrCodeInternal, "INTERNAL_ERROR"},
		"refused": {func(s *server, id uint32) { s.must(s.framer.WriteRSTStream(id, http2.ErrCodeRefusedStream)) }, Refused, ErrCodeRefusedStream, ""},
		"trailers only": {func(s *server, id uint32) {
			s.headers(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "12", "grpc-message", "unknown")
		}, Answered, 12, "unknown"},
		"no status": {func(s *server, id uint32) {
			s.begin(id)
			s.must(s.framer.WriteData(id, true, nil))
		}, Answered, StatusUnknown, "without a gRPC status"},
		"in a message": {func(s *server, id uint32) {
			s.begin(id)
			s.data(id, prefixed([]byte("half"))[:6])
			s.trailers(id, "0", "")
		}, Answered, StatusInternal, "in the middle of a message"},
		"GOAWAY": {func(s *server, _ uint32) { s.must(s.framer.WriteGoAway(0, http2.ErrCodeNo, nil)) }, Unprocessed, 0, "closes the connection"},
	} {
		t.Run(name, func(t *testing.T) {
			s := greet(t, Config{})
			id := s.openLong(9)
			s.send(id, []byte("x"))
			s.read()
			c.do(s, id)
			if r := onlyReply(t, s.mustFeed(), 9); r.End != c.end || r.Code != c.code || !strings.Contains(string(r.Text), c.text) {
				t.Errorf("the reply is %+v with the text %q", r, r.Text)
			}
			if s.c.Open() != 0 {
				t.Error("the stream is still open")
			}
		})
	}
	s := greet(t, Config{})
	s.send(s.openLong(1), []byte("written"))
	s.read()
	id := s.openLong(2)
	s.send(id, []byte("not written"))
	lost := s.c.Lost()
	if len(lost) != 2 || lost[0].End != Broken || lost[1].End != NotSent {
		t.Errorf("%+v", lost)
	}
	if s.c.Cancel(1) {
		t.Error("Cancel ended a long stream")
	}
}

// Messages that cannot be sent immediately must wait in order. They must be sent when the stream's
// window grows, including when the server increases SETTINGS_INITIAL_WINDOW_SIZE.
func TestLongStreamWaitsForWindows(t *testing.T) {
	s := greet(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 100})
	id := s.openLong(1)
	var want []byte
	for i := range 50 {
		m := []byte(fmt.Sprint("message ", i, strings.Repeat("x", i)))
		s.send(id, m)
		want = append(want, prefixed(m)...)
	}
	s.read()
	s.check(id, 100, false)
	for arrived := 100; arrived < len(want); {
		s.window(id, 33)
		arrived = min(arrived+33, len(want))
		s.check(id, arrived, false)
	}
	if !bytes.Equal(s.requests[id].body, want) {
		t.Fatal("the messages are damaged")
	}
	// Messages that are sent while nothing is blocked must also reduce the window.
	left := 33 - (len(want)-100)%33
	s.send(id, message(left-prefixLen))
	s.read()
	s.check(id, len(want)+left, false)
	s.send(id, []byte("waits"))
	s.c.CloseSend(id)
	s.read()
	s.check(id, len(want)+left, false)
	s.sendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 110})
	s.mustFeed()
	s.read()
	s.check(id, len(want)+left+10, true)
	// A change of SETTINGS_INITIAL_WINDOW_SIZE must also apply to streams without waiting messages.
	other := s.openLong(2)
	s.sendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	s.mustFeed()
	s.read()
	s.send(other, []byte("0123456789"))
	s.read()
	s.check(other, 10, false)
	if s.c.blockedLen != 5 {
		t.Errorf("%d bytes are blocked", s.c.blockedLen)
	}
	s.c.ResetStream(other)
	if s.c.blockedLen != 0 || len(s.c.blocked) != 0 {
		t.Error("a stream that was reset is still blocked")
	}
}

// A stream can receive more than 2 GiB, because the connection renews both windows in time.
func TestLongStreamRenewsWindows(t *testing.T) {
	s := greet(t, Config{})
	id := s.openLong(1)
	before := s.updates
	s.begin(id)
	s.mustFeed()
	in := AppendFrameHeader(nil, DefaultMaxFrameSize, FrameData, 0, id)
	in = append(in, prefixed(make([]byte, DefaultMaxFrameSize-prefixLen))...)
	for range 15 {
		in = append(in, in[:FrameHeaderLen+DefaultMaxFrameSize]...)
	}
	const total = 5 << 29 // 2.5 GiB
	messages, came := 0, int64(0)
	for came < total {
		replies, err := s.c.Feed(in)
		s.must(err)
		messages += len(replies)
		came += int64(len(replies)) * DefaultMaxFrameSize
		s.read()
		if r := s.requests[id]; came-r.updates > MaxWindow || came-(s.updates-before) > MaxWindow {
			t.Fatalf("after %d bytes a window is exhausted", came)
		}
	}
	if messages != total/DefaultMaxFrameSize {
		t.Errorf("%d messages", messages)
	}
	if r := s.requests[id]; r.updates == 0 || s.updates == before {
		t.Error("a window was never renewed")
	}
}

// longTranscript returns the output of a server on long streams.
func longTranscript(t testing.TB, rng *rand.Rand, most int) []byte {
	s := greet(t, Config{})
	for i := range uint32(4) {
		s.openLong(i)
	}
	began := [4]bool{}
	for range 60 {
		i := rng.IntN(4)
		id := uint32(2*i + 1)
		if !began[i] {
			began[i] = true
			s.begin(id)
		}
		var p []byte
		for range 1 + rng.IntN(3) {
			p = append(p, prefixed(message(rng.IntN(most)))...)
		}
		for len(p) > 0 {
			n := min(len(p), 1+rng.IntN(DefaultMaxFrameSize))
			s.data(id, p[:n])
			p = p[n:]
		}
	}
	s.trailers(1, "0", "")
	s.trailers(3, "14", "gone")
	return bytes.Clone(s.out.Bytes())
}

func playLong(t testing.TB, in []byte, piece func(left int) int) string {
	c := NewConn(Config{Authority: "h:1"})
	c.maxMessage = 1 << 20
	m := c.Register(testPath, false)
	for i := range uint32(4) {
		id := c.OpenStream(m, i, uint8(i))
		copy(c.Send(id, 2), "ab")
		if i == 2 {
			c.Send(id, 100_000)
			c.CloseSend(id)
		}
	}
	var seen strings.Builder
	ends, buf := 0, []byte(nil)
	for left := in; len(left) > 0; {
		n := piece(len(left))
		buf = append(buf[:0], left[:n]...)
		left = left[n:]
		replies, err := c.Feed(buf)
		for _, r := range replies {
			fmt.Fprintf(&seen, "%d %d %d %d %x %q\n", r.Tag, r.Sub, r.End, r.Code, r.Body, r.Text)
			if r.End != Message {
				ends++
			}
		}
		clear(buf)
		if err != nil {
			fmt.Fprintf(&seen, "%q\n", err)
			break
		}
	}
	if ends+len(c.Lost()) != 4 {
		t.Fatalf("%d of 4 streams ended", ends)
	}
	return seen.String()
}

func TestPiecesOfLongStreamsGiveSameReplies(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 20 {
		in := longTranscript(t, rng, 40_000)
		want := playLong(t, in, inOnePiece)
		for _, most := range []int{1, 2, 10, 100, 5000, 50_000} {
			if got := playLong(t, in, func(left int) int { return min(left, 1+rng.IntN(most)) }); got != want {
				t.Fatalf("pieces of up to %d give different replies", most)
			}
		}
	}
}

func FuzzLongStreams(f *testing.F) {
	rng := rand.New(rand.NewPCG(9, 10))
	f.Add(uint16(1), longTranscript(f, rng, 20))
	f.Add(uint16(7), longTranscript(f, rng, 200))
	f.Fuzz(func(t *testing.T, piece uint16, in []byte) {
		if len(in) > 1<<20 {
			return
		}
		in = append(AppendSettings(nil), in...)
		want := playLong(t, in, inOnePiece)
		if got := playLong(t, in, func(left int) int { return min(left, 1+int(piece)) }); got != want {
			t.Fatalf("pieces of %d bytes give\n%s\nwant\n%s", 1+int(piece), got, want)
		}
	})
}

// longRound returns a function that sends one message and receives one.
func longRound(t testing.TB) func() {
	s := greet(t, Config{})
	id := s.openLong(1)
	s.begin(id)
	s.mustFeed()
	s.data(id, prefixed(message(100)))
	in := bytes.Clone(s.out.Bytes())
	in = append(in, AppendWindowUpdate(nil, id, 15)...)
	in = append(in, AppendWindowUpdate(nil, 0, 15)...)
	return func() {
		copy(s.c.Send(id, 10), "0123456789")
		s.c.Wrote(len(s.c.Out()))
		if replies, err := s.c.Feed(in); err != nil || len(replies) != 1 {
			t.Fatal(replies, err)
		}
	}
}

func BenchmarkLongStream(b *testing.B) {
	once := longRound(b)
	b.ReportAllocs()
	for b.Loop() {
		once()
	}
}

// In the steady state, a message in either direction must not allocate memory.
func TestLongStreamDoesNotAllocate(t *testing.T) {
	once := longRound(t)
	once()
	if n := testing.AllocsPerRun(1000, once); n != 0 {
		t.Errorf("%v allocations per message", n)
	}
}

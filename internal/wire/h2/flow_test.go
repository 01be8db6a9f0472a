package h2

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
)

// message returns n bytes whose pattern reveals misplaced parts.
func message(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7 >> 3)
	}
	return b
}

func (s *server) window(id, n uint32) {
	s.t.Helper()
	s.must(s.framer.WriteWindowUpdate(id, n))
	s.mustFeed()
	s.read()
}

func (s *server) check(id uint32, arrived int, ended bool) {
	s.t.Helper()
	r := s.requests[id]
	if len(r.body) != arrived || r.ended != ended {
		s.t.Fatalf("%d bytes of stream %d arrived, ended: %v; want %d, %v", len(r.body), id, r.ended, arrived, ended)
	}
}

func TestLargeRequestWaitsForWindows(t *testing.T) {
	s := greet(t, Config{})
	big := message(1 << 20)
	whole := len(big) + prefixLen
	s.call(1, big)
	s.read()
	s.check(1, DefaultWindow, false)
	s.window(0, 100) // exhausts the stream's window
	s.check(1, DefaultWindow, false)
	s.window(1, 50)
	s.check(1, DefaultWindow+50, false)
	s.window(1, 1000)
	s.check(1, DefaultWindow+100, false)

	s.call(2, []byte("small")) // exhausts the connection's window
	s.read()
	s.check(3, 0, false)
	s.window(0, 4) // the older stream uses up these 4 bytes
	s.check(1, DefaultWindow+104, false)
	s.window(0, 1<<20)
	s.check(1, DefaultWindow+1050, false)
	s.check(3, 10, true)
	s.call(3, []byte("small"))
	s.read()
	s.check(5, 10, true)

	s.window(1, 1<<20)
	s.check(1, whole, true)
	if !bytes.Equal(s.requests[1].body, prefixed(big)) {
		t.Fatal("the message is damaged")
	}
	if s.c.blockedLen != 0 || len(s.c.blocked) != 0 {
		t.Errorf("%d bytes are still blocked", s.c.blockedLen)
	}
}

func TestInitialWindowChanges(t *testing.T) {
	s := greet(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: 10})
	s.call(1, message(100))
	s.read()
	s.check(1, 10, false)
	s.sendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 2}) // makes the stream's window -8
	s.mustFeed()
	s.window(1, 9)
	s.check(1, 11, false)
	s.sendSettings(http2.Setting{ID: http2.SettingInitialWindowSize, Val: 200})
	s.mustFeed()
	s.read()
	s.check(1, 105, true)
	s.call(2, message(100))
	s.read()
	s.check(3, 105, true)
}

func TestMaxFrameSize(t *testing.T) {
	for _, size := range []uint32{DefaultMaxFrameSize, 20_000, 1<<24 - 1} {
		s := greet(t, Config{},
			http2.Setting{ID: http2.SettingMaxFrameSize, Val: size},
			http2.Setting{ID: http2.SettingInitialWindowSize, Val: MaxWindow})
		s.in.SetMaxReadFrameSize(size)
		s.window(0, 1<<30)
		for i, n := range []int{16_379, 16_380, 20_000, 300_000} {
			s.call(1, message(n))
			s.read()
			s.check(uint32(2*i+1), n+5, true)
		}
	}
}

func TestPendingBytesLimitRoom(t *testing.T) {
	s := greet(t, Config{})
	n := 0
	for ; s.c.Room() > 0; n++ {
		s.call(uint32(n), message(1<<20))
	}
	if n != 4 {
		t.Errorf("%d calls of 1 MB were accepted without a window, want 4", n)
	}
	s.c.Cancel(2)
	if s.c.Room() == 0 {
		t.Error("a cancelled call still occupies its bytes")
	}
}

func TestBlockedRequestEndsEarly(t *testing.T) {
	s := greet(t, Config{})
	for i := range uint32(4) {
		s.call(i, message(100_000))
	}
	s.read()
	s.headers(1, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "8", "grpc-message", "too large")
	if r := onlyReply(t, s.mustFeed(), 0); r.Code != 8 {
		t.Errorf("got %+v", r)
	}
	s.must(s.framer.WriteRSTStream(3, http2.ErrCodeNo))
	onlyReply(t, s.mustFeed(), 1)
	s.c.Cancel(2)
	s.read()
	if !s.requests[1].reset || s.requests[3].reset || !s.requests[5].reset {
		t.Error("a request that was not sent completely must be reset, unless the server reset it")
	}
	s.window(7, 1<<20)
	s.window(0, 1<<20)
	s.check(7, 100_005, true)
	if !bytes.Equal(s.requests[7].body, prefixed(message(100_000))) {
		t.Error("the message is damaged")
	}
	if lost := s.c.Lost(); len(lost) != 1 || lost[0].End != Broken {
		t.Errorf("lost %+v", lost)
	}
}

func TestBlockedRequestIsNotSent(t *testing.T) {
	s := greet(t, Config{})
	s.call(1, message(100_000))
	s.read()
	if r := onlyReply(t, s.c.Lost(), 1); r.End != NotSent {
		t.Errorf("a partly written request is reported as %+v", r)
	}
}

// The reader is so slow that the output never becomes empty.
func TestSlowWriter(t *testing.T) {
	s := greet(t, Config{}, http2.Setting{ID: http2.SettingInitialWindowSize, Val: MaxWindow})
	s.must(s.framer.WriteWindowUpdate(0, 1<<30))
	s.mustFeed()
	for i := range uint32(300) {
		s.call(i, message(1000))
		s.call(i, message(20_000))
		out := s.c.Out()
		n := min(len(out)-1, 20_500)
		s.wire.Write(out[:n])
		s.c.Wrote(n)
		if s.c.Room() == 0 {
			s.read()
		}
	}
	s.read()
	for i, id := range s.order {
		want := prefixed(message([]int{1000, 20_000}[i%2]))
		if !bytes.Equal(s.requests[id].body, want) || !s.requests[id].ended {
			t.Fatalf("request %d is damaged", i)
		}
	}
	if len(s.order) != 600 {
		t.Errorf("%d requests arrived, want 600", len(s.order))
	}
	if cap(s.c.out) > 16<<20 {
		t.Errorf("the output has grown to %d bytes", cap(s.c.out))
	}
}

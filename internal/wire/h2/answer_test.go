package h2

import (
	"bytes"
	"encoding/binary"
	"strings"
	"testing"

	"golang.org/x/net/http2"
)

// TestAnswers checks each form that a server's response may have.
func TestAnswers(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16) // 1 MiB
	for _, tc := range []struct {
		name   string
		answer func(s *server)
		code   uint32
		body   string
		text   string
	}{
		{"plain", func(s *server) { s.answer(1, []byte("v")) }, 0, "v", ""},
		{"empty message", func(s *server) { s.answer(1, nil) }, 0, "", ""},
		{"many frames", func(s *server) { s.answer(1, big) }, 0, string(big), ""},
		{"byte by byte", func(s *server) {
			s.begin(1)
			for _, b := range prefixed([]byte("message")) {
				s.data(1, []byte{b})
			}
			s.data(1, nil)
			s.trailers(1, "0", "")
		}, 0, "message", ""},
		{"padded", func(s *server) {
			s.must(s.framer.WriteHeaders(http2.HeadersFrameParam{
				StreamID: 1, EndHeaders: true, PadLength: 9,
				Priority:      http2.PriorityParam{Weight: 3, StreamDep: 7},
				BlockFragment: s.encode(":status", "200", "content-type", "application/grpc+proto"),
			}))
			s.must(s.framer.WriteDataPadded(1, false, prefixed([]byte("v")), make([]byte, 255)))
			s.trailers(1, "0", "")
		}, 0, "v", ""},
		{"continuation", func(s *server) {
			for i, part := range [][]string{
				{":status", "200", "content-type", "application/grpc"}, {"grpc-status", "0"},
			} {
				block := s.encode(part...)
				s.must(s.framer.WriteHeaders(http2.HeadersFrameParam{
					StreamID: 1, BlockFragment: block[:1], EndStream: i == 1,
				}))
				s.must(s.framer.WriteContinuation(1, false, block[1:2]))
				s.must(s.framer.WriteContinuation(1, true, block[2:]))
				if i == 0 {
					s.data(1, prefixed([]byte("v")))
				}
			}
		}, 0, "v", ""},
		{"informational first", func(s *server) {
			s.headers(1, false, ":status", "103", "link", "x")
			s.answer(1, []byte("v"))
		}, 0, "v", ""},
		{"trailers only", func(s *server) {
			s.headers(1, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "14", "grpc-message", "go%20away%")
		}, 14, "", "go away%"},
		{"error after a message", func(s *server) {
			s.begin(1)
			s.data(1, prefixed([]byte("v")))
			s.trailers(1, "8", "too many")
		}, 8, "", "too many"},
		{"no message", func(s *server) { s.begin(1); s.trailers(1, "0", "") },
			StatusInternal, "", "the server returned status OK without a message"},
		{"half a message", func(s *server) { s.begin(1); s.data(1, []byte{0, 0, 0, 0, 9, 1}); s.trailers(1, "0", "") },
			StatusInternal, "", "the server returned status OK without a message"},
		{"no trailers", func(s *server) {
			s.begin(1)
			s.must(s.framer.WriteData(1, true, prefixed([]byte("v"))))
		}, StatusUnknown, "", "the server ended the response without a gRPC status"},
		{"bad status", func(s *server) { s.begin(1); s.data(1, prefixed(nil)); s.trailers(1, "none", "") },
			StatusUnknown, "", ""},
		{"web page", func(s *server) {
			s.headers(1, false, ":status", "404", "content-type", "text/html")
			s.data(1, []byte("<html>"))
		}, 12, "", `the server answered with HTTP status 404 and content-type "text/html", not with gRPC`},
		{"proxy error", func(s *server) { s.headers(1, true, ":status", "503") },
			StatusUnavailable, "", `the server answered with HTTP status 503 and content-type "", not with gRPC`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s := greet(t, Config{})
			s.call(1, nil)
			tc.answer(s)
			r := onlyReply(t, s.mustFeed(), 1)
			if r.End != Answered || r.Code != tc.code || string(r.Body) != tc.body || string(r.Text) != tc.text {
				t.Errorf("got end %d, code %d, %d bytes of body, text %q", r.End, r.Code, len(r.Body), r.Text)
			}
			if s.c.Open() != 0 {
				t.Error("the stream is still open")
			}
		})
	}
}

// A reply must stay valid even if the caller overwrites its input buffer between two calls of Feed.
func TestMessageOutlivesItsInput(t *testing.T) {
	s := greet(t, Config{})
	s.call(1, nil)
	s.begin(1)
	s.data(1, prefixed([]byte("message")))
	in := bytes.Clone(s.out.Bytes())
	s.out.Reset()
	if replies, err := s.c.Feed(in); err != nil || len(replies) != 0 {
		t.Fatal(replies, err)
	}
	clear(in)
	s.trailers(1, "0", "")
	if r := onlyReply(t, s.mustFeed(), 1); string(r.Body) != "message" {
		t.Errorf("body %q", r.Body)
	}
}

// The connection caches decoded header blocks by their encoded bytes. It must clear this cache when
// the table changes, because the same bytes then decode to other fields.
func TestTableChangeForgetsBlocks(t *testing.T) {
	s := greet(t, Config{})
	for i := range uint32(2000) {
		s.call(i, nil)
		id := i*2 + 1
		if i%3 == 0 { // a new entry changes the index of every other entry
			s.headers(id, false, ":status", "200", "content-type", "application/grpc", "date", strings.Repeat("d", int(i%50)))
		} else {
			s.begin(id)
		}
		s.data(id, prefixed([]byte{byte(i)}))
		status := []string{"0", "0", "5", "14", "8", "0", "13"}[i%7]
		s.trailers(id, status, "status "+status)
		r := onlyReply(t, s.mustFeed(), i)
		if status == "0" && (r.Code != 0 || r.Body[0] != byte(i)) || string(r.Text) != "status "+status && r.Code != 0 {
			t.Fatalf("call %d: %+v, want status %s", i, r, status)
		}
	}
}

func TestCancel(t *testing.T) {
	s := greet(t, Config{}, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: 2})
	s.call(1, nil)
	s.call(2, nil)
	s.c.Cancel(7) // no call has this tag
	s.c.Cancel(1)
	if s.c.Open() != 1 || s.c.Room() != 1 {
		t.Fatalf("open %d, room %d", s.c.Open(), s.c.Room())
	}
	s.call(1, nil) // the tag can be reused
	s.read()
	if !s.requests[1].reset || s.requests[3].reset {
		t.Error("RST_STREAM for the wrong stream")
	}
	// The late response adds an entry to the header table. The next response refers to this entry.
	s.answer(1, []byte("late"))
	s.must(s.framer.WriteRSTStream(1, http2.ErrCodeCancel))
	s.must(s.framer.WriteWindowUpdate(1, 5))
	s.answer(5, []byte("new"))
	if r := onlyReply(t, s.mustFeed(), 1); string(r.Body) != "new" {
		t.Errorf("body %q", r.Body)
	}
	s.answer(3, []byte("second"))
	if r := onlyReply(t, s.mustFeed(), 2); string(r.Body) != "second" {
		t.Errorf("body %q", r.Body)
	}
}

func TestReset(t *testing.T) {
	s := greet(t, Config{})
	s.call(1, nil)
	s.call(2, nil)
	s.must(s.framer.WriteRSTStream(1, http2.ErrCodeRefusedStream))
	if r := onlyReply(t, s.mustFeed(), 1); r.End != Refused {
		t.Errorf("REFUSED_STREAM is %+v", r)
	}
	s.begin(3)
	s.must(s.framer.WriteRSTStream(3, http2.ErrCodeInternal))
	if r := onlyReply(t, s.mustFeed(), 2); r.End != Reset || r.Code != ErrCodeInternal || !strings.Contains(string(r.Text), "INTERNAL_ERROR") {
		t.Errorf("INTERNAL_ERROR is %+v", r)
	}
}

func TestGoAway(t *testing.T) {
	s := greet(t, Config{})
	for i := range uint32(4) {
		s.call(i, make([]byte, 30_000)) // calls 2 and 3 wait for the window
	}
	s.must(s.framer.WriteGoAway(LastStreamID, http2.ErrCodeNo, nil))
	if len(s.mustFeed()) != 0 || !s.c.Draining() || s.c.Room() != 0 || s.c.Open() != 4 {
		t.Fatal("a first GOAWAY must only prevent new streams")
	}
	s.must(s.framer.WriteGoAway(3, http2.ErrCodeEnhanceYourCalm, []byte("too_many_pings")))
	replies := s.mustFeed()
	if len(replies) != 2 || replies[0].Tag != 2 || replies[1].Tag != 3 || replies[0].End != Unprocessed {
		t.Fatalf("got %+v", replies)
	}
	s.answer(1, []byte("v"))
	onlyReply(t, s.mustFeed(), 0)
	s.read()
	lost := s.c.Lost()
	if r := onlyReply(t, lost, 1); r.End != Broken || !strings.Contains(string(r.Text), `ENHANCE_YOUR_CALM ("too_many_pings")`) {
		t.Errorf("lost %+v: %s", r, r.Text)
	}
}

func TestPing(t *testing.T) {
	s := greet(t, Config{})
	s.must(s.framer.WritePing(false, [8]byte{1, 2, 3}))
	s.must(s.framer.WritePing(true, [8]byte{9}))
	s.mustFeed()
	s.read()
	if len(s.pings) != 1 || s.pings[0] != [8]byte{1, 2, 3} {
		t.Errorf("answers to PING: %v", s.pings)
	}
}

func TestIgnoredFrames(t *testing.T) {
	s := greet(t, Config{})
	s.call(1, nil)
	s.must(s.framer.WriteRawFrame(0xee, 0xff, 77, []byte("anything")))
	s.must(s.framer.WritePriority(9, http2.PriorityParam{Weight: 3}))
	s.must(s.framer.WriteSettings(http2.Setting{ID: 0xfe, Val: 3}))
	s.must(s.framer.WriteSettingsAck())
	s.answer(1, []byte("v"))
	onlyReply(t, s.mustFeed(), 1)
}

func TestConnectionWindowIsRenewed(t *testing.T) {
	s := greet(t, Config{})
	before := s.updates
	s.call(1, nil)
	s.c.unacked = MaxWindow/2 - 10
	s.answer(1, []byte("some bytes"))
	onlyReply(t, s.mustFeed(), 1)
	s.read()
	if got := s.updates - before; got != MaxWindow/2-10+15 {
		t.Errorf("the window was increased by %d", got)
	}
}

func TestUnescape(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "a b": "a b", "%41%e2%82%AC": "A€", "%": "%", "%4": "%4", "%zz%": "%zz%", "100%25": "100%",
	} {
		if got := string(unescape(in)); got != want {
			t.Errorf("unescape(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestMessageLimit(t *testing.T) {
	s := greet(t, Config{})
	s.call(1, nil)
	s.begin(1)
	s.data(1, binary.BigEndian.AppendUint32([]byte{0}, 65<<20))
	_, err := s.feed()
	if want := "the server announced a response of 68157440 bytes, but at most 67108864 bytes are accepted"; err == nil || err.Error() != want {
		t.Errorf("error %v", err)
	}
}

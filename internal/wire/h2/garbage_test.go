package h2

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/http2"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

func frame(typ, flags byte, stream uint32, payload ...byte) []byte {
	return append(AppendFrameHeader(nil, len(payload), typ, flags, stream), payload...)
}

// If a server does not speak HTTP/2, its first bytes must lead to a specific one-line error.
func TestGreetingOfOtherProtocols(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want string
	}{
		{"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\n400", ErrHTTP1.Error()},
		{"\x15\x03\x01\x00\x02\x02\x16", ErrTLS.Error()},
		{"SSH-2.0-OpenSSH_9.6\r\n", `the server does not speak HTTP/2: its first bytes are "SSH-2.0-O"`},
		{string(frame(FramePing, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8)), "the server does not speak HTTP/2"},
		{string(frame(FrameSettings, FlagAck, 0)), "the server does not speak HTTP/2"},
		{"\xff\xff\xff\x04\x00\x00\x00\x00\x00", "the server does not speak HTTP/2"},
	} {
		for _, step := range []int{1, 4, 1000} {
			c := NewConn(Config{})
			copy(c.Call(c.Register("/x", false), 1, 0, 3), "abc")
			var err error
			for in := []byte(tc.in); len(in) > 0 && err == nil; {
				n := min(step, len(in))
				_, err = c.Feed(in[:n])
				in = in[n:]
			}
			if err == nil || !strings.HasPrefix(err.Error(), tc.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%.20q in steps of %d: %v", tc.in, step, err)
			}
			if _, again := c.Feed(nil); !errors.Is(again, err) || c.Room() != 0 || !c.Draining() {
				t.Errorf("%.20q: the connection stays usable", tc.in)
			}
			if lost := c.Lost(); len(lost) != 1 || lost[0].End != NotSent {
				t.Errorf("%.20q: lost %+v", tc.in, lost)
			}
		}
	}
	c := NewConn(Config{})
	if _, err := c.Feed([]byte("\x00\x00")); err != nil {
		t.Errorf("two bytes: %v", err)
	}
}

// Input that no server may send must lead to a short one-line error.
func TestBrokenServers(t *testing.T) {
	many := bytes.Repeat([]byte("\x00\x01x\x01y"), 3000)
	for name, in := range map[string][]byte{
		"huge frame":             {0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1},
		"data, stream 0":         frame(FrameData, 0, 0, 1),
		"data, even stream":      frame(FrameData, 0, 2, 1),
		"data, not opened":       frame(FrameData, 0, 99, 1),
		"data before headers":    frame(FrameData, 0, 1, 0, 0, 0, 0, 0),
		"bad data padding":       slices.Concat(okHeaders(1), frame(FrameData, FlagPadded, 1, 5, 1, 2)),
		"no data padding":        slices.Concat(okHeaders(1), frame(FrameData, FlagPadded, 1)),
		"compressed":             slices.Concat(okHeaders(1), frame(FrameData, 0, 1, 1, 0, 0, 0, 0)),
		"second message":         slices.Concat(okHeaders(1), frame(FrameData, 0, 1, 0, 0, 0, 0, 0, 0)),
		"second message later":   slices.Concat(okHeaders(1), frame(FrameData, 0, 1, 0, 0, 0, 0, 0), frame(FrameData, 0, 1, 0)),
		"headers, stream 0":      frame(FrameHeaders, FlagEndHeaders, 0, 0x88),
		"headers, not opened":    frame(FrameHeaders, FlagEndHeaders, 5, 0x88),
		"bad header padding":     frame(FrameHeaders, FlagEndHeaders|FlagPadded, 1, 9, 0x88),
		"short priority":         frame(FrameHeaders, FlagEndHeaders|FlagPriority, 1, 9, 0x88),
		"bad index":              frame(FrameHeaders, FlagEndHeaders, 1, 0xfe),
		"index 0":                frame(FrameHeaders, FlagEndHeaders, 1, 0x80),
		"truncated block":        frame(FrameHeaders, FlagEndHeaders, 1, 0x40, 5),
		"huge string":            frame(FrameHeaders, FlagEndHeaders, 1, 0x40, 0x7f, 0xff, 0xff, 0xff, 0xff, 0x0f),
		"trailers do not end":    slices.Concat(okHeaders(1), okHeaders(1)),
		"continuation alone":     frame(FrameContinuation, FlagEndHeaders, 1, 0x88),
		"interrupted block":      slices.Concat(frame(FrameHeaders, 0, 1, 0x88), frame(FramePing, 0, 0, make([]byte, 8)...)),
		"other's continuation":   slices.Concat(frame(FrameHeaders, 0, 1, 0x88), frame(FrameContinuation, 0, 3, 0x88)),
		"endless headers":        slices.Concat(frame(FrameHeaders, 0, 1, 0x88), bytes.Repeat(frame(FrameContinuation, 0, 1, many...), 30)),
		"push":                   frame(FramePushPromise, FlagEndHeaders, 1, 0, 0, 0, 2, 0x88),
		"settings length":        frame(FrameSettings, 0, 0, 1, 2, 3),
		"settings stream":        frame(FrameSettings, 0, 1),
		"settings ack length":    frame(FrameSettings, FlagAck, 0, make([]byte, 6)...),
		"settings window":        AppendSettings(nil, Setting{SettingInitialWindowSize, 1 << 31}),
		"settings frame":         AppendSettings(nil, Setting{SettingMaxFrameSize, 100}),
		"settings frame large":   AppendSettings(nil, Setting{SettingMaxFrameSize, 1 << 24}),
		"ping length":            frame(FramePing, 0, 0, 1),
		"ping stream":            frame(FramePing, 0, 1, make([]byte, 8)...),
		"ping flood":             bytes.Repeat(frame(FramePing, 0, 0, make([]byte, 8)...), 10_001),
		"settings flood":         bytes.Repeat(frame(FrameSettings, 0, 0), 10_001),
		"reset length":           frame(FrameRSTStream, 0, 1, 1),
		"reset stream 0":         frame(FrameRSTStream, 0, 0, 0, 0, 0, 1),
		"reset not opened":       frame(FrameRSTStream, 0, 7, 0, 0, 0, 1),
		"goaway length":          frame(FrameGoAway, 0, 0, 1, 2, 3),
		"goaway stream":          frame(FrameGoAway, 0, 1, make([]byte, 8)...),
		"window length":          frame(FrameWindowUpdate, 0, 0, 1),
		"window 0":               AppendWindowUpdate(nil, 0, 0),
		"window overflow":        AppendWindowUpdate(nil, 0, MaxWindow),
		"stream window overflow": AppendWindowUpdate(nil, 3, MaxWindow),
		"window not opened":      AppendWindowUpdate(nil, 9, 1),
		"priority length":        frame(FramePriority, 0, 1, 1),
	} {
		s := greet(t, Config{})
		s.call(1, nil)
		s.call(2, message(100_000))
		replies, err := s.c.Feed(in)
		if err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
			t.Errorf("%s: error %v", name, err)
		}
		if n := len(replies) + len(s.c.Lost()); n != 2 {
			t.Errorf("%s: %d replies", name, n)
		}
	}
}

// okHeaders returns the HEADERS frame of a successful response, encoded by hand.
func okHeaders(id uint32) []byte {
	block := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	return frame(FrameHeaders, FlagEndHeaders, id, block...)
}

// transcript returns the output of a server for the calls that play makes.
func transcript(t testing.TB, rng *rand.Rand, most int) []byte {
	s := greet(t, Config{})
	for i := range uint32(playCalls) {
		s.call(i, nil)
	}
	s.sendSettings()
	for i := range uint32(playCalls) {
		id := i*2 + 1
		switch rng.IntN(8) {
		case 0:
			s.answer(id, message(rng.IntN(most)))
		case 1:
			s.headers(id, true, ":status", "200", "content-type", "application/grpc", "grpc-status", "8", "grpc-message", "no")
		case 2:
			s.must(s.framer.WriteRSTStream(id, http2.ErrCodeRefusedStream))
		case 3:
			s.begin(id)
			for _, b := range prefixed([]byte("byte by byte")) {
				s.data(id, []byte{b})
			}
			s.trailers(id, "0", "")
		case 4:
			s.must(s.framer.WritePing(false, [8]byte{byte(i)}))
			s.answer(id, []byte{byte(i)})
		case 5:
			s.begin(id)
			s.data(id, prefixed([]byte("mixed"))[:7])
			s.data(id, prefixed([]byte("mixed"))[7:])
			s.trailers(id, "0", fmt.Sprint("text ", i))
		default:
			s.answer(id, message(rng.IntN(min(most, 300))))
		}
	}
	s.must(s.framer.WriteGoAway(LastStreamID, http2.ErrCodeNo, nil))
	return bytes.Clone(s.out.Bytes())
}

const playCalls = 30

// play makes calls, feeds the input in pieces, and returns the results as text. After each Feed,
// play overwrites the input, as a caller that reuses its read buffer does.
func play(t testing.TB, in []byte, piece func(left int) int) string {
	c := NewConn(Config{Authority: "h:1"})
	c.maxMessage = 1 << 20
	m := c.Register(testPath, false)
	for i := range uint32(playCalls) {
		copy(c.Call(m, i, uint8(i), 2), "ab")
	}
	c.Call(m, playCalls, playCalls, 100_000)
	var seen strings.Builder
	left, buf := in, []byte(nil)
	for len(left) > 0 {
		n := piece(len(left))
		buf = append(buf[:0], left[:n]...)
		left = left[n:]
		replies, err := c.Feed(buf)
		for _, r := range replies {
			fmt.Fprintf(&seen, "%d %d %d %d %x %q\n", r.Tag, r.Sub, r.End, r.Code, r.Body, r.Text)
		}
		clear(buf)
		if err != nil {
			fmt.Fprintf(&seen, "%q\n", err)
			break
		}
	}
	ends := strings.Count(seen.String(), "\n")
	if c.err != nil {
		ends--
	}
	if ends+len(c.Lost()) != playCalls+1 {
		t.Fatalf("%d calls ended, %d were open", ends, c.Open())
	}
	if limit := 1<<20 + 4*len(in); cap(c.out)+c.freeLen+cap(c.block)+c.budget.Size() > limit {
		t.Fatalf("more than %d bytes of memory are used for %d bytes of input", limit, len(in))
	}
	return seen.String()
}

func inOnePiece(left int) int { return left }

func TestPiecesGiveSameReplies(t *testing.T) {
	settle.SkipUnderRace(t)
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20 {
		in := transcript(t, rng, 60_000)
		want := play(t, in, inOnePiece)
		for _, most := range []int{1, 2, 10, 100, 5000, 50_000} {
			if got := play(t, in, func(left int) int { return min(left, 1+rng.IntN(most)) }); got != want {
				t.Fatalf("pieces of up to %d give different replies", most)
			}
		}
	}
}

func FuzzFeed(f *testing.F) {
	rng := rand.New(rand.NewPCG(5, 6))
	f.Add(uint16(1), transcript(f, rng, 20))
	f.Add(uint16(100), []byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
	f.Fuzz(func(t *testing.T, piece uint16, in []byte) {
		if len(in) > 1<<20 {
			return
		}
		// Also test the input after a valid greeting, so that the fuzzer need not generate a
		// greeting.
		for _, in := range [][]byte{in, append(AppendSettings(nil), in...)} {
			want := play(t, in, inOnePiece)
			if got := play(t, in, func(left int) int { return min(left, 1+int(piece)) }); got != want {
				t.Fatalf("pieces of %d bytes give\n%s\nwant\n%s", 1+int(piece), got, want)
			}
		}
	})
}

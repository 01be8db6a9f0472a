package h2

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// flood feeds the same frames repeatedly. It returns the connection's error and the number of bytes
// that were fed before the error.
func flood(s *server, frames []byte, most int) (fed int, err error) {
	in := bytes.Repeat(frames, 1+(64<<10)/len(frames))
	for fed < most && err == nil {
		_, err = s.c.Feed(in)
		fed += len(in)
		s.c.Wrote(len(s.c.Out()))
	}
	return fed, err
}

// Too many idle frames must end the connection, whatever their type.
func TestFloodEndsConnection(t *testing.T) {
	goAway := append(AppendFrameHeader(nil, 8, FrameGoAway, 0, 0), 0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0)
	for what, frames := range map[string][]byte{
		"GOAWAY":        goAway,
		"PING":          AppendPing(nil, 0, make([]byte, 8)),
		"PING answered": AppendPing(nil, FlagAck, make([]byte, 8)),
		"SETTINGS":      AppendSettings(nil),
		"table sizes":   append(AppendSettings(nil, Setting{SettingHeaderTableSize, 0}), AppendSettings(nil, Setting{SettingHeaderTableSize, 4096})...),
		"PRIORITY":      append(AppendFrameHeader(nil, 5, FramePriority, 0, 1), 0, 0, 0, 0, 0),
		"no such type":  AppendFrameHeader(nil, 0, 0x7f, 0, 0),
		"empty DATA":    AppendFrameHeader(nil, 0, FrameData, 0, 1),
	} {
		s := greet(t, Config{})
		s.call(1, []byte("v"))
		s.read()
		if what == "empty DATA" {
			head := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
			if _, err := s.c.Feed(append(AppendFrameHeader(nil, len(head), FrameHeaders, FlagEndHeaders, 1), head...)); err != nil {
				t.Fatal(err)
			}
		}
		if fed, err := flood(s, frames, 64<<20); err == nil {
			t.Errorf("%s: %d MiB are accepted", what, fed>>20)
		} else if fed > (MaxIdleFrames+10_000)*40 {
			t.Errorf("%s: %d bytes were accepted before %v", what, fed, err)
		}
	}
}

// A header block that refers repeatedly to one long field is short. The total length of the fields
// must be limited, too.
func TestHeaderBombEndsConnection(t *testing.T) {
	s := greet(t, Config{})
	s.call(1, []byte("v"))
	s.read()
	var block bytes.Buffer
	e := hpack.NewEncoder(&block)
	field := hpack.HeaderField{Name: "grpc-message", Value: strings.Repeat("%41", 1200)}
	for range 10_000 {
		if err := e.WriteField(field); err != nil {
			t.Fatal(err)
		}
	}
	s.must(s.framer.WriteHeaders(http2.HeadersFrameParam{StreamID: 1, BlockFragment: block.Bytes(), EndHeaders: true}))
	if _, err := s.feed(); err == nil || !strings.Contains(err.Error(), "of headers for one response") {
		t.Errorf("a block of %d bytes: %v", block.Len(), err)
	}
}

// For the buffer of an incomplete response, the budget must count the announced length of the
// response. The connection must return each buffer to the budget.
func TestPartialResponsesReturnBuffers(t *testing.T) {
	budget := parts.New(1 << 20)
	s := greet(t, Config{BufferBudget: budget})
	for i := range uint32(3) {
		s.call(i, []byte("v"))
	}
	s.read()
	head := append([]byte{0x88, 0x0f, 0x10, 16}, "application/grpc"...)
	var in []byte
	for id := uint32(1); id <= 5; id += 2 {
		in = append(append(AppendFrameHeader(in, len(head), FrameHeaders, FlagEndHeaders, id), head...), AppendFrameHeader(nil, 5+10_000, FrameData, 0, id)...)
		in = append(append(in, 0, 0, 1, 0, 0), make([]byte, 10_000)...)
	}
	if _, err := s.c.Feed(in); err != nil {
		t.Fatal(err)
	}
	if n := budget.LentBytes(); n != 3*65_536 {
		t.Errorf("%d bytes are held", n)
	}
	s.c.Cancel(0)
	if n := budget.LentBytes(); n != 2*65_536 {
		t.Errorf("%d bytes are held after one call was cancelled", n)
	}
	s.c.Lost()
	if n := budget.LentBytes(); n != 0 {
		t.Errorf("%d bytes are held after the end", n)
	}
}

package jute_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// listener records the decoded frames as text.
type listener struct{ frames []string }

func (l *listener) OnFrame(fromClient, first bool, body []byte, size int) {
	l.frames = append(l.frames, fmt.Sprintf("%v %v %d %q", fromClient, first, size, body))
}

// decode feeds the bytes of both directions to a decoder in pieces of the given size, and returns
// the decoded frames.
func decode(client, server []byte, piece int) ([]string, error) {
	var l listener
	o := jute.NewPassiveDecoder(&l)
	for _, side := range []struct {
		ofClient bool
		b        []byte
	}{{true, client}, {false, server}} {
		for b := side.b; len(b) > 0; {
			n := min(piece, len(b))
			if err := o.Feed(side.ofClient, append([]byte(nil), b[:n]...)); err != nil {
				return l.frames, err
			}
			b = b[n:]
		}
	}
	return l.frames, nil
}

func TestLargeFrameIsCountedAndNotKept(t *testing.T) {
	n := jute.MaxObservedFrame + 1
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...)
	frame = append(frame, 0, 0, 0, 1, 'a')
	got, err := decode(frame, nil, 1<<16)
	if want := []string{fmt.Sprintf(`true true %d ""`, n), `true false 1 "a"`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("error %v, decoded %.60q", err, got)
	}
	if _, err := decode([]byte("ruok"), nil, 4); err == nil {
		t.Error("a four-letter word was accepted as a frame")
	}
}

// FuzzOverhear checks that arbitrary bytes from both sides never cause a panic, and that the frames
// and the error do not depend on the size of the pieces in which the bytes arrive.
func FuzzOverhear(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 'a', 'b', 0, 0, 0, 1, 'c'}, []byte{0, 0, 0, 1, 'd'}, uint8(2))
	f.Add([]byte("ruok"), []byte{0, 0, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		whole, wrong := decode(client, server, max(len(client)+len(server), 1))
		parts, also := decode(client, server, int(piece)+1)
		if !slices.Equal(whole, parts) || (wrong == nil) != (also == nil) {
			t.Fatalf("decoded at once: %q (%v); decoded in pieces of %d bytes: %q (%v)", whole, wrong, int(piece)+1, parts, also)
		}
	})
}

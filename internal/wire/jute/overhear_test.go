package jute_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// listener notes what it is told, as text.
type listener struct{ told []string }

func (l *listener) Frame(ofClient, first bool, body []byte, size int) {
	l.told = append(l.told, fmt.Sprintf("%v %v %d %q", ofClient, first, size, body))
}

// overheard is what is found of both directions when they come in pieces of a size.
func overheard(client, server []byte, piece int) ([]string, error) {
	var l listener
	o := jute.NewOverhearer(&l)
	for _, side := range []struct {
		ofClient bool
		b        []byte
	}{{true, client}, {false, server}} {
		for b := side.b; len(b) > 0; {
			n := min(piece, len(b))
			if err := o.Feed(side.ofClient, append([]byte(nil), b[:n]...)); err != nil {
				return l.told, err
			}
			b = b[n:]
		}
	}
	return l.told, nil
}

func TestALargeFrameIsCountedAndNotKept(t *testing.T) {
	n := jute.MaxHeard + 1
	frame := append(binary.BigEndian.AppendUint32(nil, uint32(n)), make([]byte, n)...)
	frame = append(frame, 0, 0, 0, 1, 'a')
	got, err := overheard(frame, nil, 1<<16)
	if want := []string{fmt.Sprintf(`true true %d ""`, n), `true false 1 "a"`}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %.60q", err, got)
	}
	if _, err := overheard([]byte("ruok"), nil, 4); err == nil {
		t.Error("a word of four letters is taken for a frame")
	}
}

// FuzzOverhear: whatever either side says, in whatever pieces, is understood alike or
// refused, and nothing panics.
func FuzzOverhear(f *testing.F) {
	f.Add([]byte{0, 0, 0, 2, 'a', 'b', 0, 0, 0, 1, 'c'}, []byte{0, 0, 0, 1, 'd'}, uint8(2))
	f.Add([]byte("ruok"), []byte{0, 0, 0, 0}, uint8(0))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		whole, wrong := overheard(client, server, max(len(client)+len(server), 1))
		parts, also := overheard(client, server, int(piece)+1)
		if !slices.Equal(whole, parts) || (wrong == nil) != (also == nil) {
			t.Fatalf("at once %q (%v), in pieces of %d %q (%v)", whole, wrong, int(piece)+1, parts, also)
		}
	})
}

package h2_test

import (
	"testing"

	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// listener counts the decoded calls and messages.
type listener struct{ begun, messages, ended int }

func (l *listener) OnBegin(uint32, string)              { l.begun++ }
func (l *listener) OnMessage(uint32, bool, []byte, int) { l.messages++ }
func (l *listener) OnEnd(uint32, bool, int)             { l.ended++ }

// FuzzOverhear checks that arbitrary bytes from both sides never cause a panic, and that the counts
// and the error do not depend on whether the bytes are decoded in one piece or in several.
func FuzzOverhear(f *testing.F) {
	c := h2.NewConn(h2.Config{Authority: "a:1"})
	m := c.Register("/a/b", false)
	b := c.Call(m, 1, 0, 3)
	copy(b, "abc")
	f.Add(append([]byte(nil), c.Out()...), []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}, uint8(7))
	f.Add([]byte(h2.Preface), []byte{0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88}, uint8(1))
	f.Fuzz(func(t *testing.T, client, server []byte, piece uint8) {
		var whole, parts listener
		a := h2.NewPassiveDecoder(&whole)
		wrong := a.Feed(true, client)
		if wrong == nil {
			wrong = a.Feed(false, server)
		}
		o := h2.NewPassiveDecoder(&parts)
		var also error
		for _, side := range []struct {
			ofClient bool
			b        []byte
		}{{true, client}, {false, server}} {
			for n := int(piece) + 1; len(side.b) > 0 && also == nil; {
				n = min(n, len(side.b))
				also = o.Feed(side.ofClient, side.b[:n])
				side.b = side.b[n:]
			}
		}
		if whole != parts || (wrong == nil) != (also == nil) {
			t.Fatalf("decoded at once: %+v (%v); decoded in pieces of %d bytes: %+v (%v)", whole, wrong, int(piece)+1, parts, also)
		}
	})
}

package jute

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// conversation returns a connection with several open requests.
func conversation(t testing.TB) *Conn {
	c := ready(t, Config{})
	c.maxFrame = 1 << 16
	for tag := range uint32(20) {
		c.GetData(Call{Tag: tag}, Path{Prefix: "/", Rest: []byte("key")}, false)
	}
	c.Wrote(len(c.Out()))
	return c
}

// replyText feeds the input in pieces and returns the replies as text.
func replyText(c *Conn, in []byte, piece func() int) (out string) {
	for len(in) > 0 {
		n := min(max(piece(), 1), len(in))
		chunk := bytes.Clone(in[:n])
		replies, err := c.Feed(chunk)
		for _, r := range replies {
			out += fmt.Sprintf("%d %d %d %d %q %q;", r.Tag, r.End, r.Code, r.Zxid, r.Body, r.Request)
		}
		for i := range chunk { // the caller may overwrite its buffer after Feed
			chunk[i] = 0xee
		}
		if err != nil {
			return out + err.Error()
		}
		in = in[n:]
	}
	return out
}

func answers(n int32) (in []byte) {
	for xid := int32(1); xid <= n; xid++ {
		in = append(in, reply(xid, int64(xid), OK, bytes.Repeat([]byte{byte(xid)}, int(xid)*37)...)...)
		if xid%3 == 0 {
			in = append(in, reply(XidPing, 0, OK)...)
			in = append(in, framed(XidNotification, int64(-1), OK, int32(1), int32(3), "/k")...)
		}
	}
	return in
}

func TestChunking(t *testing.T) {
	in := answers(20)
	want := replyText(conversation(t), in, func() int { return len(in) })
	random := rand.New(rand.NewPCG(3, 4))
	for most := 1; most < 300; most += 7 {
		if got := replyText(conversation(t), in, func() int { return random.IntN(most) + 1 }); got != want {
			t.Fatalf("in pieces of up to %d bytes: %s", most, got)
		}
	}
}

// FuzzFeed checks that arbitrary input causes no panic, and that the replies do not depend on the
// size of the pieces in which the input arrives.
func FuzzFeed(f *testing.F) {
	f.Add(answers(3), uint8(5))
	f.Add(reply(2, 0, NoNode), uint8(1))
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\n"), uint8(3))
	f.Add(framed(XidNotification, int64(-1), OK, int32(9)), uint8(2))
	f.Fuzz(func(t *testing.T, in []byte, piece uint8) {
		whole := replyText(conversation(t), in, func() int { return len(in) })
		if got := replyText(conversation(t), in, func() int { return int(piece) }); got != whole {
			t.Fatalf("the whole input gives %s, and pieces of %d bytes give %s", whole, piece, got)
		}
		fresh := NewConn(Config{})
		_, _ = fresh.Feed(in)
		fresh.Lost()
		r := NewReader(in)
		var result MultiResult
		for ReadMultiResults(&r, &result) {
		}
		_, _ = ReadMulti(in, nil)
		r = NewReader(in)
		r.Stat()
		for range r.Count(4) {
			r.Buffer()
		}
	})
}

package http1

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// connWithStream returns a connection with one request in flight. The connection passes each piece
// of the response's body to onPiece.
func connWithStream(t testing.TB, onPiece func([]byte) error) *Conn {
	t.Helper()
	c := connWithRequest(t)
	c.Stream(onPiece)
	return c
}

// A stream must receive the whole body exactly once and in order, with any chunk sizes and in any
// pieces. The connection must recognize the end of the response, and the Response must have no
// body.
func TestStreamHasTheBody(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for n := range 200 {
		var body, wire bytes.Buffer
		for range rng.IntN(9) {
			part := make([]byte, 1+rng.IntN(3000))
			for i := range part {
				part[i] = byte(rng.Uint32())
			}
			body.Write(part)
			fmt.Fprintf(&wire, "%x\r\n%s\r\n", len(part), part)
		}
		in := "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + wire.String() + "0\r\n\r\n"
		if n%2 == 0 {
			in = fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", body.Len(), body.String())
		}
		var got bytes.Buffer
		c := connWithStream(t, func(p []byte) error { got.Write(p); return nil })
		r, err := feed(c, in, 1+rng.IntN(4000))
		if err != nil || r == nil || len(r.Body) != 0 || !bytes.Equal(got.Bytes(), body.Bytes()) || !c.Idle() {
			t.Fatalf("%d: %v %v: %d bytes of %d", n, r, err, got.Len(), body.Len())
		}
	}
}

// The limits for a response do not apply to a stream, which may be endless. The connection must
// still keep the body of an error response.
func TestStreamIsEndless(t *testing.T) {
	n := 0
	c := connWithStream(t, func(p []byte) error { n += len(p); return nil })
	c.maxBody = 1000
	if _, err := c.Feed([]byte("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	piece := []byte(strings.Repeat("1\r\nx\r\n", 1000))
	for range 500 { // more chunk framing than the limit for one response
		if r, err := c.Feed(piece); r != nil || err != nil {
			t.Fatal(r, err)
		}
	}
	if n != 500_000 || c.Idle() {
		t.Errorf("%d bytes arrived", n)
	}
	if end, _ := c.Lost(); end != Broken {
		t.Errorf("Lost returned %v", end)
	}
	c = connWithStream(t, func([]byte) error { return errors.New("an error was streamed") })
	r, err := feed(c, "HTTP/1.1 503 Unavailable\r\nContent-Length: 3\r\n\r\nwhy", 7)
	if err != nil || string(r.Body) != "why" {
		t.Errorf("response %+v, error %v", r, err)
	}
	broken := errors.New("that is no message")
	c = connWithStream(t, func([]byte) error { return broken })
	if _, err := feed(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nwhy", 100); !errors.Is(err, broken) || !c.Draining() {
		t.Errorf("%v", err)
	}
	// After a stream, the connection must keep the bodies of later responses.
	c, get := newTestConn()
	sendGet(c, get)
	c.Stream(func([]byte) error { return nil })
	if r, err := feed(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 100); err != nil || len(r.Body) != 0 {
		t.Fatal(r, err)
	}
	sendGet(c, get)
	if r, err := feed(c, "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 100); err != nil || string(r.Body) != "x" {
		t.Fatal(r, err)
	}
}

package http1

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

// Input that is not an HTTP/1.1 response must lead to the same one-line error, no matter in which
// pieces it arrives.
func TestBrokenServers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	for in, want := range map[string]string{
		"HTTP/2 200\r\n\r\n":                                                                ErrHTTP2.Error(),
		"\x00\x00\x12\x04\x00\x00\x00\x00\x00":                                              ErrHTTP2.Error(),
		"\x15\x03\x01\x00\x02\x02\x46":                                                      ErrTLS.Error(),
		"SSH-2.0-OpenSSH_9.6\r\n":                                                           `the server does not speak HTTP/1.1: its first bytes are "S`,
		"HTTP/1.x 200 OK\r\n":                                                               "the server's response begins with",
		"HTTP/1.1 20 OK\r\n":                                                                "the server's response begins with",
		"HTTP/1.1 2000 OK\r\n":                                                              "the server's response begins with",
		"HTTP/1.1 099 OK\r\n":                                                               "the server answered with status 99",
		"HTTP/1.1 101 Switching Protocols\r\n\r\n":                                          "the server switched to another protocol",
		ok + "no colon\r\n":                                                                 "the server sent a line that is not an HTTP header field",
		ok + "Content-Length : 5\r\n":                                                       "the server sent a line that is not an HTTP header field",
		ok + "Content-Length: -5\r\n":                                                       "the server's Content-Length is",
		ok + "Content-Length: 5, 6\r\n":                                                     "the server's Content-Length is",
		ok + "Content-Length: 5\r\nContent-Length: 6\r\n":                                   "the server's Content-Length is",
		ok + "Content-Length:\r\n":                                                          "the server's Content-Length is empty",
		ok + "Content-Length: 5\r\n 6\r\n":                                                  "the server split a header field",
		ok + "Content-Length: 99999999999\r\n\r\n":                                          "the server's response has 99999999999 bytes",
		ok + "Content-Length: 99999999999999999999999\r\n":                                  "the server's Content-Length is",
		ok + "Transfer-Encoding: gzip, chunked\r\n":                                         `the server encoded its response as "gzip"`,
		ok + "Transfer-Encoding: chunked\r\n\r\nx\r\n":                                      "the server sent a chunk with the invalid size",
		ok + "Transfer-Encoding: chunked\r\n\r\n\r\n":                                       "the server sent a chunk with the invalid size",
		ok + "Transfer-Encoding: chunked\r\n\r\n5x\r\n":                                     "the server sent a chunk with the invalid size",
		ok + "Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n":                                "the server sent a chunk that is longer",
		ok + "Transfer-Encoding: chunked\r\n\r\nfffffffff\r\n":                              "the server's response has",
		ok + "X-Index: " + strings.Repeat("9", 9000) + "\r\n":                               "the server sent a header field X-Index",
		ok + strings.Repeat("A: b\r\n", 20_000):                                             "the server sent a header of more than 64 KiB",
		"HTTP/1.1 200 " + strings.Repeat("x", 70_000) + "\r\n":                              "the server sent a header of more than 64 KiB",
		ok + "Transfer-Encoding: chunked\r\n\r\n0\r\n" + strings.Repeat("A: b\r\n", 20_000): "the server sent a header of more than 64 KiB",
	} {
		for _, step := range []int{1, 5, 1 << 20} {
			c := connWithRequest(t)
			r, err := feed(c, in, step)
			if r != nil || err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%.60q in steps of %d: %v, want %s", in, step, err, want)
				continue
			}
			if _, again := c.Feed([]byte("x")); !errors.Is(again, err) || c.Idle() || !c.Draining() {
				t.Errorf("%.60q: the connection stays usable", in)
			}
			if end, _ := c.Lost(); end != Broken {
				t.Errorf("%.60q: Lost returned %v", in, end)
			}
		}
	}
}

func TestLongBodies(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n":                                                    "the server's response has 101 bytes, but at most 100 bytes are accepted",
		"HTTP/1.1 200 OK\r\n\r\n" + strings.Repeat("x", 101):                                                "the server's response has 101 bytes, but at most 100 bytes are accepted",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n64\r\n" + string(make([]byte, 100)): "the server's response has 101 bytes, but at most 100 bytes are accepted",
	} {
		c := NewConn(Config{Host: "h"})
		c.maxBody = 100
		sendGet(c, c.Template("GET", "/", false))
		if _, err := feed(c, in, 1000); err == nil || err.Error() != want {
			t.Errorf("%.50q: %v", in, err)
		}
	}
}

// Bytes that arrive without a request must lead to a one-line error.
func TestUnrequestedBytes(t *testing.T) {
	for in, want := range map[string]string{
		"HTTP/1.1 429 Too Many Requests\r\nContent-Length: 10\r\nConnection: close\r\n\r\ntoo many\r\n": "the server closes the connection with status 429: too many",
		"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n":                                     "the server closes the connection with status 408",
		"220 mail ESMTP\r\n":           `the server does not speak HTTP/1.1: its first bytes are "220 mail "`,
		"\x15\x03\x01\x00\x02\x02\x16": ErrTLS.Error(),
		"HTT":                          `the server sent "HTT", although no request was in flight`,
	} {
		c, _ := newTestConn()
		if _, err := c.Feed([]byte(in)); err == nil || err.Error() != want {
			t.Errorf("%q: %v", in, err)
		}
		if end, _ := c.Lost(); end != Nothing {
			t.Errorf("%q: Lost returned %v", in, end)
		}
	}
	c := connWithRequest(t)
	r, err := c.Feed([]byte("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxmore"))
	if err != nil || string(r.Body) != "x" || !c.Draining() {
		t.Errorf("a response with bytes after it: %+v, %v", r, err)
	}
	if r, err := c.Feed(nil); r != nil || err != nil {
		t.Errorf("no bytes: %v, %v", r, err)
	}
}

// FuzzResponse checks that the result of parsing arbitrary input does not depend on the pieces in
// which the input arrives, and that the buffers stay within the limits.
func FuzzResponse(f *testing.F) {
	for _, a := range answers {
		f.Add([]byte(a.in), byte(3))
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\n\r\nuntil the end"), byte(1))
	f.Add([]byte("\x15\x03\x01\x00\x02"), byte(1))
	f.Fuzz(func(t *testing.T, in []byte, step byte) {
		whole, pieces := connWithRequest(t), connWithRequest(t)
		r1, err1 := feed(whole, string(in), max(1, len(in)))
		r2, err2 := feed(pieces, string(in), int(step)+1)
		if (err1 == nil) != (err2 == nil) && r1 == nil && r2 == nil {
			t.Fatalf("whole: %v; in pieces: %v", err1, err2)
		}
		for _, err := range []error{err1, err2} {
			if err != nil && strings.ContainsAny(err.Error(), "\r\n") {
				t.Fatalf("the error has more than one line: %q", err)
			}
		}
		if (r1 == nil) != (r2 == nil) {
			t.Fatalf("whole: %+v %v; in pieces: %+v %v", r1, err1, r2, err2)
		}
		if r1 != nil && (r1.Status != r2.Status || !bytes.Equal(r1.Body, r2.Body) || !bytes.Equal(r1.Field(0), r2.Field(0))) {
			t.Fatalf("whole: %+v; in pieces: %+v", r1, r2)
		}
		if len(pieces.partial) > MaxHead || len(pieces.body) > len(in) {
			t.Fatalf("%d bytes of a line and %d of a body are buffered", len(pieces.partial), len(pieces.body))
		}
		_, _ = whole.Lost()
		_, _ = pieces.Lost()
	})
}

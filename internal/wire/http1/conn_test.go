package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

func newTestConn() (*Conn, *Template) {
	c := NewConn(Config{Host: "h:1", KeepFields: []string{"X-Index", "Location"}})
	return c, c.Template("GET", "/v1/", false)
}

// connWithRequest returns a connection with one request in flight. The request has been written
// completely.
func connWithRequest(t testing.TB) *Conn {
	t.Helper()
	c, get := newTestConn()
	sendGet(c, get)
	return c
}

func sendGet(c *Conn, get *Template) {
	c.Send(c.Head(AppendPath(c.Begin(get), []byte("key"))))
	c.Wrote(len(c.Out()))
}

// feed passes the input to Feed, n bytes per call, and returns the response with a copy of its
// body.
func feed(c *Conn, in string, n int) (*Response, error) {
	for len(in) > 0 {
		part := []byte(in[:min(n, len(in))])
		in = in[len(part):]
		r, err := c.Feed(part)
		if r != nil || err != nil {
			if r != nil {
				r.Body = bytes.Clone(r.Body)
			}
			for i := range part {
				part[i] = '!'
			}
			return r, err
		}
		for i := range part { // the caller may overwrite its buffer after Feed
			part[i] = '!'
		}
	}
	return nil, nil
}

// net/http must be able to parse the requests, and find the expected target, fields and body.
func TestRequests(t *testing.T) {
	c := NewConn(Config{Host: "[::1]:80", Fields: []Field{{"X-Token", "a\r\nEvil: b"}}})
	put := c.Template("PUT", "/v1/kv/", true, Field{"Content-Type", "x/y"})
	get := c.Template("GET", "/v1/kv/", false)
	key := make([]byte, 256)
	for i := range key {
		key[i] = byte(i)
	}
	for i, size := range []int{0, 1, 9, 10, 99_999, 7, 1234567} {
		body := bytes.Repeat([]byte{'b'}, size)
		b := append(AppendPath(c.Begin(put), key), "?a=b"...)
		c.Send(append(c.Head(b), body...))
		r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.Out())))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r.Body)
		if err != nil || !bytes.Equal(got, body) || r.ContentLength != int64(size) {
			t.Errorf("request %d: %d bytes were read, the Content-Length is %d, error %v", i, len(got), r.ContentLength, err)
		}
		if r.Method != http.MethodPut || r.URL.Path != "/v1/kv/"+string(key) || r.URL.RawQuery != "a=b" || r.Host != "[::1]:80" ||
			r.Header.Get("Content-Type") != "x/y" || r.Header.Get("X-Token") != "aEvil: b" || len(r.Header) != 3 {
			t.Errorf("net/http parsed the request as %+v", r)
		}
	}
	c.Send(c.Head(AppendPath(c.Begin(get), []byte("a/b"))))
	if want := "GET /v1/kv/a/b HTTP/1.1\r\nHost: [::1]:80\r\nX-Token: aEvil: b\r\n\r\n"; string(c.Out()) != want {
		t.Errorf("%q", c.Out())
	}
}

func TestNetHTTPParsesForm(t *testing.T) {
	value := make([]byte, 256)
	for i := range value {
		value[i] = byte(i)
	}
	form := AppendForm([]byte("value="), value)
	r, _ := http.NewRequest(http.MethodPut, "/", bytes.NewReader(form))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if got := r.FormValue("value"); got != string(value) {
		t.Errorf("%q", got)
	}
}

// answers lists responses with the expected status and body. keep is set if the connection must
// stay open.
var answers = []struct {
	name, in string
	status   int
	body     string
	keep     bool
}{
	{"sized", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", 200, "hello", true},
	{"empty", "HTTP/1.1 404 Not Found\r\ncontent-length:0\r\n\r\n", 404, "", true},
	{"no reason", "HTTP/1.1 200\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
	{"lone line feeds", "HTTP/1.1 200 OK\nContent-Length: 2\n\nhi", 200, "hi", true},
	{"repeated length", "HTTP/1.1 200 OK\r\nContent-Length: 2, 2\r\nContent-Length: 2\r\n\r\nhi", 200, "hi", true},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n7 \r\n, world\r\n0\r\n\r\n", 200, "hello, world", true},
	{"extensions and trailer", "HTTP/1.1 200 OK\r\nTransfer-Encoding: Chunked\r\n\r\nA;a=b;c=\"d\"\r\n0123456789\r\n000;x\r\nX-Index: 7\r\nEtag: x\r\n\r\n", 200, "0123456789", true},
	{"empty chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 200, "", true},
	{"chunked and length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", 200, "x", false},
	{"no content", "HTTP/1.1 204 No Content\r\n\r\n", 204, "", true},
	{"not modified", "HTTP/1.1 304 Not Modified\r\nContent-Length: 77\r\n\r\n", 304, "", true},
	{"continue first", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\nConnection: close\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
	{"close", "HTTP/1.1 200 OK\r\nConnection: x, Close\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
	{"HTTP/1.0", "HTTP/1.0 200 OK\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
	{"HTTP/1.0 kept", "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
	{"last of its kind", "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=0\r\nContent-Length: 1\r\n\r\nx", 200, "x", false},
	{"more to come", "HTTP/1.1 200 OK\r\nKeep-Alive: timeout=5, max=10\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
	{"folded field", "HTTP/1.1 200 OK\r\nX-Other: a\r\n b\r\nContent-Length: 1\r\n\r\nx", 200, "x", true},
}

func TestAnswers(t *testing.T) {
	for _, tc := range answers {
		for _, step := range []int{1, 2, 3, 7, 1000} {
			c := connWithRequest(t)
			if !c.open || c.Idle() {
				t.Fatal("the connection is idle with a request in flight")
			}
			r, err := feed(c, tc.in, step)
			if err != nil || r == nil {
				t.Errorf("%s in steps of %d: %v, %v", tc.name, step, r, err)
				continue
			}
			if r.Status != tc.status || string(r.Body) != tc.body || c.Idle() != tc.keep || c.Draining() == tc.keep {
				t.Errorf("%s in steps of %d: %d %q, idle %v", tc.name, step, r.Status, r.Body, c.Idle())
			}
		}
	}
}

func TestAnswerThatEndsWithTheConnection(t *testing.T) {
	for _, in := range []string{"HTTP/1.1 200 OK\r\nX-Index: 12\r\n\r\nall of it", "HTTP/1.0 200 OK\r\nX-Index: 12\r\nConnection: keep-alive\r\n\r\nall of it"} {
		for _, step := range []int{1, 5, 1000} {
			c := connWithRequest(t)
			if r, err := feed(c, in, step); r != nil || err != nil {
				t.Fatal(r, err)
			}
			end, r := c.Lost()
			if end != Answered || string(r.Body) != "all of it" || r.Uint(0) != 12 {
				t.Errorf("Lost returned %v and %+v", end, r)
			}
		}
	}
}

func TestKeepsNamedFields(t *testing.T) {
	c, get := newTestConn()
	for range 3 {
		sendGet(c, get)
		r, err := feed(c, "HTTP/1.1 307 Elsewhere\r\nx-INDEX: \t 9007199254740993 \r\nLocation: http://h:1/x\r\nContent-Length: 0\r\n\r\n", 4)
		if err != nil || r.Uint(0) != 9007199254740993 || string(r.Field(1)) != "http://h:1/x" {
			t.Fatalf("response %+v, error %v", r, err)
		}
	}
	sendGet(c, get)
	if r, _ := feed(c, "HTTP/1.1 200 OK\r\nX-Index: 1x\r\nContent-Length: 0\r\n\r\n", 100); r.Uint(0) != 0 || len(r.Field(1)) != 0 {
		t.Errorf("%+v", r)
	}
}

// Even if a body has random chunk sizes and arrives in random pieces, it must equal the body that
// net/http reads.
func TestRandomChunking(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	c, get := newTestConn()
	for n := range 300 {
		var body, wire bytes.Buffer
		chunked := n%2 == 0
		for range rng.IntN(6) {
			part := make([]byte, 1+rng.IntN(1+rng.IntN(5000)))
			for i := range part {
				part[i] = byte(rng.Uint32())
			}
			if body.Write(part); chunked {
				fmt.Fprintf(&wire, "%x;ext=%d\r\n%s\r\n", len(part), n, part)
			}
		}
		head := fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", body.Len())
		if chunked {
			head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
			wire.WriteString("0\r\n\r\n")
		} else {
			wire.Write(body.Bytes())
		}
		in := head + wire.String()
		theirs, err := http.ReadResponse(bufio.NewReader(strings.NewReader(in)), nil)
		if err != nil {
			t.Fatal(err)
		}
		want, err := io.ReadAll(theirs.Body)
		_ = theirs.Body.Close()
		if err != nil || !bytes.Equal(want, body.Bytes()) {
			t.Fatal("net/http did not read the same body: ", err)
		}
		sendGet(c, get)
		var r *Response
		for len(in) > 0 {
			k := 1 + rng.IntN(min(len(in), 1+rng.IntN(3000)))
			part := []byte(in[:k])
			in = in[k:]
			if r, err = c.Feed(part); err != nil || r != nil && len(in) > 0 {
				t.Fatalf("%d: response %v, error %v", n, r, err)
			}
			if r != nil && !bytes.Equal(r.Body, want) {
				t.Fatalf("%d: %d bytes, want %d", n, len(r.Body), len(want))
			}
			clear(part)
		}
		if r == nil {
			t.Fatalf("%d: no answer", n)
		}
	}
}

func TestCancelAndLost(t *testing.T) {
	const answer = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	c, get := newTestConn()
	c.Send(c.Head(c.Begin(get)))
	if !c.Cancel() || !c.Idle() || len(c.Out()) != 0 {
		t.Error("Cancel does not remove a request of which nothing was written")
	}
	c.Send(c.Head(c.Begin(get)))
	c.Wrote(3)
	if c.Cancel() || c.Idle() || len(c.Out()) == 0 {
		t.Error("a partly written request is not completed")
	}
	c.Wrote(len(c.Out()))
	if r, err := feed(c, answer, 10); err != nil || !r.Late || !c.Idle() {
		t.Errorf("response %+v, error %v; want a late response", r, err)
	}
	sendGet(c, get)
	if r, _ := feed(c, answer, 10); r.Late {
		t.Error("the next response is late, too")
	}
	if end, _ := c.Lost(); end != Nothing {
		t.Error(end)
	}

	c, get = newTestConn()
	c.Send(c.Head(c.Begin(get)))
	c.Wrote(5)
	if end, _ := c.Lost(); end != NotSent || c.Idle() || !c.Draining() {
		t.Error(end)
	}
	c = connWithRequest(t)
	_, _ = feed(c, "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 100)
	if end, _ := c.Lost(); end != Broken {
		t.Error(end)
	}
	// If the response arrives before the request is written completely, the connection must end.
	c, get = newTestConn()
	c.Send(c.Head(c.Begin(get)))
	c.Wrote(5)
	if r, err := feed(c, answer, 10); r == nil || err != nil || !c.Draining() || len(c.Out()) != 0 {
		t.Errorf("response %v, error %v; want a response, and a connection that is draining", r, err)
	}
}

func TestRedirect(t *testing.T) {
	const answer = "HTTP/1.1 307 Temporary Redirect\r\nContent-Length: 0\r\nLocation: %s\r\n\r\n"
	for location, want := range map[string]string{
		"/x?a=b": "/x?a=b", "http://h:1/y/z": "/y/z", "HTTPS://H:1/": "/",
		"http://other:1/y": "another server, other:1", "relative": "not a valid target", "//h:1/x": "not a valid target", "": "has no Location",
		"/a b": "not a valid target", "http://h:1": "not a valid target",
	} {
		c, _ := newTestConn()
		put := c.Template("PUT", "/v1/", true)
		c.Send(append(c.Head(append(c.Begin(put), "k"...)), "body"...))
		c.Wrote(len(c.Out()))
		r, err := feed(c, fmt.Sprintf(answer, location), 1000)
		if err != nil {
			t.Fatal(err)
		}
		if err = c.Redirect(r.Field(1)); err != nil {
			if want[0] == '/' || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", location, err)
			}
			continue
		}
		req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(c.Out())))
		if err != nil || req.RequestURI != want || req.Method != http.MethodPut {
			t.Fatalf("%s: %+v %v", location, req, err)
		}
		if body, err := io.ReadAll(req.Body); string(body) != "body" || err != nil || c.Idle() {
			t.Errorf("%s: body %q %v", location, body, err)
		}
	}
}

// TestUnrequestedResponseReturnsBuffers checks that the end of a connection returns the buffers of
// a response that no request asked for.
func TestUnrequestedResponseReturnsBuffers(t *testing.T) {
	for _, in := range []string{
		"HTTP/1.1 503 Busy\r\nContent-Le",
		"HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n",
	} {
		budget := parts.New(parts.DefaultMax)
		c := NewConn(Config{Host: "h:1", BufferBudget: budget})
		if _, err := c.Feed([]byte(in)); err == nil {
			t.Errorf("the connection accepted the response %q without a request", in)
		}
		if budget.LentBytes() == 0 {
			t.Errorf("the connection buffered nothing of %q, so this test checks nothing", in)
		}
		if end, _ := c.Lost(); end != Nothing || budget.LentBytes() != 0 {
			t.Errorf("after %q, the connection ended with %v and %d lent bytes, want %v and 0", in, end, budget.LentBytes(), Nothing)
		}
	}
}

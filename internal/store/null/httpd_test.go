package null

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// echo responds with the contents of the request.
type echo struct{ NeverWaits }

func (echo) Operation(r *HTTPRequest) bool { return string(r.Path) != "/admin" }
func (echo) Respond(b []byte, r *HTTPRequest, _ Kind) []byte {
	return AppendResponse(b, "200 OK", "", string(r.Method)+" "+string(r.Path)+" "+string(r.Query)+" "+string(r.Body)+" "+string(r.Auth))
}
func (echo) Error(b []byte, name string) []byte { return AppendResponse(b, "500 Error", "", name) }

func start(t *testing.T, script string) string {
	t.Helper()
	s, err := Parse(script, []string{"what"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		server := &HTTPServer{Script: s, AuthField: "x-auth", Member: func(int, []net.Listener) HTTPService { return echo{} }}
		ended <- server.Serve(ctx, []net.Listener{l})
	}()
	t.Cleanup(func() {
		cancel()
		storetest.AwaitEnd(t, "the null server", ended)
	})
	return l.Addr().String()
}

func dial(t *testing.T, to string) net.Conn {
	t.Helper()
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute)) // so that the test cannot hang forever
	return c
}

// answered holds the status of a response.
type answered struct {
	StatusCode int
	Close      bool
}

// talk sends the text `in` with one write and reads n responses. It returns the responses'
// concatenated bodies and the last response's status.
func talk(t *testing.T, c net.Conn, in string, n int) (bodies string, last answered) {
	t.Helper()
	if _, err := c.Write([]byte(in)); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReader(c)
	for range n {
		a, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("after %q: %v", bodies, err)
		}
		body, _ := io.ReadAll(a.Body)
		_ = a.Body.Close()
		bodies += string(body) + "|"
		last = answered{a.StatusCode, a.Close}
	}
	return bodies, last
}

// TestPipelined checks that requests that arrive together are answered in order, with and without
// delays.
func TestPipelined(t *testing.T) {
	const in = "GET /a%20b?x=y HTTP/1.1\r\nHost: h\r\nX-Auth: me\r\n\r\n" +
		"PUT /p HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc" + "GET /last HTTP/1.1\r\nConnection: close\r\n\r\n"
	for _, script := range []string{"", "delay=300us", "chunk=3", "delay=1ms every 2"} {
		bodies, last := talk(t, dial(t, start(t, script)), in, 3)
		if bodies != "GET /a b x=y  me|PUT /p  abc |GET /last   |" || !last.Close {
			t.Errorf("%q: %q", script, bodies)
		}
	}
}

func TestByteByByte(t *testing.T) {
	c := dial(t, start(t, ""))
	const in = "PUT /p HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc"
	for i := range len(in) - 1 {
		if _, err := c.Write([]byte(in[i : i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if bodies, _ := talk(t, c, "c", 1); bodies != "PUT /p  abc |" {
		t.Errorf("%q", bodies)
	}
}

func TestContinue(t *testing.T) {
	c := dial(t, start(t, ""))
	if _, err := c.Write([]byte("PUT /p HTTP/1.1\r\nContent-Length: 1\r\nExpect: 100-continue\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(c).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 100") {
		t.Fatalf("%q %v", line, err)
	}
	if bodies, _ := talk(t, c, "x", 1); bodies != "PUT /p  x |" {
		t.Errorf("%q", bodies)
	}
}

func TestBadRequests(t *testing.T) {
	to := start(t, "")
	for _, in := range []string{
		"what\r\n\r\n", "GET x HTTP/1.1\r\n\r\n", "GET / HTTP/2\r\n\r\n", "GET /%zz HTTP/1.1\r\n\r\n",
		"GET / HTTP/1.1\r\nno colon\r\n\r\n", "PUT / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
		"PUT / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", "GET /" + strings.Repeat("x", maxHead),
	} {
		if _, a := talk(t, dial(t, to), in, 1); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%.30q: %d", in, a.StatusCode)
		}
	}
}

// TestScript checks that the script does not apply to administration, that the connection stays
// open if a request is never answered, and that close@ closes the connection.
func TestScript(t *testing.T) {
	c := dial(t, start(t, "error=what every 2"))
	const get, admin = "GET / HTTP/1.1\r\n\r\n", "GET /admin HTTP/1.1\r\n\r\n"
	if bodies, a := talk(t, c, get+admin+get, 3); bodies != "GET /   |GET /admin   |what|" || a.StatusCode != http.StatusInternalServerError {
		t.Errorf("%q", bodies)
	}
	c = dial(t, start(t, "never every 1; close@50ms"))
	if _, err := c.Write([]byte(get)); err != nil {
		t.Fatal(err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server did not close the connection: read %d bytes, %v", n, err)
	}
	c = dial(t, start(t, "never every 1"))
	if _, err := c.Write([]byte(get)); err != nil {
		t.Fatal(err)
	}
	_ = c.SetReadDeadline(time.Now().Add(30 * time.Millisecond))
	var timeout net.Error
	if _, err := c.Read(make([]byte, 1)); !errors.As(err, &timeout) || !timeout.Timeout() {
		t.Errorf("the read of a response that the server never sends returned: %v", err)
	}
}

func TestDelayIsKept(t *testing.T) {
	c := dial(t, start(t, "delay=20ms"))
	began := time.Now()
	talk(t, c, "GET / HTTP/1.1\r\n\r\n", 1)
	if took := time.Since(began); took < 20*time.Millisecond {
		t.Errorf("the response arrived after only %v", took)
	}
}

func TestDamaged(t *testing.T) {
	if v := AppendDamaged(nil, []byte("v")); bytes.Equal(v, []byte("v")) || len(v) != 1 {
		t.Errorf("%q", v)
	}
}

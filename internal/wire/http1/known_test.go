package http1

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A connection that remembers heads must parse every response in the same way as a new connection,
// no matter in which pieces it arrives.
func TestRememberedHeadsDoNotChangeParsing(t *testing.T) {
	lines := []string{
		"X-Idle: 1\r\n", "X-Idle: 2\r\n", "XConnection: close\r\n", "X: y\n", "Vary: Accept-Encoding\r\n",
		"X-Index: 7\r\n", "X-Index: 8\r\n", "Connection: keep-alive\r\n", "Connection: close\r\n", "Keep-Alive: max=5\r\n",
		"X-Long: " + strings.Repeat("z", knownBytes) + "\r\n", " goes on\r\n",
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		old := NewConn(Config{Host: "h:1", KeepFields: []string{"X-Index"}})
		get := old.Template("GET", "/", false)
		head := ""
		for old.Idle() {
			if head == "" || r.IntN(3) == 0 {
				head = randomHead(r, lines)
			}
			body := fmt.Sprint(10000 + r.IntN(90000))
			in := head + body
			switch {
			case strings.Contains(head, "chunked"):
				in = head + "5\r\n" + body + "\r\n0\r\n\r\n"
			case strings.Contains(head, " 204 "):
				in = head
			}
			if r.IntN(8) == 0 {
				in = "HTTP/1.1 100 Continue\r\nX-Index: 9\r\n\r\n" + in
			}
			fresh := NewConn(Config{Host: "h:1", KeepFields: []string{"X-Index"}})
			one := fresh.Template("GET", "/", false)
			late := r.IntN(8) == 0
			want := exchange(fresh, one, in, len(in), late)
			piece := len(in)
			if r.IntN(2) == 0 {
				piece = 1 + r.IntN(len(in))
			}
			if got := exchange(old, get, in, piece, late); got != want {
				t.Fatalf("seed %d: the exchange is %s, want %s, for the input %q", seed, got, want, in)
			}
		}
	}
}

// randomHead returns the head of a response whose body is empty or has five bytes.
func randomHead(r *rand.Rand, lines []string) string {
	kinds := []string{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n",
		"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n", "HTTP/1.1 204 No Content\r\n"}
	head := kinds[r.IntN(len(kinds))]
	for range r.IntN(knownLines + 4) {
		line := lines[r.IntN(len(lines))]
		if strings.HasPrefix(line, "Connection: close") && r.IntN(4) > 0 {
			continue
		}
		head += line
	}
	return head + "\r\n"
}

// exchange feeds a response in pieces and returns the result as text. If late is set, it cancels
// the request first.
func exchange(c *Conn, get *Template, in string, piece int, late bool) string {
	c.Send(c.Head(c.Begin(get)))
	c.Wrote(len(c.Out()))
	if late {
		c.Cancel()
	}
	for len(in) > 0 {
		n := min(piece, len(in))
		r, err := c.Feed([]byte(in[:n]))
		if err != nil {
			return err.Error()
		}
		if r != nil {
			return fmt.Sprintf("%d %s %s %v %v", r.Status, r.Body, r.Field(0), r.Late, c.Draining())
		}
		in = in[n:]
	}
	return "no answer"
}

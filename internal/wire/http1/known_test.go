package http1

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// A connection that remembers heads says of every answer what one says that has
// seen none, however the answers are cut.
func TestKnownHeadsChangeNothing(t *testing.T) {
	lines := []string{
		"X-Idle: 1\r\n", "X-Idle: 2\r\n", "XConnection: close\r\n", "X: y\n", "Vary: Accept-Encoding\r\n",
		"X-Index: 7\r\n", "X-Index: 8\r\n", "Connection: keep-alive\r\n", "Connection: close\r\n", "Keep-Alive: max=5\r\n",
		"X-Long: " + strings.Repeat("z", knownBytes) + "\r\n", " goes on\r\n",
	}
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		old := NewConn(Config{Host: "h:1", Wanted: []string{"X-Index"}})
		get := old.Template("GET", "/", false)
		for old.Idle() {
			in := "HTTP/1.1 200 OK\r\n"
			for range r.IntN(knownLines + 4) {
				line := lines[r.IntN(len(lines))]
				if strings.HasPrefix(line, "Connection: close") && r.IntN(4) > 0 {
					continue
				}
				in += line
			}
			body := fmt.Sprint(r.Uint32())
			in += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
			fresh := NewConn(Config{Host: "h:1", Wanted: []string{"X-Index"}})
			one := fresh.Template("GET", "/", false)
			want := said(fresh, one, in, len(in))
			if got := said(old, get, in, 1+r.IntN(len(in))); got != want {
				t.Fatalf("seed %d: %s, not %s, of %q", seed, got, want, in)
			}
		}
	}
}

// said is what came of an answer that is fed in pieces.
func said(c *Conn, get *Template, in string, piece int) string {
	c.Send(c.Head(c.Begin(get)))
	c.Wrote(len(c.Out()))
	for len(in) > 0 {
		n := min(piece, len(in))
		r, err := c.Feed([]byte(in[:n]))
		if err != nil {
			return err.Error()
		}
		if r != nil {
			return fmt.Sprintf("%d %s %s %v", r.Status, r.Body, r.Field(0), c.Draining())
		}
		in = in[n:]
	}
	return "no answer"
}

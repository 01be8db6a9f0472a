package http1

import (
	"errors"
	"fmt"
)

// Errors for servers that speak another protocol.
var (
	ErrHTTP2 = errors.New("the server answered with HTTP/2, not HTTP/1.1")
	ErrTLS   = errors.New("the server answered with a TLS alert: it expects TLS, or a different client certificate")
)

// checkStart returns an error if a response does not begin with "HTTP/1.".
func (c *Conn) checkStart(in []byte) error {
	const want = "HTTP/1."
	if len(c.partial) == 0 && len(in) >= len(want) && string(in[:len(want)]) == want {
		return nil
	}
	var first [9]byte
	n := copy(first[:], c.partial)
	n += copy(first[n:], in)
	b := first[:n]
	switch {
	case n >= 6 && string(b[:6]) == "HTTP/2", n >= 4 && string(b[:2]) == "\x00\x00" && b[3] == 4:
		return ErrHTTP2 // the text HTTP/2, or an HTTP/2 SETTINGS frame
	case n >= 2 && b[0] == 0x15 && b[1] == 0x03:
		return ErrTLS
	case n == 1 && b[0] == 0x15, n < 4 && b[0] == 0:
		return nil // there are not yet enough bytes to decide
	case string(b[:min(n, len(want))]) != want[:min(n, len(want))]:
		return fmt.Errorf("the server does not speak HTTP/1.1: its first bytes are %q", b)
	}
	return nil
}

package http1

import (
	"bytes"
	"fmt"
)

// checkStart looks at the first bytes of an answer.
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
		return ErrHTTP2 // in words, or as its SETTINGS frame
	case n >= 2 && b[0] == 0x15 && b[1] == 0x03:
		return ErrTLS
	case n == 1 && b[0] == 0x15, n < 4 && b[0] == 0:
		return nil // not enough to decide
	case string(b[:min(n, len(want))]) != want[:min(n, len(want))]:
		return fmt.Errorf("the server does not speak HTTP/1.1: its first bytes are %q", b)
	}
	return nil
}

// unasked is the sentence about bytes that came without a request. Servers say
// so that they have too many connections, or that one was idle for too long.
func (c *Conn) unasked(in []byte) error {
	c.expectHead()
	if err := c.checkStart(in); err != nil {
		return err
	}
	_, done, err := c.parse(in)
	switch text := bytes.TrimSpace(c.piece); {
	case err != nil || c.answer.Status == 0:
		return fmt.Errorf("the server sent %.40q, and nothing was asked", in)
	case len(text) > 0:
		return fmt.Errorf("the server closes the connection with status %d: %.200s", c.answer.Status, oneLine(text))
	case done || c.state != statusLine:
		return fmt.Errorf("the server closes the connection with status %d", c.answer.Status)
	}
	return fmt.Errorf("the server sent %.40q, and nothing was asked", in)
}

// oneLine is the first line of a text.
func oneLine(text []byte) []byte {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return text[:i]
	}
	return text
}

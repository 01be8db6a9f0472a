package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// expectHead prepares the parser for the next response.
func (c *Conn) expectHead() {
	c.state, c.headLen, c.size = statusLine, 0, 0
	c.framing, c.informationalCount = 0, 0
	c.piece = nil
	c.awaitingFirstByte = true
}

// resetFields discards the parsed header fields, including those of an informational response.
func (c *Conn) resetFields() {
	c.response = Response{kept: c.response.kept[:0]}
	c.length, c.coding, c.keepOpen, c.framedByPrevious = -1, identity, true, false
	c.known.at = 0
}

// startLine parses a status line (RFC 9112, section 4).
func (c *Conn) startLine(line []byte) error {
	const prefix = "HTTP/1.1 200"
	if len(line) < len(prefix) || line[8] != ' ' || !digit(line[7]) ||
		!digit(line[9]) || !digit(line[10]) || !digit(line[11]) || len(line) > len(prefix) && line[12] != ' ' {
		return fmt.Errorf("the server's response begins with %.40q, which is not an HTTP/1.1 status line", line)
	}
	c.keepOpen = line[7] != '0'
	c.response.Status = int(line[9]-'0')*100 + int(line[10]-'0')*10 + int(line[11]-'0')
	if c.response.Status < 100 || c.response.Status > 599 {
		return fmt.Errorf("the server answered with status %d, which is not a valid HTTP status", c.response.Status)
	}
	c.state = fields
	return nil
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// field parses one field line (RFC 9112, section 5). It returns idle = true if the connection
// ignores the field.
func (c *Conn) field(line []byte) (idle bool, err error) {
	if line[0] == ' ' || line[0] == '\t' { // a continuation line (obsolete line folding)
		if c.framedByPrevious {
			return false, errors.New("the server split a header field across two lines, although the field determines the response's length")
		}
		return false, nil
	}
	colon := bytes.IndexByte(line, ':')
	if colon <= 0 || line[colon-1] == ' ' || line[colon-1] == '\t' {
		return false, fmt.Errorf("the server sent a line that is not an HTTP header field: %.40q", line)
	}
	name := line[:colon]
	c.framedByPrevious = false
	switch len(name) {
	case 10:
		if equalsFolded(name, "connection") {
			c.connection(line[colon+1:])
			return false, nil
		}
		if equalsFolded(name, "keep-alive") {
			c.keepAlive(line[colon+1:])
			return false, nil
		}
	case 14:
		if equalsFolded(name, "content-length") {
			c.framedByPrevious = true
			return false, c.contentLength(trim(line[colon+1:]))
		}
	case 17:
		if equalsFolded(name, "transfer-encoding") {
			c.framedByPrevious = true
			return false, c.transferEncoding(line[colon+1:])
		}
	}
	for i, w := range c.cfg.KeepFields {
		if len(w) == len(name) && bytes.EqualFold(name, []byte(w)) {
			return false, c.keepField(i, trim(line[colon+1:]))
		}
	}
	return true, nil
}

func (c *Conn) keepField(i int, value []byte) error {
	r := &c.response
	if len(r.kept)+len(value) > maxKept {
		return fmt.Errorf("the server sent a header field %s of %d bytes, which is too long", c.cfg.KeepFields[i], len(value))
	}
	from := len(r.kept)
	r.kept = append(r.kept, value...)
	r.spans[i] = span{from, len(r.kept)}
	return nil
}

// equalsFolded reports whether b equals the lower-case string `lower`, without regard to the case
// of b. Both must have the same length.
func equalsFolded(b []byte, lower string) bool {
	for i := range b {
		if b[i] != lower[i] && b[i]|0x20 != lower[i] {
			return false
		}
	}
	return true
}

func trim(b []byte) []byte {
	for len(b) > 0 && (b[0] == ' ' || b[0] == '\t') {
		b = b[1:]
	}
	for len(b) > 0 && (b[len(b)-1] == ' ' || b[len(b)-1] == '\t') {
		b = b[:len(b)-1]
	}
	return b
}

// splitElement splits the first element from a comma-separated list.
func splitElement(list []byte) (element, rest []byte) {
	if i := bytes.IndexByte(list, ','); i >= 0 {
		return trim(list[:i]), list[i+1:]
	}
	return trim(list), nil
}

// connection parses a Connection field (RFC 9110, section 7.6.1; RFC 9112, section 9.3).
func (c *Conn) connection(list []byte) {
	for len(list) > 0 {
		var option []byte
		option, list = splitElement(list)
		switch {
		case len(option) == 5 && equalsFolded(option, "close"):
			c.keepOpen = false
			return
		case len(option) == 10 && equalsFolded(option, "keep-alive"):
			c.keepOpen = true
		}
	}
}

// keepAlive parses a Keep-Alive field. The parameter max=0 means that the server accepts no further
// requests on this connection (RFC 2068, section 19.7.1.1).
func (c *Conn) keepAlive(list []byte) {
	for len(list) > 0 {
		var p []byte
		p, list = splitElement(list)
		if bytes.EqualFold(p, []byte("max=0")) {
			c.draining = true
		}
	}
}

// contentLength parses a Content-Length field. The length may be repeated, but only with the same
// value (RFC 9110, section 8.6).
func (c *Conn) contentLength(list []byte) error {
	original := list
	for len(list) > 0 {
		var v []byte
		v, list = splitElement(list)
		n := 0
		for _, d := range v {
			if !digit(d) || n > 1<<52 {
				n = -1
				break
			}
			n = n*10 + int(d-'0')
		}
		if len(v) == 0 || n < 0 || c.length >= 0 && c.length != n {
			return fmt.Errorf("the server's Content-Length is %.40q, which is not a valid length", original)
		}
		c.length = n
	}
	if c.length < 0 {
		return errors.New("the server's Content-Length is empty")
	}
	return nil
}

// transferEncoding parses a Transfer-Encoding field (RFC 9112, section 6.1). It accepts only the
// coding `chunked`, because requests offer no other.
func (c *Conn) transferEncoding(list []byte) error {
	for len(list) > 0 {
		var v []byte
		v, list = splitElement(list)
		switch {
		case len(v) == 0:
		case len(v) == 7 && equalsFolded(v, "chunked") && c.coding == identity:
			c.coding = chunked
		case len(v) == 8 && equalsFolded(v, "identity") && c.coding == identity:
		default:
			return fmt.Errorf("the server encoded its response as %.40q, which the client did not request", v)
		}
	}
	return nil
}

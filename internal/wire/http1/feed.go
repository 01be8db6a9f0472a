package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// Feed parses bytes that the caller has read. Once the response is complete, Feed returns it. Until
// then, Feed returns nil. After an error the connection is unusable.
func (c *Conn) Feed(in []byte) (*Response, error) {
	c.cfg.BufferBudget.Recycle()
	if c.err != nil {
		return nil, c.err
	}
	if len(in) == 0 {
		return nil, nil
	}
	if !c.open {
		return nil, c.fail(c.unrequestedError(in))
	}
	rest, done, err := c.parse(in)
	if err == nil && !done {
		err = c.spill()
	}
	switch {
	case err != nil:
		return nil, c.fail(err)
	case !done:
		return nil, nil
	}
	r := c.complete()
	if len(rest) > 0 {
		// The bytes after the complete response belong to no request, so the connection must not
		// send another request.
		c.draining = true
	}
	return r, nil
}

// unrequestedError returns an error for bytes that arrived while no request was in flight. A server
// sends an unrequested response, for example, if it has too many connections or if the connection
// was idle for too long.
func (c *Conn) unrequestedError(in []byte) error {
	c.expectHead()
	if err := c.checkStart(in); err != nil {
		return err
	}
	_, done, err := c.parse(in)
	switch text := bytes.TrimSpace(c.piece); {
	case err != nil || c.response.Status == 0:
		return fmt.Errorf("the server sent %.40q, although no request was in flight", in)
	case len(text) > 0:
		return fmt.Errorf("the server closes the connection with status %d: %.200s", c.response.Status, firstLine(text))
	case done || c.state != statusLine:
		return fmt.Errorf("the server closes the connection with status %d", c.response.Status)
	}
	return fmt.Errorf("the server sent %.40q, although no request was in flight", in)
}

// firstLine returns the first line of a text.
func firstLine(text []byte) []byte {
	if i := bytes.IndexAny(text, "\r\n"); i >= 0 {
		return text[:i]
	}
	return text
}

// parse parses the part of the response that is in the input. done is set if the response is
// complete.
func (c *Conn) parse(in []byte) (rest []byte, done bool, err error) {
	var head []byte // the input, starting at the head; nil if the head began in an earlier input
	if c.awaitingFirstByte && len(in) > 0 {
		c.awaitingFirstByte = false
		if n := c.known.match(in); n > 0 {
			// The parsed fields still have the values from the previous response, whose head was
			// identical.
			in, c.headLen = in[n:], n
			if done, err := c.endOfHead(); done || err != nil {
				return in, done, err
			}
		} else {
			c.resetFields()
			head = in
		}
	}
	for len(in) > 0 {
		switch c.state {
		case untilClose:
			return nil, false, c.addBody(in)
		case sizedBody, chunkData:
			in, done, err = c.takeBody(in)
			if done || err != nil || c.chunk > 0 {
				return in, done, err
			}
		default:
			var more bool
			in, more, done, err = c.parseLine(in, &head)
			if done || err != nil || !more {
				return in, done, err
			}
		}
	}
	return nil, false, nil
}

// takeBody takes the available bytes of a body or chunk whose size is known. It returns done = true
// if the response is complete.
func (c *Conn) takeBody(in []byte) (rest []byte, done bool, err error) {
	n := min(len(in), c.chunk)
	if err := c.addBody(in[:n]); err != nil {
		return nil, false, err
	}
	if c.chunk -= n; c.chunk > 0 {
		return nil, false, nil
	}
	if c.state == sizedBody {
		return in[n:], true, nil
	}
	c.state = chunkEnd
	return in[n:], false, nil
}

// parseLine parses one line of the head or one line between chunks. Until the last line of the head
// is parsed, *head is the input, starting at the head, or nil if the head began in an earlier
// input. If the line is incomplete, parseLine returns more = false.
func (c *Conn) parseLine(in []byte, head *[]byte) (rest []byte, more, done bool, err error) {
	if c.state == statusLine {
		if err := c.checkStart(in); err != nil {
			return nil, false, false, err
		}
	}
	inPlace := len(c.partial) == 0
	if c.state == fields && inPlace {
		if n := c.known.skipKnownLine(in); n > 0 {
			c.headLen += n
			c.framedByPrevious = false
			return in[n:], true, false, nil
		}
	}
	line, after, ok, err := c.line(in)
	if err != nil || !ok {
		return nil, false, false, err
	}
	var rawLine []byte
	if inPlace {
		rawLine = in[:len(in)-len(after)]
	}
	lastOfHead := c.state == fields && len(line) == 0
	done, err = c.takeLine(line, rawLine)
	if lastOfHead && *head != nil {
		c.known.rememberHead((*head)[:len(*head)-len(after)], c.response.Status)
		*head = nil
	}
	return after, true, done, err
}

// line returns the next line without its line break. If the line is incomplete, it returns ok =
// false. A single LF also ends a line (RFC 9112, section 2.2).
func (c *Conn) line(in []byte) (line, rest []byte, ok bool, err error) {
	end := bytes.IndexByte(in, '\n')
	n := end + 1
	if end < 0 {
		n = len(in)
	}
	if c.headLen += n; c.headLen > MaxHead {
		return nil, nil, false, fmt.Errorf("the server sent a header of more than %d KiB", MaxHead>>10)
	}
	if end < 0 {
		c.partial, err = c.cfg.BufferBudget.Append(c.partial, in, 0)
		return nil, nil, false, err
	}
	line = in[:end]
	if len(c.partial) > 0 {
		if c.partial, err = c.cfg.BufferBudget.Append(c.partial, line, 0); err != nil {
			return nil, nil, false, err
		}
		line = c.partial
		c.cfg.BufferBudget.Release(c.partial)
		c.partial = nil
	}
	if k := len(line); k > 0 && line[k-1] == '\r' {
		line = line[:k-1]
	}
	return line, in[n:], true, nil
}

// takeLine processes a line according to c.state. rawLine is the line with its line break, or nil
// if the line arrived in several pieces.
func (c *Conn) takeLine(line, rawLine []byte) (done bool, err error) {
	switch c.state {
	case statusLine:
		return false, c.startLine(line)
	case fields:
		if len(line) == 0 {
			return c.endOfHead()
		}
		idle, err := c.field(line)
		c.known.rememberLine(rawLine, idle)
		return false, err
	case chunkSize:
		return false, c.chunkLine(line)
	case chunkEnd:
		if len(line) > 0 {
			return false, errors.New("the server sent a chunk that is longer than its announced size")
		}
		c.state, c.headLen = chunkSize, 0
		return false, nil
	default: // the trailer
		return len(line) == 0, nil
	}
}

// endOfHead determines the length of the body (RFC 9112, section 6.3). It returns done = true if
// there is no body.
func (c *Conn) endOfHead() (done bool, err error) {
	switch status := c.response.Status; {
	case status == 101:
		return false, errors.New("the server switched to another protocol without a request")
	case status < 200: // informational responses such as 100 Continue
		if c.informationalCount++; c.informationalCount > maxInformational {
			return false, fmt.Errorf("the server sent more than %d informational responses before the response to the request", maxInformational)
		}
		c.resetFields()
		c.state = statusLine
		return false, nil
	case status == 204 || status == 304:
		return true, nil
	}
	switch {
	case c.coding == chunked:
		if c.length >= 0 {
			// Possible request smuggling: do not reuse the connection (RFC 9112, section 6.1).
			c.keepOpen = false
		}
		c.state, c.headLen = chunkSize, 0
	case c.length > c.maxBody && !c.streams():
		return false, c.tooLong(c.length)
	case c.length > 0:
		c.state, c.chunk = sizedBody, c.length
	case c.length < 0:
		c.state, c.keepOpen = untilClose, false
	}
	return c.length == 0 && c.coding == identity, nil
}

func (c *Conn) tooLong(n int) error {
	return fmt.Errorf("the server's response has %d bytes, but at most %d bytes are accepted", n, c.maxBody)
}

// chunkLine parses the size of a chunk and ignores chunk extensions (RFC 9112, section 7.1).
func (c *Conn) chunkLine(line []byte) error {
	streams := c.streams()
	if c.framing += len(line) + 4; c.framing > maxFraming && !streams {
		return fmt.Errorf("the server sent more than %d KiB of chunk sizes and chunk extensions in one response", maxFraming>>10)
	}
	n, i := 0, 0
	for ; i < len(line); i++ {
		d := unhex(line[i])
		if d < 0 {
			break
		}
		if n = n<<4 | d; n > 1<<40 {
			return c.tooLong(n)
		}
	}
	if i == 0 || i < len(line) && line[i] != ';' && line[i] != ' ' && line[i] != '\t' {
		return fmt.Errorf("the server sent a chunk with the invalid size %.40q", line)
	}
	if c.size+n > c.maxBody && !streams {
		return c.tooLong(c.size + n)
	}
	c.chunk, c.state, c.headLen = n, chunkData, 0
	if n == 0 {
		c.state = trailer
	}
	if streams {
		return nil
	}
	return c.cfg.BufferBudget.CheckSize(c.size + n)
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c >= 'a' && c <= 'f':
		return int(c-'a') + 10
	case c >= 'A' && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}

// addBody adds a piece to the body. While the body has only one piece, this piece stays in the
// input buffer.
func (c *Conn) addBody(p []byte) error {
	if c.streams() {
		return c.stream(p)
	}
	if c.size += len(p); c.size > c.maxBody {
		return c.tooLong(c.size)
	}
	if c.piece == nil && len(c.body) == 0 {
		c.piece = p
		return nil
	}
	if err := c.spill(); err != nil {
		return err
	}
	return c.append(p)
}

// spill copies the piece of the body that is still in the input buffer to the connection's own
// buffer.
func (c *Conn) spill() error {
	p := c.piece
	if p == nil {
		return nil
	}
	c.piece = nil
	return c.append(p)
}

func (c *Conn) append(p []byte) (err error) {
	announced := 0
	if c.state == sizedBody {
		announced = c.length
	}
	c.body, err = c.cfg.BufferBudget.Append(c.body, p, announced)
	return err
}

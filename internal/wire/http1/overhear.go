package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// Heard receives the messages that an Overhearer decodes. The arguments of a method are valid until
// the method returns.
type Heard interface {
	// Asked is called for each complete request.
	Asked(*HeardRequest)
	// Answered is called for each complete response. The response belongs to the oldest request
	// that has no response yet.
	Answered(*HeardAnswer)
}

// HeardBody is the body of a message.
type HeardBody struct {
	Size int    // length of the body, in bytes
	Body []byte // nil if the body is larger than MaxHeard or has a content coding
}

// IsComplete reports whether Body is the complete body.
func (b *HeardBody) IsComplete() bool { return b.Body != nil || b.Size == 0 }

// HeardRequest is a decoded request.
type HeardRequest struct {
	HeardBody
	Method, Target []byte
}

// HeardAnswer is a decoded response.
type HeardAnswer struct {
	HeardBody
	Status int
	fields [MaxKeptFields][]byte
}

// Field returns the value of the i-th header field that was requested from NewOverhearer, or an
// empty value if the response lacks the field.
func (a *HeardAnswer) Field(i int) []byte { return a.fields[i] }

// Uint returns the value of the i-th header field that was requested from NewOverhearer as a
// number, or 0 if the field is missing or not a number.
func (a *HeardAnswer) Uint(i int) int64 { return int64(min(number(a.fields[i]), 1<<62)) }

// MaxHeard limits the size of the bodies that an Overhearer keeps, in bytes.
const MaxHeard = 8 << 20

// maxHeardOpen limits how many requests on one connection may wait for a response.
const maxHeardOpen = 10_000

// Overhearer is a passive decoder for both directions of an HTTP/1.1 connection. After an error it
// cannot decode anything further. Only one goroutine may use it.
type Overhearer struct {
	to         Heard
	keepFields []string
	client     heardMessage
	server     heardMessage
	// open has one element for each request without a response. The element is true for a HEAD
	// request, whose response has no body even if its header fields announce one.
	open []bool
	err  error
}

// NewOverhearer returns a passive decoder for a connection. The decoder must receive the
// connection's traffic starting with the first byte. fieldNames lists the response header fields to
// keep, at most MaxKeptFields of them.
func NewOverhearer(to Heard, fieldNames ...string) *Overhearer {
	o := &Overhearer{to: to, keepFields: fieldNames}
	o.client.begin()
	o.server.begin()
	return o
}

// Feed decodes bytes that the client sent (if ofClient is true) or that the server sent.
func (o *Overhearer) Feed(ofClient bool, b []byte) error {
	m, done := &o.server, o.endResponse
	if ofClient {
		m, done = &o.client, o.endRequest
	}
	for len(b) > 0 && o.err == nil {
		var whole bool
		if b, whole, o.err = o.step(m, b, ofClient); whole && o.err == nil {
			o.err = done()
			m.begin()
		}
	}
	return o.err
}

// End must be called when the connection has ended. If this is also the end of a response, End
// completes the response.
func (o *Overhearer) End() {
	if o.err == nil && o.server.state == untilClose {
		_ = o.endResponse() // no further message follows
	}
}

func (o *Overhearer) endRequest() error {
	if len(o.open) == maxHeardOpen {
		return fmt.Errorf("the client has more than %d requests without a response", maxHeardOpen)
	}
	m := &o.client
	o.open = append(o.open, string(m.method) == "HEAD")
	o.to.Asked(&HeardRequest{HeardBody: m.heardBody(), Method: m.method, Target: m.target})
	return nil
}

func (o *Overhearer) endResponse() error {
	m := &o.server
	o.open = o.open[:copy(o.open, o.open[1:])]
	o.to.Answered(&HeardAnswer{HeardBody: m.heardBody(), Status: m.status, fields: m.fields})
	return nil
}

// heardMessage is the message that is being decoded.
type heardMessage struct {
	state          state
	partial        []byte // the beginning of an incomplete line
	head           int    // size so far of the head, or of the chunk sizes and extensions, in bytes
	method, target []byte
	status         int
	length         int // Content-Length, or -1
	chunked, coded bool
	fields         [MaxKeptFields][]byte
	left, size     int
	drop           bool
	body           []byte
}

// begin prepares m for the next message.
func (m *heardMessage) begin() {
	body, partial := m.body[:0], m.partial[:0]
	if cap(body) > MaxHead {
		body = nil
	}
	*m = heardMessage{state: statusLine, length: -1, body: body, partial: partial}
}

func (m *heardMessage) heardBody() HeardBody {
	if m.drop || m.coded {
		return HeardBody{Size: m.size}
	}
	return HeardBody{Size: m.size, Body: m.body}
}

// step processes the next line or the next piece of a body. whole is set if the message is
// complete.
func (o *Overhearer) step(m *heardMessage, b []byte, ofClient bool) (rest []byte, whole bool, err error) {
	switch m.state {
	case untilClose:
		m.addBody(b)
		return nil, false, nil
	case sizedBody, chunkData:
		n := min(len(b), m.left)
		m.addBody(b[:n])
		if m.left -= n; m.left > 0 {
			return nil, false, nil
		}
		whole, m.state = m.state == sizedBody, chunkEnd
		return b[n:], whole, nil
	}
	line, rest, ok, err := m.line(b)
	if err != nil || !ok {
		return nil, false, err
	}
	switch m.state {
	case statusLine:
		err = o.first(m, line, ofClient)
	case fields:
		if len(line) > 0 {
			err = o.field(m, line)
			break
		}
		whole, err = o.endOfHead(m, ofClient)
	case chunkSize:
		err = m.chunk(line)
	case chunkEnd:
		if m.state = chunkSize; len(line) > 0 {
			err = errors.New("a chunk is longer than its announced size")
		}
	default: // the trailer
		whole = len(line) == 0
	}
	return rest, whole, err
}

// line returns the next line without its line break. If the line is incomplete, it returns ok =
// false. The line is valid until the next call.
func (m *heardMessage) line(b []byte) (line, rest []byte, ok bool, err error) {
	end := bytes.IndexByte(b, '\n')
	n := end + 1
	if end < 0 {
		n = len(b)
	}
	if m.head += n; m.head > maxFraming || m.state <= fields && m.head > MaxHead {
		return nil, nil, false, errors.New("the head or the chunk sizes of a message are too long")
	}
	if end < 0 {
		if m.partial = append(m.partial, b...); m.state == statusLine && len(m.partial) > 16 && foreign(m.partial) {
			return nil, nil, false, errNotHTTP1
		}
		return nil, nil, false, nil
	}
	line = b[:end]
	if len(m.partial) > 0 {
		m.partial = append(m.partial, line...)
		line, m.partial = m.partial, m.partial[:0]
	}
	if k := len(line); k > 0 && line[k-1] == '\r' {
		line = line[:k-1]
	}
	return line, b[n:], true, nil
}

var errNotHTTP1 = errors.New("the connection does not speak HTTP/1.1")

// foreign reports whether the beginning of a message cannot be HTTP because it contains control
// characters, as for example a TLS record does.
func foreign(line []byte) bool {
	return bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' })
}

// first parses the first line of a message: a request line or a status line.
func (o *Overhearer) first(m *heardMessage, line []byte, ofClient bool) error {
	if foreign(line) {
		return errNotHTTP1
	}
	if !ofClient {
		if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' || !digit(line[9]) || !digit(line[10]) || !digit(line[11]) {
			return errNotHTTP1
		}
		if len(o.open) == 0 {
			return errors.New("the server sent a response without a request")
		}
		m.status, m.state = int(line[9]-'0')*100+int(line[10]-'0')*10+int(line[11]-'0'), fields
		return nil
	}
	if len(line) == 0 { // ignore an empty line before a request (RFC 9112, section 2.2)
		return nil
	}
	method, more, ok := bytes.Cut(line, []byte{' '})
	target, version, also := bytes.Cut(more, []byte{' '})
	if !ok || !also || !bytes.HasPrefix(version, []byte("HTTP/1.")) || len(method) == 0 || len(target) == 0 {
		return errNotHTTP1
	}
	m.method, m.target, m.state = append([]byte(nil), method...), append([]byte(nil), target...), fields
	return nil
}

// field parses a header field.
func (o *Overhearer) field(m *heardMessage, line []byte) error {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || line[0] == ' ' || line[0] == '\t' {
		return nil // a continuation line (obsolete line folding); no parsed field uses it
	}
	value = trim(value)
	switch {
	case len(name) == 14 && foldsTo(name, "content-length"):
		n := 0
		for _, c := range value {
			if !digit(c) || n > 1<<40 {
				return errors.New("the Content-Length of a message is not a number")
			}
			n = n*10 + int(c-'0')
		}
		if len(value) == 0 || m.length >= 0 && m.length != n {
			return errors.New("the Content-Length of a message is empty or ambiguous")
		}
		m.length = n
	case len(name) == 17 && foldsTo(name, "transfer-encoding"):
		m.chunked = true
		if !bytes.EqualFold(value, []byte("chunked")) {
			return errors.New("a message has a transfer coding other than chunked")
		}
	case len(name) == 16 && foldsTo(name, "content-encoding"):
		m.coded = !bytes.EqualFold(value, []byte("identity"))
	default:
		for i, w := range o.keepFields {
			if len(w) == len(name) && bytes.EqualFold(name, []byte(w)) {
				m.fields[i] = append([]byte(nil), value[:min(len(value), maxKept)]...)
			}
		}
	}
	return nil
}

// endOfHead determines the length of the body (RFC 9112, section 6.3). whole is set if there is no
// body.
func (o *Overhearer) endOfHead(m *heardMessage, ofClient bool) (whole bool, err error) {
	if !ofClient {
		switch {
		case m.status == 101:
			return false, errors.New("the connection switches to another protocol")
		case m.status < 200: // informational; the real response follows
			m.begin()
			return false, nil
		case m.status == 204, m.status == 304, o.open[0]:
			return true, nil
		}
	}
	switch {
	case m.chunked:
		m.state, m.head = chunkSize, 0
	case m.length > 0:
		m.state, m.left = sizedBody, m.length
	case m.length < 0 && !ofClient:
		m.state = untilClose
	default:
		return true, nil
	}
	return false, nil
}

// chunk parses the size of a chunk and ignores chunk extensions.
func (m *heardMessage) chunk(line []byte) error {
	n, i := 0, 0
	for ; i < len(line); i++ {
		d := unhex(line[i])
		if d < 0 {
			break
		}
		if n = n<<4 | d; n > 1<<40 {
			return errors.New("a chunk is too long")
		}
	}
	if i == 0 {
		return errors.New("a chunk has no size")
	}
	m.left, m.state = n, chunkData
	if n == 0 {
		m.state = trailer
	}
	return nil
}

// addBody adds a piece to the body. If the body exceeds MaxHeard, addBody discards the body and
// only counts its bytes.
func (m *heardMessage) addBody(p []byte) {
	m.size = min(m.size+len(p), 1<<50)
	switch {
	case m.drop || m.coded:
	case len(m.body)+len(p) > MaxHeard:
		m.drop, m.body = true, nil
	default:
		m.body = append(m.body, p...)
	}
}

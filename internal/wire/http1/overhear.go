package http1

import (
	"bytes"
	"errors"
	"fmt"
)

// MessageObserver receives the messages that a PassiveDecoder decodes. The arguments of a method
// are valid until the method returns.
type MessageObserver interface {
	// OnRequest is called for each complete request.
	OnRequest(*ObservedRequest)
	// OnResponse is called for each complete response. The response belongs to the oldest request
	// that has no response yet.
	OnResponse(*ObservedResponse)
}

// ObservedBody is the body of a message.
type ObservedBody struct {
	Size int    // length of the body, in bytes
	Body []byte // nil if the body is larger than MaxObservedBody or has a content coding
}

// IsComplete reports whether Body is the complete body.
func (b *ObservedBody) IsComplete() bool { return b.Body != nil || b.Size == 0 }

// ObservedRequest is a decoded request.
type ObservedRequest struct {
	ObservedBody
	Method, Target []byte
}

// ObservedResponse is a decoded response.
type ObservedResponse struct {
	ObservedBody
	Status int
	fields [MaxKeptFields][]byte
}

// Field returns the value of the i-th header field that was requested from NewPassiveDecoder, or an
// empty value if the response lacks the field.
func (a *ObservedResponse) Field(i int) []byte { return a.fields[i] }

// Uint returns, as a number, the value of the i-th header field that was requested from
// NewPassiveDecoder. It returns 0 if the field is missing or not a number.
func (a *ObservedResponse) Uint(i int) int64 { return int64(min(number(a.fields[i]), 1<<62)) }

// MaxObservedBody limits the size of the bodies that a PassiveDecoder keeps, in bytes.
const MaxObservedBody = 8 << 20

// maxUnanswered limits how many requests on one connection may wait for a response.
const maxUnanswered = 10_000

// PassiveDecoder is a passive decoder for both directions of an HTTP/1.1 connection. After an error
// it cannot decode anything further. Only one goroutine may use it.
type PassiveDecoder struct {
	observer   MessageObserver
	keepFields []string
	client     observedMessage
	server     observedMessage
	// unansweredHEAD has one element for each request without a response. The element is true for a
	// HEAD request, whose response has no body even if its header fields announce one.
	unansweredHEAD []bool
	err            error
}

// NewPassiveDecoder returns a passive decoder for a connection. The decoder must receive the
// connection's traffic starting with the first byte. fieldNames lists the response header fields to
// keep, at most MaxKeptFields of them.
func NewPassiveDecoder(observer MessageObserver, fieldNames ...string) *PassiveDecoder {
	o := &PassiveDecoder{observer: observer, keepFields: fieldNames}
	o.client.begin()
	o.server.begin()
	return o
}

// Feed decodes bytes that the client sent (if fromClient is true) or that the server sent.
func (o *PassiveDecoder) Feed(fromClient bool, b []byte) error {
	m, done := &o.server, o.endResponse
	if fromClient {
		m, done = &o.client, o.endRequest
	}
	for len(b) > 0 && o.err == nil {
		var whole bool
		if b, whole, o.err = o.step(m, b, fromClient); whole && o.err == nil {
			o.err = done()
			m.begin()
		}
	}
	return o.err
}

// End must be called when the connection has ended. If the end of the connection is also the end of
// a response, End completes the response.
func (o *PassiveDecoder) End() {
	if o.err == nil && o.server.state == untilClose {
		_ = o.endResponse() // no further message follows
	}
}

func (o *PassiveDecoder) endRequest() error {
	if len(o.unansweredHEAD) == maxUnanswered {
		return fmt.Errorf("the client has more than %d requests without a response", maxUnanswered)
	}
	m := &o.client
	o.unansweredHEAD = append(o.unansweredHEAD, string(m.method) == "HEAD")
	o.observer.OnRequest(&ObservedRequest{ObservedBody: m.observedBody(), Method: m.method, Target: m.target})
	return nil
}

func (o *PassiveDecoder) endResponse() error {
	m := &o.server
	o.unansweredHEAD = o.unansweredHEAD[:copy(o.unansweredHEAD, o.unansweredHEAD[1:])]
	o.observer.OnResponse(&ObservedResponse{ObservedBody: m.observedBody(), Status: m.status, fields: m.fields})
	return nil
}

// observedMessage is the message that is being decoded.
type observedMessage struct {
	state                     state
	partial                   []byte // the beginning of an incomplete line
	head                      int    // size so far of the head, or of the chunk sizes and extensions, in bytes
	method, target            []byte
	status                    int
	length                    int // Content-Length, or -1
	chunked, hasContentCoding bool
	fields                    [MaxKeptFields][]byte
	missing, size             int
	drop                      bool
	body                      []byte
}

// begin prepares m for the next message.
func (m *observedMessage) begin() {
	body, partial := m.body[:0], m.partial[:0]
	if cap(body) > MaxHead {
		body = nil
	}
	*m = observedMessage{state: statusLine, length: -1, body: body, partial: partial}
}

func (m *observedMessage) observedBody() ObservedBody {
	if m.drop || m.hasContentCoding {
		return ObservedBody{Size: m.size}
	}
	return ObservedBody{Size: m.size, Body: m.body}
}

// step processes the next line or the next piece of a body. complete is set if the message is
// complete.
func (o *PassiveDecoder) step(m *observedMessage, b []byte, fromClient bool) (rest []byte, complete bool, err error) {
	switch m.state {
	case untilClose:
		m.addBody(b)
		return nil, false, nil
	case sizedBody, chunkData:
		n := min(len(b), m.missing)
		m.addBody(b[:n])
		if m.missing -= n; m.missing > 0 {
			return nil, false, nil
		}
		complete, m.state = m.state == sizedBody, chunkEnd
		return b[n:], complete, nil
	}
	line, rest, ok, err := m.line(b)
	if err != nil || !ok {
		return nil, false, err
	}
	switch m.state {
	case statusLine:
		err = o.startLine(m, line, fromClient)
	case fields:
		if len(line) > 0 {
			err = o.field(m, line)
			break
		}
		complete, err = o.endOfHead(m, fromClient)
	case chunkSize:
		err = m.chunk(line)
	case chunkEnd:
		if m.state = chunkSize; len(line) > 0 {
			err = errors.New("a chunk is longer than its announced size")
		}
	default: // the trailer
		complete = len(line) == 0
	}
	return rest, complete, err
}

// line returns the next line without its line break. If the line is incomplete, it returns ok =
// false. The line is valid until the next call.
func (m *observedMessage) line(b []byte) (line, rest []byte, ok bool, err error) {
	end := bytes.IndexByte(b, '\n')
	n := end + 1
	if end < 0 {
		n = len(b)
	}
	if m.head += n; m.head > maxFraming || m.state <= fields && m.head > MaxHead {
		return nil, nil, false, errors.New("the head or the chunk sizes of a message are too long")
	}
	if end < 0 {
		if m.partial = append(m.partial, b...); m.state == statusLine && len(m.partial) > 16 && isForeign(m.partial) {
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

// isForeign reports whether the beginning of a message cannot be HTTP because it contains control
// characters, as for example a TLS record does.
func isForeign(line []byte) bool {
	return bytes.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' && r != '\r' })
}

// startLine parses the first line of a message: a request line or a status line.
func (o *PassiveDecoder) startLine(m *observedMessage, line []byte, fromClient bool) error {
	if isForeign(line) {
		return errNotHTTP1
	}
	if !fromClient {
		if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.")) || line[8] != ' ' || !digit(line[9]) || !digit(line[10]) || !digit(line[11]) {
			return errNotHTTP1
		}
		if len(o.unansweredHEAD) == 0 {
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
func (o *PassiveDecoder) field(m *observedMessage, line []byte) error {
	name, value, ok := bytes.Cut(line, []byte{':'})
	if !ok || line[0] == ' ' || line[0] == '\t' {
		return nil // a continuation line (obsolete line folding); no parsed field uses it
	}
	value = trim(value)
	switch {
	case len(name) == 14 && equalsFolded(name, "content-length"):
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
	case len(name) == 17 && equalsFolded(name, "transfer-encoding"):
		m.chunked = true
		if !bytes.EqualFold(value, []byte("chunked")) {
			return errors.New("a message has a transfer coding other than chunked")
		}
	case len(name) == 16 && equalsFolded(name, "content-encoding"):
		m.hasContentCoding = !bytes.EqualFold(value, []byte("identity"))
	default:
		for i, w := range o.keepFields {
			if len(w) == len(name) && bytes.EqualFold(name, []byte(w)) {
				m.fields[i] = append([]byte(nil), value[:min(len(value), maxKept)]...)
			}
		}
	}
	return nil
}

// endOfHead determines the length of the body (RFC 9112, section 6.3). complete is set if there is
// no body.
func (o *PassiveDecoder) endOfHead(m *observedMessage, fromClient bool) (complete bool, err error) {
	if !fromClient {
		switch {
		case m.status == 101:
			return false, errors.New("the connection switches to another protocol")
		case m.status < 200: // informational; the real response follows
			m.begin()
			return false, nil
		case m.status == 204, m.status == 304, o.unansweredHEAD[0]:
			return true, nil
		}
	}
	switch {
	case m.chunked:
		m.state, m.head = chunkSize, 0
	case m.length > 0:
		m.state, m.missing = sizedBody, m.length
	case m.length < 0 && !fromClient:
		m.state = untilClose
	default:
		return true, nil
	}
	return false, nil
}

// chunk parses the size of a chunk and ignores chunk extensions.
func (m *observedMessage) chunk(line []byte) error {
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
	m.missing, m.state = n, chunkData
	if n == 0 {
		m.state = trailer
	}
	return nil
}

// addBody adds a piece to the body. If the body exceeds MaxObservedBody, addBody discards the body
// and only counts its bytes.
func (m *observedMessage) addBody(p []byte) {
	m.size = min(m.size+len(p), 1<<50)
	switch {
	case m.drop || m.hasContentCoding:
	case len(m.body)+len(p) > MaxObservedBody:
		m.drop, m.body = true, nil
	default:
		m.body = append(m.body, p...)
	}
}

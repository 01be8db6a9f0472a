package http1

// Template contains the bytes that all requests of the same kind share.
type Template struct {
	start  []byte // the request line up to the variable part of the target
	fields []byte // the rest of the head, from the protocol version to the empty line
	body   bool
}

const (
	lengthField = "Content-Length: "
	// lengthSpace is the space reserved for the value of Content-Length, enough for 999,999,999
	// bytes. A shorter value keeps leading spaces, which HTTP allows.
	lengthSpace = "         "
)

// Template returns a template for requests with the given method and a target that begins with
// path. If body is true, the requests have a Content-Length.
func (c *Conn) Template(method, path string, body bool, fields ...Field) *Template {
	t := &Template{start: []byte(method + " " + path), body: body}
	t.fields = append(t.fields, " HTTP/1.1\r\n"...)
	t.fields = append(t.fields, c.common...)
	for _, f := range fields {
		t.fields = appendField(t.fields, f)
	}
	if body {
		t.fields = append(t.fields, lengthField+lengthSpace+"\r\n"...)
	}
	t.fields = append(t.fields, "\r\n"...)
	return t
}

func appendField(b []byte, f Field) []byte {
	b = append(b, f.Name...)
	b = append(b, ": "...)
	for i := range len(f.Value) {
		if v := f.Value[i]; v >= ' ' && v != 0x7f || v == '\t' {
			b = append(b, v)
		}
	}
	return append(b, "\r\n"...)
}

// Begin starts a request and returns its first bytes. The caller appends the rest of the target and
// then calls Head. The caller must first check that Idle returns true.
func (c *Conn) Begin(t *Template) []byte {
	c.template = t
	c.sent = 0
	return append(c.out[:0], t.start...)
}

// Head ends the target and appends the rest of the request's head. The caller appends the body to
// the result.
func (c *Conn) Head(b []byte) []byte {
	b = append(b, c.template.fields...)
	c.bodyStart = len(b)
	return b
}

// Send makes b the output. b must be the result of Head with the body appended.
func (c *Conn) Send(b []byte) {
	if c.template.body {
		at := c.bodyStart - len("\r\n\r\n")
		for n := len(b) - c.bodyStart; ; n /= 10 {
			at--
			b[at] = byte('0' + n%10)
			if n < 10 {
				break
			}
		}
	}
	c.out, c.open, c.late, c.stream = b, true, false, nil
	c.expectHead()
}

// Stream makes the connection pass the body of the next response to onPiece, piece by piece as it
// arrives, if the status is 200. Stream must be called directly after Send. A streamed body may be
// endless, so the connection does not buffer it, and the Response has no body. Each piece is a part
// of Feed's input. If onPiece returns an error, the connection fails.
func (c *Conn) Stream(onPiece func(piece []byte) error) { c.stream = onPiece }

// streams reports whether the connection passes the body of the current response to c.stream.
func (c *Conn) streams() bool { return c.stream != nil && c.response.Status == 200 }

// These flags mark the characters that need no escaping: in a path, the slash and the unreserved
// characters (RFC 3986); in a form, the characters listed in the WHATWG URL standard, section 5.2.
const (
	inPath = 1 << iota
	inForm
)

var plain = func() (table [256]uint8) {
	for c := range table {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '.', c == '_':
			table[c] = inPath | inForm
		case c == '~', c == '/':
			table[c] = inPath
		case c == '*':
			table[c] = inForm
		}
	}
	return table
}()

// AppendPath appends s as part of a path. It percent-encodes characters where necessary.
func AppendPath(b, s []byte) []byte { return appendEscaped(b, s, inPath) }

// AppendForm appends s as a value in a form (application/x-www-form-urlencoded).
func AppendForm(b, s []byte) []byte { return appendEscaped(b, s, inForm) }

func appendEscaped(b, s []byte, class uint8) []byte {
	const hex = "0123456789ABCDEF"
	from := 0
	for i, c := range s {
		if plain[c]&class != 0 {
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, '%', hex[c>>4], hex[c&15])
		from = i + 1
	}
	return append(b, s[from:]...)
}

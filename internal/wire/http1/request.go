package http1

// Template is the constant part of a request.
type Template struct {
	start  []byte // the request line up to the variable part of the target
	fields []byte // from the protocol version to the empty line
	body   bool
}

const (
	lengthField = "Content-Length: "
	// lengthWidth is the width of the Content-Length value, for up to 999,999,999 bytes. Unused
	// positions stay optional white space before the value.
	lengthWidth = 9
	lengthSpace = "         "
)

// Template returns a template of requests with the given method and a target that begins with path.
// If body is set, requests have a Content-Length.
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

// Begin starts a request and returns its first bytes. The caller appends the rest of the target,
// then calls Head. Idle must be true.
func (c *Conn) Begin(t *Template) []byte {
	c.using = t
	c.sent = 0
	return append(c.out[:0], t.start...)
}

// Head ends the target. The caller appends the body to the result.
func (c *Conn) Head(b []byte) []byte {
	b = append(b, c.using.fields...)
	c.bodyAt = len(b)
	return b
}

// Send makes b the output. b is the result of Head with the body appended.
func (c *Conn) Send(b []byte) {
	if c.using.body {
		at := c.bodyAt - len("\r\n\r\n")
		for n := len(b) - c.bodyAt; ; n /= 10 {
			at--
			b[at] = byte('0' + n%10)
			if n < 10 {
				break
			}
		}
		for at--; b[at] != ' '; at-- { // overwrite the remaining digits of an earlier, longer value
			b[at] = ' '
		}
	}
	c.out, c.open, c.late, c.stream = b, true, false, nil
	c.expectHead()
}

// Stream passes the body of the next response to take in pieces as they arrive, if the status is
// 200. It must be called directly after Send. Such a response may be endless: the connection
// buffers none of it, and its Response has no body. If take returns an error, the connection fails.
// A piece is part of Feed's input.
func (c *Conn) Stream(take func(piece []byte) error) { c.stream = take }

// streams reports whether the body of the response under way is passed to stream.
func (c *Conn) streams() bool { return c.stream != nil && c.answer.Status == 200 }

// Characters that are not escaped: in a path the slash and the unreserved characters of RFC 3986,
// in a form those of the WHATWG URL standard, section 5.2.
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

// AppendPath appends s as part of a path, percent-encoded where necessary.
func AppendPath(b, s []byte) []byte { return appendEscaped(b, s, inPath) }

// AppendForm appends s as the value of a form (application/x-www-form-urlencoded).
func AppendForm(b, s []byte) []byte { return appendEscaped(b, s, inForm) }

func appendEscaped(b, s []byte, as uint8) []byte {
	const hex = "0123456789ABCDEF"
	from := 0
	for i, c := range s {
		if plain[c]&as != 0 {
			continue
		}
		b = append(b, s[from:i]...)
		b = append(b, '%', hex[c>>4], hex[c&15])
		from = i + 1
	}
	return append(b, s[from:]...)
}

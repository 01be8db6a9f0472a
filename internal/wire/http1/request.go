package http1

// Template is the part of a request that stays the same.
type Template struct {
	start  []byte // the request line up to where the target varies
	fields []byte // from the protocol's name to the empty line
	body   bool
}

const (
	lengthField = "Content-Length: "
	// lengthWidth is the room for the length of a body: up to 999,999,999
	// bytes. What is not needed stays optional white space before the value.
	lengthWidth = 9
	lengthSpace = "         "
)

// Template makes a template of requests with the given method, and a target
// that begins with path. With body it carries a Content-Length.
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

// Begin begins a request and returns what it begins with: the caller appends
// the rest of the target, then calls Head. The caller has asked Idle.
func (c *Conn) Begin(t *Template) []byte {
	c.using = t
	c.sent = 0
	return append(c.out[:0], t.start...)
}

// Head ends the target. What the caller appends to the result is the body.
func (c *Conn) Head(b []byte) []byte {
	b = append(b, c.using.fields...)
	c.bodyAt = len(b)
	return b
}

// Send makes b, which Head returned and the body was appended to, the output.
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
		for at--; b[at] != ' '; at-- { // the digits of a longer one
			b[at] = ' '
		}
	}
	c.out, c.open, c.late, c.stream = b, true, false, nil
	c.expectHead()
}

// Stream has take get the body of the answer to the request that was just given to
// Send, in pieces as they come, if its status is 200. Such an answer may be without
// end: nothing of it is kept, and its Response has no body. An error of take is the
// connection's end. The pieces lie in what Feed was given.
func (c *Conn) Stream(take func(piece []byte) error) { c.stream = take }

// streams reports whether the answer under way is taken as it comes.
func (c *Conn) streams() bool { return c.stream != nil && c.answer.Status == 200 }

// Characters that stand for themselves: in a path those that RFC 3986 calls
// unreserved, and the slash; in a form the WHATWG's URL standard, section 5.2.
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

// AppendPath appends s as part of a path, percent-encoded where needed.
func AppendPath(b, s []byte) []byte { return appendEscaped(b, s, inPath) }

// AppendForm appends s as a value of a form (application/x-www-form-urlencoded).
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

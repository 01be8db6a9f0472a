package httpd

import (
	"bytes"
	"errors"
	"strconv"
)

// Limits of a request, in bytes.
const (
	maxHead = 64 << 10
	maxBody = 64 << 20
)

// Request is a request as a Service sees it. Its bytes are valid until the
// Service returns.
type Request struct {
	Method   []byte
	Path     []byte // decoded, with its slash
	Query    []byte // as it came, without the question mark
	Body     []byte
	Auth     []byte // the value of Options.AuthField
	Close    bool   // the client wants the connection closed
	Continue bool   // it waits for 100 Continue before it sends the body

	path []byte // for Path
}

// parse reads a request (RFC 9112) from the beginning of in and returns how
// long it is; 0 if it is not whole yet.
func (r *Request) parse(in []byte, authField string) (n int, err error) {
	*r = Request{path: r.path[:0]}
	end := bytes.Index(in, []byte("\r\n\r\n"))
	if end < 0 {
		if len(in) > maxHead {
			return 0, errors.New("the request's header is too long")
		}
		return 0, nil
	}
	head, rest := in[:end], in[end+4:]
	line, head, _ := bytes.Cut(head, []byte("\r\n"))
	if err := r.startLine(line); err != nil {
		return 0, err
	}
	length, expects := 0, false
	for len(head) > 0 {
		line, head, _ = bytes.Cut(head, []byte("\r\n"))
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok {
			return 0, errors.New("a line of the header is no field")
		}
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > maxBody {
				return 0, errors.New("the Content-Length is none, or too long")
			}
		case is(name, "transfer-encoding"):
			return 0, errors.New("a null server takes no Transfer-Encoding, but a Content-Length")
		case is(name, "connection"):
			r.Close = r.Close || is(value, "close")
		case is(name, "expect"):
			expects = is(value, "100-continue")
		case authField != "" && is(name, authField):
			r.Auth = value
		}
	}
	if len(rest) < length {
		r.Continue = expects && len(rest) == 0
		return 0, nil
	}
	r.Body = rest[:length]
	return end + 4 + length, nil
}

func is(b []byte, lower string) bool {
	return len(b) == len(lower) && bytes.EqualFold(b, []byte(lower))
}

func (r *Request) startLine(line []byte) error {
	var ok bool
	r.Method, line, _ = bytes.Cut(line, []byte(" "))
	target, version, _ := bytes.Cut(line, []byte(" "))
	if len(target) == 0 || target[0] != '/' || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return errors.New("the first line is no request of HTTP/1")
	}
	r.Close = string(version) == "HTTP/1.0"
	r.Path, r.Query, _ = bytes.Cut(target, []byte("?"))
	if bytes.IndexByte(r.Path, '%') >= 0 {
		if r.path, ok = unescape(r.path, r.Path, false); !ok {
			return errors.New("the path is not percent-encoded as it must be")
		}
		r.Path = r.path
	}
	return nil
}

// Param returns the value of the first parameter with the given name, as it
// came.
func (r *Request) Param(name string) (value []byte, ok bool) { return param(r.Query, name) }

func param(list []byte, name string) (value []byte, ok bool) {
	for len(list) > 0 {
		var p []byte
		p, list, _ = bytes.Cut(list, []byte("&"))
		if len(p) >= len(name) && string(p[:len(name)]) == name {
			if len(p) == len(name) {
				return nil, true
			}
			if p[len(name)] == '=' {
				return p[len(name)+1:], true
			}
		}
	}
	return nil, false
}

// Form appends the decoded value of a form's field in the body to b.
func (r *Request) Form(b []byte, name string) ([]byte, bool) {
	raw, ok := param(r.Body, name)
	if !ok {
		return b, false
	}
	return unescape(b, raw, true)
}

// unescape appends what is percent-encoded in s to b.
func unescape(b, s []byte, form bool) ([]byte, bool) {
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '%':
			if i+2 >= len(s) || unhex(s[i+1]) < 0 || unhex(s[i+2]) < 0 {
				return b, false
			}
			b = append(b, byte(unhex(s[i+1])<<4|unhex(s[i+2])))
			i += 2
		case c == '+' && form:
			b = append(b, ' ')
		default:
			b = append(b, c)
		}
	}
	return b, true
}

func unhex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

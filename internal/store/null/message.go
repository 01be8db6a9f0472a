package null

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"unicode/utf8"
)

// Limits of a request, in bytes.
const (
	maxHead = 64 << 10
	maxBody = 64 << 20
)

// HTTPRequest is a request to an HTTPService. Its bytes are valid only until the method of
// HTTPService returns.
type HTTPRequest struct {
	Method   []byte
	Path     []byte // decoded, with a leading slash
	Query    []byte // raw, without the question mark
	Body     []byte
	Auth     []byte // value of the header field HTTPServer.AuthField
	Close    bool   // the client asks to close the connection
	Continue bool   // the client waits for 100 Continue and has not yet sent the body
}

// parse parses the request at the start of the input (RFC 9112) and returns the request's length.
// It returns 0 if the request is incomplete.
func (r *HTTPRequest) parse(in []byte, authField string) (n int, err error) {
	*r = HTTPRequest{}
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
			return 0, errors.New("a header line contains no colon")
		}
		value = bytes.TrimSpace(value)
		switch {
		case equalFold(name, "content-length"):
			if length, err = strconv.Atoi(string(value)); err != nil || length < 0 || length > maxBody {
				return 0, errors.New("the Content-Length is invalid or too large")
			}
		case equalFold(name, "transfer-encoding"):
			return 0, errors.New("a null server does not support Transfer-Encoding; send a Content-Length")
		case equalFold(name, "connection"):
			r.Close = r.Close || equalFold(value, "close")
		case equalFold(name, "expect"):
			expects = equalFold(value, "100-continue")
		case authField != "" && equalFold(name, authField):
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

func equalFold(b []byte, lower string) bool {
	return len(b) == len(lower) && bytes.EqualFold(b, []byte(lower))
}

func (r *HTTPRequest) startLine(line []byte) error {
	r.Method, line, _ = bytes.Cut(line, []byte(" "))
	target, version, _ := bytes.Cut(line, []byte(" "))
	if len(target) == 0 || target[0] != '/' || !bytes.HasPrefix(version, []byte("HTTP/1.")) {
		return errors.New("the first line is not an HTTP/1 request")
	}
	r.Close = string(version) == "HTTP/1.0"
	r.Path, r.Query, _ = bytes.Cut(target, []byte("?"))
	if bytes.IndexByte(r.Path, '%') >= 0 {
		path, err := url.PathUnescape(string(r.Path))
		if err != nil {
			return errors.New("the path's percent-encoding is invalid")
		}
		r.Path = []byte(path)
	}
	return nil
}

// copied returns a deep copy of the request.
func (r *HTTPRequest) copied() *HTTPRequest {
	c := *r
	for _, b := range []*[]byte{&c.Method, &c.Path, &c.Query, &c.Body, &c.Auth} {
		*b = bytes.Clone(*b)
	}
	return &c
}

// Param returns the raw value of the first query parameter with the given name. The result `ok`
// is false if the query has no such parameter.
func (r *HTTPRequest) Param(name string) (value []byte, ok bool) { return param(r.Query, name) }

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

// Form returns the decoded value of a form field in the body. The result `ok` is false if the
// field is missing or invalid.
func (r *HTTPRequest) Form(name string) (value string, ok bool) {
	raw, ok := param(r.Body, name)
	if !ok {
		return "", false
	}
	value, err := url.QueryUnescape(string(raw))
	return value, err == nil
}

// AppendResponse appends a response. An example of `status` is "200 OK". The parameter `fields`
// contains additional header fields, each with a line end.
func AppendResponse(b []byte, status, fields, body string) []byte {
	b = AppendHead(b, status, fields, len(body))
	return append(b, body...)
}

// AppendDamaged appends a copy of the value with a changed last byte.
func AppendDamaged(b, value []byte) []byte {
	b = append(b, value...)
	if len(value) > 0 {
		b[len(b)-1] ^= 1
	}
	return b
}

// AppendHead appends the head of a response. The parameter `size` is the length of the body in
// bytes.
func AppendHead(b []byte, status, fields string, size int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = append(b, status...)
	b = append(b, "\r\n"...)
	b = append(b, fields...)
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, "\r\n\r\n"...)
}

// AppendJSON appends s as a JSON string. It replaces invalid UTF-8. It is fast for plain ASCII
// text, such as a load's keys, because it only copies such text.
func AppendJSON(b, s []byte) []byte {
	for _, c := range s {
		if c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			text, _ := json.Marshal(string(s)) // cannot fail for a string
			return append(b, text...)
		}
	}
	return append(append(append(b, '"'), s...), '"')
}

package httpd

import (
	"strconv"
	"unicode/utf8"
)

// AppendAnswer appends an answer: a status such as "200 OK", further fields,
// each with its line end, and the body.
func AppendAnswer(b []byte, status, fields, body string) []byte {
	b = AppendHead(b, status, fields, len(body))
	return append(b, body...)
}

// Damaged appends a value that was damaged to b: its last byte is another.
func Damaged(b, value []byte) []byte {
	b = append(b, value...)
	if len(value) > 0 {
		b[len(b)-1] ^= 1
	}
	return b
}

// AppendHead appends the head of an answer whose body has size bytes.
func AppendHead(b []byte, status, fields string, size int) []byte {
	b = append(b, "HTTP/1.1 "...)
	b = append(b, status...)
	b = append(b, "\r\n"...)
	b = append(b, fields...)
	b = append(b, "Content-Length: "...)
	b = strconv.AppendInt(b, int64(size), 10)
	return append(b, "\r\n\r\n"...)
}

// AppendJSON appends s as a JSON string; what is no UTF-8 becomes replacement
// characters.
func AppendJSON(b, s []byte) []byte {
	const hex = "0123456789abcdef"
	b = append(b, '"')
	from := 0
	for i := 0; i < len(s); {
		if c := s[i]; c >= ' ' && c < utf8.RuneSelf && c != '"' && c != '\\' {
			i++
			continue
		}
		b = append(b, s[from:i]...)
		r, n := utf8.DecodeRune(s[i:])
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', s[i])
		case r < ' ':
			b = append(b, `\u00`...)
			b = append(b, hex[r>>4], hex[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
		i += n
		from = i
	}
	b = append(b, s[from:]...)
	return append(b, '"')
}

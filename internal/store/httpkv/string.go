package httpkv

import (
	"bytes"
	"unicode/utf16"
	"unicode/utf8"
)

// String scans a string and returns the decoded text and the buffer `to`. If the string contains
// escapes, String appends the decoded text to the buffer. Otherwise the text refers to the input,
// and the buffer is unchanged.
func (s *JSONScanner) String(to []byte) (text, _ []byte) {
	raw, ok := s.rawString()
	if !ok {
		return nil, to
	}
	at := bytes.IndexByte(raw, '\\')
	if at < 0 {
		return raw, to
	}
	from := len(to)
	for at >= 0 {
		to = append(to, raw[:at]...)
		var n int
		if to, n = unescape(to, raw[at:]); n == 0 {
			s.fail()
			return nil, to
		}
		raw = raw[at+n:]
		at = bytes.IndexByte(raw, '\\')
	}
	to = append(to, raw...)
	return to[from:], to
}

// unescape appends the character that the escape at the start of b stands for (RFC 8259, section
// 7). It returns the length of the escape, or 0 if the escape is invalid. It replaces an unpaired
// surrogate with the replacement character.
func unescape(to, b []byte) ([]byte, int) {
	if len(b) < 2 {
		return to, 0
	}
	switch b[1] {
	case '"', '\\', '/':
		return append(to, b[1]), 2
	case 'b':
		return append(to, '\b'), 2
	case 'f':
		return append(to, '\f'), 2
	case 'n':
		return append(to, '\n'), 2
	case 'r':
		return append(to, '\r'), 2
	case 't':
		return append(to, '\t'), 2
	case 'u':
	default:
		return to, 0
	}
	r := hex4(b)
	if r < 0 {
		return to, 0
	}
	if utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, hex4(b[6:])); pair != utf8.RuneError {
			return utf8.AppendRune(to, pair), 12
		}
		r = utf8.RuneError
	}
	return utf8.AppendRune(to, r), 6
}

// hex4 parses an escape \uXXXX at the start of b. It returns -1 if b does not start with such an
// escape.
func hex4(b []byte) rune {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	r := rune(0)
	for _, c := range b[2:6] {
		switch {
		case c >= '0' && c <= '9':
			c -= '0'
		case c|0x20 >= 'a' && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

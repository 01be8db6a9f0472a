package httpkv

import (
	"bytes"
)

// maxDepth limits how deep a value that Skip skips may be nested.
const maxDepth = 10_000

// JSONScanner scans one JSON text. After the first unexpected token, all methods return zero
// values. Therefore loops end, and the caller needs to check for an error only once:
//
//	s := NewJSONScanner(body)
//	for more := s.Array(); more && s.Element(); {
//		n += s.Int()
//	}
//	if !s.End() { ... }
type JSONScanner struct {
	b      []byte
	i      int
	failed bool
	first  bool // set if the scanner has just entered an object or array
}

// NewJSONScanner returns a scanner at the start of b.
func NewJSONScanner(b []byte) JSONScanner { return JSONScanner{b: b} }

// OK reports whether all tokens so far were as expected.
func (s *JSONScanner) OK() bool { return !s.failed }

// End reports whether all tokens were as expected and only white space is left.
func (s *JSONScanner) End() bool { return s.peek() == 0 && s.i == len(s.b) && !s.failed }

// peek skips white space and returns the next character, or 0 at the end.
func (s *JSONScanner) peek() byte {
	for ; s.i < len(s.b); s.i++ {
		switch c := s.b[s.i]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

func (s *JSONScanner) fail() {
	s.failed = true
	s.i = len(s.b)
}

// enter skips an opening bracket.
func (s *JSONScanner) enter(open byte) bool {
	if s.failed || s.peek() != open {
		s.fail()
		return false
	}
	s.i++
	s.first = true
	return true
}

// more moves to the next element of an object or array and returns true. At the end it skips
// the closing bracket and returns false.
func (s *JSONScanner) more(closing byte) bool {
	c := s.peek()
	first := s.first
	s.first = false
	switch {
	case s.failed:
		return false
	case c == closing:
		s.i++
		return false
	case first:
		return true
	case c == ',':
		s.i++
		if s.peek() != closing {
			return true
		}
	}
	s.fail()
	return false
}

// Object enters an object. Member then moves to its members.
func (s *JSONScanner) Object() bool { return s.enter('{') }

// Member returns the name of the next member, without decoding escapes, and moves to the
// member's value. ok is false at the end of the object.
func (s *JSONScanner) Member() (name []byte, ok bool) {
	if !s.more('}') {
		return nil, false
	}
	if name, ok = s.rawString(); !ok || s.peek() != ':' {
		s.fail()
		return nil, false
	}
	s.i++
	return name, true
}

// Array enters an array. Element then moves to its elements.
func (s *JSONScanner) Array() bool { return s.enter('[') }

// Element moves to the next element. It returns false if there is none.
func (s *JSONScanner) Element() bool { return s.more(']') }

// Null skips a null. It returns false if the next value is not null.
func (s *JSONScanner) Null() bool {
	if s.peek() != 'n' {
		return false
	}
	return s.literal("null")
}

// Bool scans a Boolean and returns its value.
func (s *JSONScanner) Bool() bool {
	if s.peek() == 't' {
		return s.literal("true")
	}
	s.literal("false")
	return false
}

func (s *JSONScanner) literal(word string) bool {
	if s.failed || len(s.b)-s.i < len(word) || string(s.b[s.i:s.i+len(word)]) != word {
		s.fail()
		return false
	}
	s.i += len(word)
	return true
}

// Int scans an integer, which must fit into an int64.
func (s *JSONScanner) Int() int64 {
	negative := s.peek() == '-'
	if negative {
		s.i++
	}
	n, from := int64(0), s.i
	for s.i < len(s.b) && s.b[s.i] >= '0' && s.b[s.i] <= '9' {
		if n > (1<<63-10)/10 {
			s.fail()
			return 0
		}
		n = n*10 + int64(s.b[s.i]-'0')
		s.i++
	}
	if s.i == from || s.i < len(s.b) && (s.b[s.i] == '.' || s.b[s.i]|0x20 == 'e') ||
		s.i > from+1 && s.b[from] == '0' {
		s.fail()
		return 0
	}
	if negative {
		return -n
	}
	return n
}

// Skip skips a value of any type. It does not check the value completely: it only counts
// brackets, finds the ends of strings, and checks the characters of numbers and literals.
func (s *JSONScanner) Skip() {
	depth := 0
	for !s.failed {
		switch c := s.peek(); c {
		case '{', '[':
			if depth++; depth > maxDepth {
				s.fail()
			}
			s.i++
			continue
		case '}', ']':
			if depth--; depth < 0 {
				s.fail()
				return
			}
			s.i++
		case ',', ':':
			if depth == 0 {
				s.fail()
				return
			}
			s.i++
			continue
		case '"':
			s.rawString()
		default:
			s.skipWord()
		}
		if depth == 0 {
			return
		}
	}
}

// skipWord skips a number or a literal.
func (s *JSONScanner) skipWord() {
	from := s.i
	for s.i < len(s.b) {
		c := s.b[s.i]
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.' {
			s.i++
			continue
		}
		break
	}
	if s.i == from {
		s.fail()
	}
}

// IsString reports whether the next value is a string.
func (s *JSONScanner) IsString() bool { return s.peek() == '"' }

// Fail marks the text as invalid. A caller uses it if a value is not as expected.
func (s *JSONScanner) Fail() { s.fail() }

// rawString scans a string and returns the text between its quotes, without decoding escapes.
func (s *JSONScanner) rawString() ([]byte, bool) {
	if s.failed || s.peek() != '"' {
		s.fail()
		return nil, false
	}
	from := s.i + 1
	for at := from; ; {
		n := bytes.IndexByte(s.b[at:], '"')
		if n < 0 {
			s.fail()
			return nil, false
		}
		at += n
		if !escaped(s.b[from:at]) {
			s.i = at + 1
			return s.b[from:at], true
		}
		at++
	}
}

// escaped reports whether the character after b is escaped, that is, whether b ends with an odd
// number of backslashes.
func escaped(b []byte) bool {
	n := 0
	for n < len(b) && b[len(b)-1-n] == '\\' {
		n++
	}
	return n&1 == 1
}

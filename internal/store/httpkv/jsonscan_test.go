package httpkv

import (
	"bytes"
	"encoding/json"
	"testing"
	"unicode/utf8"
)

// read reads a value of any type and returns what encoding/json would return.
func read(s *JSONScanner, buf []byte) (any, []byte) {
	switch s.peek() {
	case '{':
		m := map[string]any{}
		for more := s.Object(); more; {
			name, ok := s.Member()
			if !ok {
				break
			}
			key := string(name)
			_ = json.Unmarshal([]byte(`"`+key+`"`), &key)
			m[key], buf = read(s, buf)
		}
		return m, buf
	case '[':
		a := []any{}
		for more := s.Array(); more && s.Element(); {
			var v any
			v, buf = read(s, buf)
			a = append(a, v)
		}
		return a, buf
	case '"':
		text, buf := s.String(buf)
		return string(text), buf
	case 'n':
		s.Null()
		return nil, buf
	case 't', 'f':
		return s.Bool(), buf
	default:
		return float64(s.Int()), buf
	}
}

func TestReads(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1,"b":[true,false,null,"x"],"c":{}}`: "",
		` { "a" : [ ] , "b" : -12 } `:              "",
		`["\"\\\/\b\f\n\r\t","\u0041\u00e9\u2028","\ud83d\ude00","\ud83d","\ud83dx","\udc00\ud83d","é"]`: "",
		`"\\\""`: "", `9007199254740993`: "", `""`: "",
	} {
		s := NewJSONScanner([]byte(in))
		got, _ := read(&s, nil)
		var theirs any
		if err := json.Unmarshal([]byte(in), &theirs); err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(theirs)
		if string(a) != string(b) || !s.End() || want != "" {
			t.Errorf("%s: the scanner read %s, encoding/json read %s, and End returned %v", in, a, b, s.End())
		}
		s = NewJSONScanner([]byte(in))
		if s.Skip(); !s.End() {
			t.Errorf("the scanner could not skip %s", in)
		}
	}
}

func TestRefuses(t *testing.T) {
	for _, in := range []string{
		``, `{`, `[`, `{"a"}`, `{"a":}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{,}`, `[,]`, `{"a":1]`, `"\x"`, `"\u12"`, `"`, `"a`,
		`01`, `1.5`, `1e3`, `-`, `99999999999999999999`, `tru`, `nul`, `{"a":1}{`, `{1:2}`,
	} {
		s := NewJSONScanner([]byte(in))
		_, _ = read(&s, nil)
		if s.End() {
			t.Errorf("the scanner accepted %q", in)
		}
	}
	deep := make([]byte, maxDepth+1)
	for i := range deep {
		deep[i] = '['
	}
	s := NewJSONScanner(deep)
	if s.Skip(); s.OK() {
		t.Error("endless nesting was accepted")
	}
}

// FuzzReads checks that the scanner reads integers, strings and structures in the same way as
// encoding/json.
func FuzzReads(f *testing.F) {
	for _, in := range []string{`{"a":[1,"\u00e9\ud83d\ude00",null,true]}`, `[{"Key":"k","Value":"dg==","ModifyIndex":7}]`, `"\\"`, `[]`, `{"`} {
		f.Add([]byte(in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		s := NewJSONScanner(in)
		got, _ := read(&s, nil)
		skipped := NewJSONScanner(in)
		skipped.Skip()
		if !s.End() || !utf8.Valid(in) || bytes.Contains(in, []byte("-0")) { // encoding/json keeps the sign of -0, and the scanner does not
			return
		}
		if !skipped.End() {
			t.Fatalf("the scanner can read %q but cannot skip it", in)
		}
		var theirs any
		if json.Unmarshal(in, &theirs) != nil {
			return // the scanner is less strict about control characters and UTF-8 in strings
		}
		a, _ := json.Marshal(got)
		b, _ := json.Marshal(theirs)
		if string(a) != string(b) {
			t.Fatalf("%q: the scanner read %s, and encoding/json read %s", in, a, b)
		}
	})
}

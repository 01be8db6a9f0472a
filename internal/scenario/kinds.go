package scenario

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/printable"
)

// typed is a value of the type T, which the load has at field; nil where it has
// none. optional says that the zero value means that there is none.
type typed[T comparable] struct {
	field    func(*Load) *T
	form     form[T]
	optional bool
}

// form is how values of a type are written.
type form[T comparable] struct {
	word   string // the hint
	parse  func(string) (T, error)
	read   func(d *draft, key string, n *node) (T, error)
	show   func(T) string
	json   func(T) any // nil: what show returns
	check  func(c *checks, key string, v T)
	within string // bounds
}

func (t typed[T]) hint() string   { return t.form.word }
func (t typed[T]) bounds() string { return t.form.within }

func (t typed[T]) parse(l *Load, s string) error {
	v, err := t.form.parse(s)
	if err == nil {
		*t.field(l) = v
	}
	return err
}

func (t typed[T]) read(d *draft, key string, n *node) error {
	var v T
	var err error
	if t.form.read != nil {
		v, err = t.form.read(d, key, n)
	} else {
		v, err = parsed(n, key, t.form.parse)
	}
	*t.field(&d.load) = v
	return err
}

func (t typed[T]) check(c *checks, key string, l *Load) {
	if v := t.field(l); v != nil && t.form.check != nil {
		t.form.check(c, key, *v)
	}
}

// at is the load's value, if it has one.
func (t typed[T]) at(l *Load) (v T, ok bool) {
	p, zero := t.field(l), v
	if p == nil || t.optional && *p == zero {
		return v, false
	}
	return *p, true
}

func (t typed[T]) text(l *Load) string {
	v, ok := t.at(l)
	if !ok {
		return ""
	}
	return t.form.show(v)
}

func (t typed[T]) encode(l *Load) any {
	v, ok := t.at(l)
	switch {
	case !ok:
		return nil
	case t.form.json != nil:
		return t.form.json(v)
	}
	return t.form.show(v)
}

func (t typed[T]) decode(l *Load, b json.RawMessage) error {
	v := t.field(l)
	if v == nil {
		return nil
	}
	if t.form.json != nil {
		return json.Unmarshal(b, v)
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	return t.parse(l, s)
}

func asIs[T any](v T) any { return v }

// whole is a whole number from least to most.
func whole[T int | int64 | uint32](field func(*Load) *T, least, most int64) typed[T] {
	return typed[T]{field: field, form: form[T]{
		word: "N", json: asIs[T], within: between(least, most),
		parse: func(s string) (T, error) {
			n, err := ParseWhole(s)
			if err == nil && int64(T(n)) != n {
				return 0, fmt.Errorf("%s is out of range", s)
			}
			return T(n), err
		},
		read: func(_ *draft, key string, n *node) (T, error) {
			i, err := n.whole(key)
			if err == nil && int64(T(i)) != i {
				err = n.at.errorf("%s is %s, which is far too large", key, n.text)
			}
			return T(i), err
		},
		show:  func(n T) string { return strconv.FormatInt(int64(n), 10) },
		check: func(c *checks, key string, n T) { c.whole(key, int64(n), least, most) },
	}}
}

// count is a whole number from 1; a load that has 0 does not say it.
func count64(field func(*Load) *uint64, most uint64) typed[uint64] {
	return typed[uint64]{field: field, optional: true, form: form[uint64]{
		word: "N", json: asIs[uint64], within: between(1, int64(most)),
		parse: func(s string) (uint64, error) {
			n, err := ParseWhole(s)
			if err == nil && n < 0 {
				n = 0 // which is refused by the name of the flag
			}
			return uint64(n), err
		},
		read: func(d *draft, key string, n *node) (uint64, error) {
			i, err := n.whole(key)
			if err == nil && i < 1 {
				err = n.at.errorf("%s", d.called.outOf(key, n.text, "at least 1"))
			}
			return uint64(max(i, 0)), err
		},
		show: func(n uint64) string { return strconv.FormatUint(n, 10) },
		check: func(c *checks, key string, n uint64) {
			if n > most {
				c.add(key, "<"+key+"> is %d and can be at most %d", n, most)
			}
		},
	}}
}

// size is a number of bytes.
func size(field func(*Load) *int, most int) typed[int] {
	return typed[int]{field: field, form: form[int]{
		word: "SIZE", json: asIs[int], within: "0 to " + FormatSize(most),
		show:  strconv.Itoa,
		parse: ParseFlagSize,
		check: func(c *checks, key string, n int) { c.size(key, n, most) },
	}}
}

// span is a duration from 0, or above 0.
func span(field func(*Load) *time.Duration, above bool, most time.Duration) typed[time.Duration] {
	within := "0s to " + FormatDuration(most)
	if above {
		within = "above 0, up to " + FormatDuration(most)
	}
	return typed[time.Duration]{field: field, form: form[time.Duration]{
		word: "DURATION", within: within, parse: ParseDuration, show: FormatDuration,
		read: func(d *draft, key string, n *node) (time.Duration, error) {
			v, err := parsed(n, key, ParseDuration)
			if err == nil && above && v <= 0 {
				err = n.at.errorf("%s", d.called.outOf(key, v.String(), "above 0"))
			}
			return v, err
		},
		check: func(c *checks, key string, v time.Duration) { c.span(key, v, most) },
	}}
}

// yesNo is a parameter that is true or false.
func yesNo(field func(*Load) *bool) typed[bool] {
	return typed[bool]{field: field, form: form[bool]{
		word: "bool", json: asIs[bool], show: strconv.FormatBool,
		parse: ParseBool,
		read:  func(_ *draft, key string, n *node) (bool, error) { return n.boolean(key) },
	}}
}

// chosen is one of several words, or what a parser makes of one.
func chosen[T interface {
	comparable
	fmt.Stringer
}](field func(*Load) *T, word string, parse func(string) (T, error)) typed[T] {
	return typed[T]{field: field, form: form[T]{word: word, parse: parse, show: T.String}}
}

// bytesValue is a key, or a part of one.
type bytesValue struct {
	field func(*Load) *[]byte
	word  string
}

func (v bytesValue) hint() string                  { return v.word }
func (bytesValue) bounds() string                  { return "at least 1 byte" }
func (bytesValue) check(*checks, string, *Load)    {}
func (v bytesValue) parse(l *Load, s string) error { *v.field(l) = []byte(s); return nil }
func (v bytesValue) read(d *draft, key string, n *node) error {
	s, err := n.word(key)
	*v.field(&d.load) = []byte(s)
	return err
}

func (v bytesValue) text(l *Load) string {
	b := v.field(l)
	if b == nil || *b == nil {
		return ""
	}
	return KeyText(*b)
}

func (v bytesValue) encode(l *Load) any {
	if s := v.text(l); s != "" {
		return s
	}
	return nil
}

func (v bytesValue) decode(l *Load, b json.RawMessage) error {
	s, err := decodeText(b)
	if err == nil {
		*v.field(l) = []byte(s)
	}
	return err
}

// prefixValue is the prefix of keys.
type prefixValue struct{}

func (prefixValue) hint() string   { return "TEXT" }
func (prefixValue) bounds() string { return "up to " + FormatSize(MaxKeySize) }
func (prefixValue) check(c *checks, key string, l *Load) {
	c.size(key, len(l.Prefix), MaxKeySize)
}
func (prefixValue) parse(l *Load, s string) error { l.Prefix = s; return nil }
func (prefixValue) read(d *draft, key string, n *node) (err error) {
	d.load.Prefix, err = n.word(key)
	return err
}
func (prefixValue) text(l *Load) string { return KeyText([]byte(l.Prefix)) }
func (prefixValue) encode(l *Load) any {
	if l.Prefix == "" {
		return nil
	}
	return KeyText([]byte(l.Prefix))
}

func (prefixValue) decode(l *Load, b json.RawMessage) (err error) {
	l.Prefix, err = decodeText(b)
	return err
}

// decodeText reads a key of anybody's record, as it can be shown.
func decodeText(b json.RawMessage) (string, error) {
	var s string
	err := json.Unmarshal(b, &s)
	return KeyText([]byte(s)), err
}

// KeyText is a key as it can be shown: itself, or 0x and hexadecimal.
func KeyText(b []byte) string {
	if s := string(b); printable.Is(s) {
		return s
	}
	return "0x" + hex.EncodeToString(b)
}

// between is a range in words.
func between(least, most int64) string {
	if most == math.MaxInt64 {
		return "from " + grouped(least)
	}
	return grouped(least) + " to " + powerOfTen(most)
}

// powerOfTen is a large number of one 1 and zeros as 10^12, and any other grouped.
func powerOfTen(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n >= 1e9 && strings.Trim(s[1:], "0") == "" && s[0] == '1' {
		return "10^" + strconv.Itoa(len(s)-1)
	}
	return grouped(n)
}

// grouped is a number with a comma at each thousand.
func grouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

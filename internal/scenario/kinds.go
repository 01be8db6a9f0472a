package scenario

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/text"
)

// typed describes a parameter whose value in a load has type T. field returns a pointer to the
// value, or nil if the load does not have the parameter.
type typed[T any] struct {
	field        func(*Load) *T
	word, within string // for help: the placeholder of the value and its bounds
	fromText     func(string) (T, error)
	show         func(T) string
	// The following fields are optional. fromFile reads a value from a file; without it, fromText
	// is used. verify checks bounds. unsaid reports whether a value means that the load does not
	// have the parameter.
	fromFile func(d *draft, key string, n *node) (T, error)
	verify   func(c *checks, key string, v T)
	unsaid   func(T) bool
	// toJSON and fromJSON convert the value for records. Without them, the value is recorded as
	// text. toJSON returns a value for encoding/json. If only toJSON is set, encoding/json also
	// decodes the value.
	toJSON   func(T) any
	fromJSON func(json.RawMessage) (T, error)
}

func (t typed[T]) hint() string   { return t.word }
func (t typed[T]) bounds() string { return t.within }

func (t typed[T]) parse(l *Load, s string) error {
	v, err := t.fromText(s)
	if err == nil {
		*t.field(l) = v
	}
	return err
}

func (t typed[T]) read(d *draft, key string, n *node) (err error) {
	var v T
	if t.fromFile != nil {
		v, err = t.fromFile(d, key, n)
	} else {
		v, err = parsed(n, key, t.fromText)
	}
	*t.field(&d.load) = v
	return err
}

func (t typed[T]) check(c *checks, key string, l *Load) {
	if v := t.field(l); v != nil && t.verify != nil {
		t.verify(c, key, *v)
	}
}

// valueIn returns a pointer to the load's value, or nil if the load has none.
func (t typed[T]) valueIn(l *Load) *T {
	v := t.field(l)
	if v == nil || t.unsaid != nil && t.unsaid(*v) {
		return nil
	}
	return v
}

func (t typed[T]) text(l *Load) string {
	if v := t.valueIn(l); v != nil {
		return t.show(*v)
	}
	return ""
}

func (t typed[T]) encode(l *Load) any {
	v := t.valueIn(l)
	switch {
	case v == nil:
		return nil
	case t.toJSON != nil:
		return t.toJSON(*v)
	}
	return t.show(*v)
}

func (t typed[T]) decode(l *Load, b json.RawMessage) (err error) {
	field := t.field(l)
	switch {
	case field == nil:
		return nil
	case t.fromJSON != nil:
		*field, err = t.fromJSON(b)
		return err
	case t.toJSON != nil:
		return json.Unmarshal(b, field)
	}
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	return t.parse(l, KeyText([]byte(s))) // makes text from an untrusted record printable
}

func asIs[T any](v T) any { return v }

func isZero[T comparable](v T) bool {
	var zero T
	return v == zero
}

// optional returns a copy of t in which the value zero means that a load does not have the
// parameter. For example, the window ends after a total or a duration, and the other of the two is
// zero.
func optional[T comparable](t typed[T]) typed[T] {
	t.unsaid = isZero[T]
	return t
}

// integer returns a parameter whose value is a whole number from least to most. For an unsigned
// type, 0 means that the load does not have the parameter.
func integer[T int | int64 | uint32 | uint64](field func(*Load) *T, least, most int64) typed[T] {
	signed := T(0)-1 < 0
	t := typed[T]{
		field: field, word: "N", toJSON: asIs[T], within: between(least, most),
		show: func(n T) string { return fmt.Sprint(n) },
		fromText: func(s string) (T, error) {
			n, err := text.ParseInteger(s)
			if !signed && n < 0 {
				return 0, err // verify rejects it later with the name of the flag
			}
			if err == nil && int64(T(n)) != n {
				err = fmt.Errorf("%s is out of range", s)
			}
			return T(n), err
		},
		fromFile: func(d *draft, key string, n *node) (T, error) {
			i, err := n.integer(key)
			switch {
			case err != nil:
			case !signed && i < least: // otherwise a given 0 would count as absent
				err = n.at.errorf("%s", d.called.outOf(key, n.text, fmt.Sprintf("at least %d", least)))
			case int64(T(i)) != i:
				err = n.at.errorf("%s is %s, which is far too large", key, n.text)
			}
			return T(i), err
		},
		verify: func(c *checks, key string, n T) {
			switch i := int64(n); {
			case signed && i < least:
				c.outOf(key, strconv.FormatInt(i, 10), fmt.Sprintf("at least %d", least))
			case uint64(n) > uint64(most):
				c.add(key, "<"+key+"> is %d, but must be at most %d", n, most)
			}
		},
	}
	if !signed {
		return optional(t)
	}
	return t
}

// notNegative returns a parameter whose value is a whole number that is at least 0. The text zero
// explains the meaning of 0 in messages.
func notNegative(field func(*Load) *int64, zero string) typed[int64] {
	t := integer(field, 0, math.MaxInt64)
	t.verify = func(c *checks, key string, n int64) {
		if n < 0 {
			c.add(key, "<"+key+"> is %d, but must be at least 0"+zero, n)
		}
	}
	return t
}

func percent(field func(*Load) *int) value {
	t := integer(field, 0, 100)
	t.verify = func(c *checks, key string, n int) {
		if n < 0 || n > 100 {
			c.add(key, "<"+key+"> is %d, but must be from 0 to 100", n)
		}
	}
	return t
}

// size returns a parameter whose value is a number of bytes.
func size(field func(*Load) *int, most int) value {
	return typed[int]{
		field: field, word: "SIZE", toJSON: asIs[int], within: "0 to " + text.FormatSize(most), show: strconv.Itoa, fromText: text.ParseFlagSize,
		verify: func(c *checks, key string, n int) { c.size(key, n, most) },
	}
}

// span returns a parameter whose value is a duration that is at least 0. The text zero explains the
// meaning of 0 in messages.
func span(field func(*Load) *time.Duration, most time.Duration, zero string) typed[time.Duration] {
	return typed[time.Duration]{
		field: field, word: "DURATION", within: "0s to " + text.FormatDuration(most), fromText: text.ParseDuration, show: text.FormatDuration,
		verify: func(c *checks, key string, d time.Duration) {
			switch {
			case d < 0:
				c.add(key, "<"+key+"> is %s, but must be at least 0"+zero, text.FormatDuration(d))
			case d > most:
				c.add(key, "<"+key+"> is %s, but must be at most %s", text.FormatDuration(d), text.FormatDuration(most))
			}
		},
	}
}

// spanAbove returns a parameter whose value is a duration above 0.
func spanAbove(field func(*Load) *time.Duration, most time.Duration) typed[time.Duration] {
	t := span(field, most, "")
	t.within = "above 0, up to " + text.FormatDuration(most)
	t.fromFile = func(d *draft, key string, n *node) (time.Duration, error) {
		v, err := parsed(n, key, text.ParseDuration)
		if err == nil && v <= 0 {
			err = n.at.errorf("%s", d.called.outOf(key, v.String(), "above 0"))
		}
		return v, err
	}
	return t
}

// timeout returns the parameter for the timeout. It rejects a timeout of 0 even in a load that was
// not read from a file.
func timeout() value {
	t := spanAbove(func(l *Load) *time.Duration { return &l.Timeout }, maxTimeout)
	within := t.verify
	t.verify = func(c *checks, key string, d time.Duration) {
		if d <= 0 {
			c.outOf(key, d.String(), "above 0")
			return
		}
		within(c, key, d)
	}
	return t
}

// yesNo returns a parameter whose value is true or false.
func yesNo(field func(*Load) *bool) typed[bool] {
	return typed[bool]{
		field: field, word: "bool", toJSON: asIs[bool], show: strconv.FormatBool, fromText: text.ParseBool,
		fromFile: func(_ *draft, key string, n *node) (bool, error) { return n.boolean(key) },
	}
}

// chosen returns a parameter whose value is a word that parse accepts.
func chosen[T fmt.Stringer](field func(*Load) *T, word string, parse func(string) (T, error)) typed[T] {
	return typed[T]{field: field, word: word, fromText: parse, show: T.String}
}

// textValue returns a parameter whose value is any text. bounds describes the valid values in help.
func textValue[T string | []byte](field func(*Load) *T, word, bounds string) typed[T] {
	return typed[T]{
		field: field, word: word, within: bounds,
		fromText: func(s string) (T, error) { return T(s), nil },
		fromFile: func(_ *draft, key string, n *node) (T, error) {
			s, err := n.word(key)
			return T(s), err
		},
		show:   func(v T) string { return KeyText([]byte(v)) },
		unsaid: func(v T) bool { return len(v) == 0 },
	}
}

// rate returns the parameter for the rate: a number of operations per second, or a percentage of
// another trial's throughput. Flags do not accept percentages, because a command has no other
// trial.
func rate() value {
	return typed[Rate]{
		field: func(l *Load) *Rate { return &l.Rate }, word: "R", within: "above 0, up to 10^7", show: Rate.String,
		fromText: func(s string) (Rate, error) {
			n, err := text.ParseNumber(s)
			return Rate{PerSecond: n}, err
		},
		fromFile: func(d *draft, key string, n *node) (Rate, error) {
			r, err := parsed(n, key, parseRate)
			if err == nil && r.Of == "" && !(r.PerSecond > 0) {
				bounds := "above 0"
				if n.flag {
					bounds += ", or 0 for a closed loop"
				}
				err = n.at.errorf("%s", d.called.outOf(key, n.text, bounds))
			}
			return r, err
		},
		unsaid: isZero[Rate],
		// If the rate is a percentage, records contain the percentage and not the rate computed
		// from it.
		toJSON: func(r Rate) any {
			if r.Of != "" {
				return r.String()
			}
			return r.PerSecond
		},
		fromJSON: func(b json.RawMessage) (r Rate, err error) {
			var s string
			if json.Unmarshal(b, &s) == nil {
				return parseRate(s)
			}
			return r, json.Unmarshal(b, &r.PerSecond)
		},
	}
}

// KeyText returns a key as printable text: the key itself, or 0x and hexadecimal digits.
func KeyText(b []byte) string {
	if s := string(b); text.Printable(s) {
		return s
	}
	return "0x" + hex.EncodeToString(b)
}

// between formats a range of whole numbers.
func between(least, most int64) string {
	if most == math.MaxInt64 {
		return "from " + text.Count(uint64(least))
	}
	return text.Count(uint64(least)) + " to " + powerOfTen(most)
}

// powerOfTen formats a large power of ten as, for example, 10^12, and any other number with
// separators.
func powerOfTen(n int64) string {
	s := strconv.FormatInt(n, 10)
	if n >= 1e9 && strings.Trim(s[1:], "0") == "" && s[0] == '1' {
		return "10^" + strconv.Itoa(len(s)-1)
	}
	return text.Count(uint64(n))
}

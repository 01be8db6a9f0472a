package scenario

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// typedValue describes a parameter whose value in a load has type T. field returns a pointer to the
// value, or nil if the load does not have the parameter.
type typedValue[T any] struct {
	field                   func(*Load) *T
	placeholder, boundsText string // for help: the placeholder of the value and its bounds
	fromText                func(string) (T, error)
	format                  func(T) string
	fileSchema              func() jsonSchema // of the values in a file
	// The following fields are optional. fromFile reads a value from a file; without it, fromText
	// is used. checkBounds checks bounds. isAbsent reports whether a value means that the load does
	// not have the parameter.
	fromFile    func(d *draft, key string, n *file.Node) (T, error)
	checkBounds func(c *checks, key string, v T)
	isAbsent    func(T) bool
	// toJSON and fromJSON convert the value for records. Without them, the value is recorded as
	// text. toJSON returns a value for encoding/json. If only toJSON is set, encoding/json also
	// decodes the value.
	toJSON   func(T) any
	fromJSON func(json.RawMessage) (T, error)
}

func (t typedValue[T]) hint() string       { return t.placeholder }
func (t typedValue[T]) bounds() string     { return t.boundsText }
func (t typedValue[T]) schema() jsonSchema { return t.fileSchema() }

func (t typedValue[T]) parse(l *Load, s string) error {
	v, err := t.fromText(s)
	if err == nil {
		*t.field(l) = v
	}
	return err
}

func (t typedValue[T]) read(d *draft, key string, n *file.Node) (err error) {
	var v T
	if t.fromFile != nil {
		v, err = t.fromFile(d, key, n)
	} else {
		v, err = file.ParseWord(n, key, t.fromText)
	}
	*t.field(&d.load) = v
	return err
}

func (t typedValue[T]) check(c *checks, key string, l *Load) {
	if v := t.field(l); v != nil && t.checkBounds != nil {
		t.checkBounds(c, key, *v)
	}
}

// presentValue returns a pointer to the load's value, or nil if the load has none.
func (t typedValue[T]) presentValue(l *Load) *T {
	v := t.field(l)
	if v == nil || t.isAbsent != nil && t.isAbsent(*v) {
		return nil
	}
	return v
}

func (t typedValue[T]) text(l *Load) string {
	if v := t.presentValue(l); v != nil {
		return t.format(*v)
	}
	return ""
}

func (t typedValue[T]) encode(l *Load) any {
	v := t.presentValue(l)
	switch {
	case v == nil:
		return nil
	case t.toJSON != nil:
		return t.toJSON(*v)
	}
	return t.format(*v)
}

func (t typedValue[T]) decode(l *Load, b json.RawMessage) (err error) {
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

func identity[T any](v T) any { return v }

func isZero[T comparable](v T) bool {
	var zero T
	return v == zero
}

// optionalValue returns a copy of t in which the value zero means that a load does not have the
// parameter. For example, a load has either a total or a duration, and the value zero marks the one
// that it does not have.
func optionalValue[T comparable](t typedValue[T]) typedValue[T] {
	t.isAbsent = isZero[T]
	return t
}

// integerValue returns a parameter whose value is a whole number from least to most. For an
// unsigned type, 0 means that the load does not have the parameter.
func integerValue[T int | int64 | uint32 | uint64](field func(*Load) *T, least, most int64) typedValue[T] {
	signed := T(0)-1 < 0
	t := typedValue[T]{
		field: field, placeholder: "N", toJSON: identity[T], boundsText: formatRange(least, most), fileSchema: integers(least, most),
		format: func(n T) string { return fmt.Sprint(n) },
		fromText: func(s string) (T, error) {
			n, err := text.ParseInteger(s)
			if !signed && n < 0 {
				return 0, err // Command.Scenario rejects the number later, with the name of the flag
			}
			if err == nil && int64(T(n)) != n {
				err = fmt.Errorf("%s is out of range", s)
			}
			return T(n), err
		},
		fromFile: func(d *draft, key string, n *file.Node) (T, error) {
			i, err := n.Integer(key)
			switch {
			case err != nil:
			case !signed && i < least: // otherwise a given 0 would count as absent
				err = n.Pos.Errorf("%s", d.keyNamer.outOfBounds(key, n.Text, fmt.Sprintf("at least %d", least)))
			case int64(T(i)) != i:
				err = n.Pos.Errorf("%s is %s, which is far too large", key, n.Text)
			}
			return T(i), err
		},
		checkBounds: func(c *checks, key string, n T) {
			switch i := int64(n); {
			case signed && i < least:
				c.addOutOfBounds(key, strconv.FormatInt(i, 10), fmt.Sprintf("at least %d", least))
			case uint64(n) > uint64(most):
				c.add(key, "<"+key+"> is %d, but must be at most %d", n, most)
			}
		},
	}
	if !signed {
		return optionalValue(t)
	}
	return t
}

// nonNegative returns a parameter whose value is a whole number that is at least 0. The parameter
// zero is a text that explains the meaning of 0 in messages.
func nonNegative(field func(*Load) *int64, zero string) typedValue[int64] {
	t := integerValue(field, 0, math.MaxInt64)
	t.checkBounds = func(c *checks, key string, n int64) {
		if n < 0 {
			c.add(key, "<"+key+"> is %d, but must be at least 0"+zero, n)
		}
	}
	return t
}

func percentValue(field func(*Load) *int) value {
	t := integerValue(field, 0, 100)
	t.checkBounds = func(c *checks, key string, n int) {
		if n < 0 || n > 100 {
			c.add(key, "<"+key+"> is %d, but must be from 0 to 100", n)
		}
	}
	return t
}

// sizeValue returns a parameter whose value is a number of bytes.
func sizeValue(field func(*Load) *int, limit int) value {
	return typedValue[int]{
		field: field, placeholder: "SIZE", fileSchema: func() jsonSchema { return sizeSchema(0, float64(limit)) }, toJSON: identity[int], boundsText: "0 to " + text.FormatSize(limit), format: strconv.Itoa, fromText: text.ParseFlagSize,
		checkBounds: func(c *checks, key string, n int) { c.checkSize(key, n, limit) },
	}
}

// durationValue returns a parameter whose value is a duration that is at least 0. The parameter
// zero is a text that explains the meaning of 0 in messages.
func durationValue(field func(*Load) *time.Duration, limit time.Duration, zero string) typedValue[time.Duration] {
	return typedValue[time.Duration]{
		field: field, placeholder: "DURATION", boundsText: "0s to " + text.FormatDuration(limit), fromText: text.ParseDuration, format: text.FormatDuration,
		fileSchema: durationSchema,
		checkBounds: func(c *checks, key string, d time.Duration) {
			switch {
			case d < 0:
				c.add(key, "<"+key+"> is %s, but must be at least 0"+zero, text.FormatDuration(d))
			case d > limit:
				c.add(key, "<"+key+"> is %s, but must be at most %s", text.FormatDuration(d), text.FormatDuration(limit))
			}
		},
	}
}

// positiveDuration returns a parameter whose value is a duration above 0.
func positiveDuration(field func(*Load) *time.Duration, limit time.Duration) typedValue[time.Duration] {
	t := durationValue(field, limit, "")
	t.boundsText, t.fileSchema = "above 0, up to "+text.FormatDuration(limit), positiveDurationSchema
	t.fromFile = func(d *draft, key string, n *file.Node) (time.Duration, error) {
		v, err := file.ParseWord(n, key, text.ParseDuration)
		if err == nil && v <= 0 {
			err = n.Pos.Errorf("%s", d.keyNamer.outOfBounds(key, v.String(), "above 0"))
		}
		return v, err
	}
	return t
}

// timeoutValue returns the parameter for the timeout. It rejects a timeout of 0 even in a load that
// was not read from a file.
func timeoutValue() value {
	t := positiveDuration(func(l *Load) *time.Duration { return &l.Timeout }, maxTimeout)
	checkLimit := t.checkBounds
	t.checkBounds = func(c *checks, key string, d time.Duration) {
		if d <= 0 {
			c.addOutOfBounds(key, d.String(), "above 0")
			return
		}
		checkLimit(c, key, d)
	}
	return t
}

// boolValue returns a parameter whose value is true or false.
func boolValue(field func(*Load) *bool) typedValue[bool] {
	return typedValue[bool]{
		field: field, placeholder: "bool", fileSchema: boolSchema, toJSON: identity[bool], format: strconv.FormatBool, fromText: text.ParseBool,
		fromFile: func(_ *draft, key string, n *file.Node) (bool, error) { return n.Boolean(key) },
	}
}

// enumValue returns a parameter whose value is a word that the function parse accepts.
func enumValue[T fmt.Stringer](field func(*Load) *T, word string, parse func(string) (T, error), schema func() jsonSchema) typedValue[T] {
	return typedValue[T]{field: field, placeholder: word, fromText: parse, format: T.String, fileSchema: schema}
}

// textValue returns a parameter whose value is any text. bounds describes the valid values in help.
func textValue[T string | []byte](field func(*Load) *T, word, bounds string) typedValue[T] {
	return typedValue[T]{
		field: field, placeholder: word, boundsText: bounds, fileSchema: textSchema,
		fromText: func(s string) (T, error) { return T(s), nil },
		fromFile: func(_ *draft, key string, n *file.Node) (T, error) {
			s, err := n.ScalarText(key)
			return T(s), err
		},
		format:   func(v T) string { return KeyText([]byte(v)) },
		isAbsent: func(v T) bool { return len(v) == 0 },
	}
}

// rateValue returns the parameter for the rate: a number of operations per second, or a percentage
// of another trial's throughput. Flags do not accept percentages, because a command has no other
// trial.
func rateValue() value {
	return typedValue[Rate]{
		field: func(l *Load) *Rate { return &l.Rate }, placeholder: "R", boundsText: "above 0, up to 10^7", fileSchema: rateSchema, format: Rate.String,
		fromText: func(s string) (Rate, error) {
			n, err := text.ParseNumber(s)
			return Rate{PerSecond: n}, err
		},
		fromFile: func(d *draft, key string, n *file.Node) (Rate, error) {
			r, err := file.ParseWord(n, key, parseRate)
			if err == nil && r.SourceTrial == "" && !(r.PerSecond > 0) {
				bounds := "above 0"
				if n.FromFlag {
					bounds += ", or 0 for a closed loop"
				}
				err = n.Pos.Errorf("%s", d.keyNamer.outOfBounds(key, n.Text, bounds))
			}
			return r, err
		},
		isAbsent: isZero[Rate],
		// If the rate is a percentage, records contain the percentage and not the rate computed
		// from it.
		toJSON: func(r Rate) any {
			if r.SourceTrial != "" {
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

// formatRange formats a range of whole numbers.
func formatRange(least, most int64) string {
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

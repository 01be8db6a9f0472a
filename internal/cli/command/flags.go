package command

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/scenario"
)

// value is a flag whose errors are our own sentences.
type value[T any] struct {
	into  *T
	parse func(string) (T, error)
	show  func(T) string
	kind  string
}

// Set implements pflag.Value.
func (v *value[T]) Set(s string) error {
	t, err := v.parse(s)
	if err == nil {
		*v.into = t
	}
	return err
}

// String implements pflag.Value; it is what help shows as the default.
func (v *value[T]) String() string {
	if v.into == nil {
		return ""
	}
	return v.show(*v.into)
}

// Type implements pflag.Value; it stands for the value in help.
func (v *value[T]) Type() string { return v.kind }

// Flags registers flags, in the order in which help lists them.
type Flags struct{ Set *pflag.FlagSet }

// NewFlags returns what registers flags in a set, which help lists in that order.
func NewFlags(set *pflag.FlagSet) Flags {
	set.SortFlags = false
	return Flags{set}
}

// add registers a flag of any type; *into is its default.
func add[T any](f Flags, name string, into *T, kind string, parse func(string) (T, error), show func(T) string, help string) {
	f.Set.Var(&value[T]{into, parse, show, kind}, name, help)
}

// Text registers a flag of any text.
func (f Flags) Text(name string, into *string, kind, help string) {
	add(f, name, into, kind, func(s string) (string, error) { return s, nil }, func(s string) string { return s }, help)
}

// Choice registers a flag of one of the words.
func (f Flags) Choice(name string, into *string, help string, words ...string) {
	add(f, name, into, strings.Join(words, "|"), OneOf(words...), func(s string) string { return s }, help)
}

// Whole registers a flag of a whole number.
func (f Flags) Whole(name string, into *int, help string) {
	add(f, name, into, "N", ParseWhole[int], strconv.Itoa, help)
}

// Long registers a flag of a whole number of 64 bits.
func (f Flags) Long(name string, into *int64, help string) {
	add(f, name, into, "N", ParseWhole[int64], func(n int64) string { return strconv.FormatInt(n, 10) }, help)
}

// Seed registers a flag of a seed.
func (f Flags) Seed(name string, into *uint64, help string) {
	add(f, name, into, "N", parseSeed, func(n uint64) string { return strconv.FormatUint(n, 10) }, help)
}

// Number registers a flag of a number.
func (f Flags) Number(name string, into *float64, kind, help string) {
	add(f, name, into, kind, scenario.ParseNumber, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }, help)
}

// Size registers a flag of a number of bytes.
func (f Flags) Size(name string, into *int, help string) {
	add(f, name, into, "SIZE", scenario.ParseFlagSize, strconv.Itoa, help)
}

// Span registers a flag of a duration.
func (f Flags) Span(name string, into *time.Duration, help string) {
	add(f, name, into, "DURATION", scenario.ParseDuration, showSpan, help)
}

// Toggle registers a flag that is true when it is given without a value.
func (f Flags) Toggle(name string, into *bool, help string) {
	add(f, name, into, "bool", scenario.ParseBool, strconv.FormatBool, help)
	f.Set.Lookup(name).NoOptDefVal = "true"
}

func showSpan(d time.Duration) string {
	if d == 0 {
		return "0" // which help does not show
	}
	return scenario.FormatDuration(d)
}

// ParseWhole leaves the range to the scenario's rules, which name the flag and
// its limits.
func ParseWhole[T int | int64](s string) (T, error) {
	n, err := scenario.ParseWhole(s)
	if err == nil && int64(T(n)) != n {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return T(n), err
}

func parseSeed(s string) (uint64, error) {
	n, err := scenario.ParseWhole(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a seed; write a whole number from 0 to %d", s, int64(math.MaxInt64))
	}
	return uint64(n), nil
}

// OneOf reads a text that can only be one of some words.
func OneOf(words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		for _, w := range words {
			if s == w {
				return s, nil
			}
		}
		return "", fmt.Errorf("there is no %q; choose %s", s, strings.Join(words, " or "))
	}
}

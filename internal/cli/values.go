package cli

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

// flags registers flags, in the order in which help lists them.
type flags struct{ set *pflag.FlagSet }

func newFlags(set *pflag.FlagSet) flags {
	set.SortFlags = false
	return flags{set}
}

// add registers a flag of any type; *into is its default.
func add[T any](f flags, name string, into *T, kind string, parse func(string) (T, error), show func(T) string, help string) {
	f.set.Var(&value[T]{into, parse, show, kind}, name, help)
}

func (f flags) text(name string, into *string, kind, help string) {
	add(f, name, into, kind, func(s string) (string, error) { return s, nil }, func(s string) string { return s }, help)
}

func (f flags) choice(name string, into *string, help string, words ...string) {
	add(f, name, into, strings.Join(words, "|"), oneOf(words...), func(s string) string { return s }, help)
}

func (f flags) whole(name string, into *int, help string) {
	add(f, name, into, "N", parseWhole[int], strconv.Itoa, help)
}

func (f flags) long(name string, into *int64, help string) {
	add(f, name, into, "N", parseWhole[int64], func(n int64) string { return strconv.FormatInt(n, 10) }, help)
}

func (f flags) seed(name string, into *uint64, help string) {
	add(f, name, into, "N", parseSeed, func(n uint64) string { return strconv.FormatUint(n, 10) }, help)
}

func (f flags) number(name string, into *float64, kind, help string) {
	add(f, name, into, kind, scenario.ParseNumber, func(x float64) string { return strconv.FormatFloat(x, 'f', -1, 64) }, help)
}

func (f flags) size(name string, into *int, help string) {
	add(f, name, into, "SIZE", parseSize, strconv.Itoa, help)
}

func (f flags) span(name string, into *time.Duration, help string) {
	add(f, name, into, "DURATION", scenario.ParseDuration, showSpan, help)
}

func (f flags) toggle(name string, into *bool, help string) {
	add(f, name, into, "bool", parseBool, strconv.FormatBool, help)
	f.set.Lookup(name).NoOptDefVal = "true"
}

func showSpan(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	return s
}

// parseWhole leaves the range to the scenario's rules, which name the flag and
// its limits.
func parseWhole[T int | int64](s string) (T, error) {
	n, err := strconv.ParseInt(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	if T(n) != T(int(n)) {
		return 0, fmt.Errorf("%s is out of range", s)
	}
	return T(n), nil
}

func parseSeed(s string) (uint64, error) {
	n, err := strconv.ParseUint(strings.ReplaceAll(s, "_", ""), 10, 64)
	if err != nil || n > math.MaxInt64 {
		return 0, fmt.Errorf("%q is not a seed; write a whole number from 0 to %d", s, int64(math.MaxInt64))
	}
	return n, nil
}

// parseSize accepts a bare negative number too, which the scenario's rules
// refuse by the flag's name.
func parseSize(s string) (int, error) {
	if n, err := strconv.Atoi(s); err == nil && n < 0 {
		return n, nil
	}
	return scenario.ParseSize(s)
}

func parseBool(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, fmt.Errorf("%q is neither true nor false", s)
	}
	return b, nil
}

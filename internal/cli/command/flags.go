package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/text"
)

// value is a flag of any type. It returns quorumbench's own error messages.
type value[T any] struct {
	target *T
	parse  func(string) (T, error)
	show   func(T) string
	kind   string
}

// Set implements pflag.Value.
func (v *value[T]) Set(s string) error {
	t, err := v.parse(s)
	if err == nil {
		*v.target = t
	}
	return err
}

// String implements pflag.Value. Help shows the result as the default value.
func (v *value[T]) String() string {
	if v.target == nil {
		return ""
	}
	return v.show(*v.target)
}

// Type implements pflag.Value. Help shows the result as the name of the value.
func (v *value[T]) Type() string { return v.kind }

// Flags registers flags in a flag set. Help lists flags in the order of registration.
type Flags struct{ Set *pflag.FlagSet }

// NewFlags returns Flags that register flags in the given flag set. The flag set no longer sorts
// its flags by name.
func NewFlags(set *pflag.FlagSet) Flags {
	set.SortFlags = false
	return Flags{set}
}

// Value registers a flag of any type. The initial value of *target is the default.
func Value[T any](f Flags, name string, target *T, kind string, parse func(string) (T, error), show func(T) string, help string) {
	f.Set.Var(&value[T]{target, parse, show, kind}, name, help)
}

// repeated is a flag that may be given several times. Each value is appended to *target.
type repeated[T any] struct {
	target *[]T
	parse  func(string) (T, error)
	kind   string
}

// Set implements pflag.Value.
func (r *repeated[T]) Set(s string) error {
	one, err := r.parse(s)
	if err == nil {
		*r.target = append(*r.target, one)
	}
	return err
}

// String implements pflag.Value. It returns an empty string, so that help shows no default.
func (r *repeated[T]) String() string { return "" }

// Type implements pflag.Value. Help shows the result as the name of the value.
func (r *repeated[T]) Type() string { return r.kind }

// Repeated registers a flag that may be given several times. Each value is appended to *target.
func Repeated[T any](f Flags, name string, target *[]T, kind string, parse func(string) (T, error), help string) {
	f.Set.Var(&repeated[T]{target, parse, kind}, name, help+"; can be repeated")
}

// Text registers a flag whose value is any text.
func (f Flags) Text(name string, target *string, kind, help string) {
	Value(f, name, target, kind, func(s string) (string, error) { return s, nil }, func(s string) string { return s }, help)
}

// Choice registers a flag whose value must be one of the given words.
func (f Flags) Choice(name string, target *string, help string, words ...string) {
	one := func(s string) (string, error) {
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("%q is not a valid value; choose %s", s, text.OrList(words))
		}
		return s, nil
	}
	Value(f, name, target, strings.Join(words, "|"), one, func(s string) string { return s }, help)
}

// Format registers the flags for a report on standard output: --format, and --wide for text output.
func (f Flags) Format(format *string, wide *bool, formats ...string) {
	f.Choice("format", format, "format of the output on standard output", formats...)
	f.Toggle("wide", wide, "with format text: print all columns and details, and do not wrap lines")
}

// Int registers a flag whose value is a whole number.
func (f Flags) Int(name string, target *int, help string) {
	Value(f, name, target, "N", ParseInt, strconv.Itoa, help)
}

// Seed registers a flag whose value is a seed, from 0 to the largest int64.
func (f Flags) Seed(name string, target *uint64, help string) {
	Value(f, name, target, "N", parseSeed, func(n uint64) string { return strconv.FormatUint(n, 10) }, help)
}

// Number registers a flag whose value is a number, with or without decimals.
func (f Flags) Number(name string, target *float64, kind, help string) {
	Value(f, name, target, kind, text.ParseNumber, text.FormatNumber, help)
}

// Size registers a flag whose value is a number of bytes, such as 1KiB.
func (f Flags) Size(name string, target *int, help string) {
	Value(f, name, target, "SIZE", text.ParseFlagSize, strconv.Itoa, help)
}

// Duration registers a flag whose value is a duration.
func (f Flags) Duration(name string, target *time.Duration, help string) {
	Value(f, name, target, "DURATION", text.ParseDuration, showSpan, help)
}

// Toggle registers a Boolean flag. Without a value, the flag means true.
func (f Flags) Toggle(name string, target *bool, help string) {
	Value(f, name, target, "bool", text.ParseBool, strconv.FormatBool, help)
	f.Set.Lookup(name).NoOptDefVal = "true"
}

// Parameter registers the flag for a parameter of a preset.
func (f Flags) Parameter(preset *scenario.Command, p *scenario.Parameter, help string) {
	v := &parameterFlag{preset: preset, parameter: p, text: preset.Default(p)}
	flag := f.Set.VarPF(v, preset.FlagName(p), "", help)
	if v.Type() == "bool" {
		flag.NoOptDefVal = "true"
	}
}

// parameterFlag is the flag for a parameter of a preset.
type parameterFlag struct {
	preset    *scenario.Command
	parameter *scenario.Parameter
	text      string
}

// Set implements pflag.Value.
func (v *parameterFlag) Set(s string) error {
	err := v.preset.Set(v.parameter.Key, s)
	if err == nil {
		v.text = s
	}
	return err
}

// String implements pflag.Value. Help shows the result as the default value.
func (v *parameterFlag) String() string {
	if v.text == "0s" || v.text == scenario.Closed.String() {
		return "" // help shows no default if the value has the same effect as omitting the flag
	}
	return v.text
}

// Type implements pflag.Value. Help shows the result as the name of the value.
func (v *parameterFlag) Type() string { return v.parameter.Hint() }

func showSpan(d time.Duration) string {
	if d == 0 {
		return "0" // help does not show this default
	}
	return text.FormatDuration(d)
}

// ParseInt parses a whole number that fits into an int. The limits of the flag are checked later,
// when the scenario is validated.
func ParseInt(s string) (int, error) {
	n, err := text.ParseInteger(s)
	if err == nil && int64(int(n)) != n {
		err = fmt.Errorf("%s is out of range", s)
	}
	return int(n), err
}

func parseSeed(s string) (uint64, error) {
	n, err := text.ParseInteger(s)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%q is not a seed; write a whole number from 0 to %d", s, int64(math.MaxInt64))
	}
	return uint64(n), nil
}

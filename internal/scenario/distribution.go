package scenario

import (
	"fmt"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/text"
)

// Distribution determines how keys are chosen from the key space.
type Distribution struct {
	Name string // sequential, uniform, zipfian or hotspot
	// Theta is the skew of zipfian, above 0 and below 1 (default 0.99).
	Theta float64
	// HotKeys and HotOps belong to hotspot: the fraction of keys that are hot, and the fraction of
	// operations that use hot keys (defaults 0.2 and 0.8).
	HotKeys, HotOps float64
}

// Distributions of operations over the keys in the key space.
const (
	Sequential = "sequential" // keys in order, one after the other
	Uniform    = "uniform"    // every key is equally likely
	Zipfian    = "zipfian"    // few keys get most operations, depending on Theta
	Hotspot    = "hotspot"    // the fraction HotOps of the operations uses the fraction HotKeys of the keys
)

// distributionParameter is a numeric parameter of a distribution.
type distributionParameter struct {
	distribution, key string
	field             func(*Distribution) *float64
	defaultValue      float64 // default value, the same as in YCSB
	bounds            string  // bounds, as a phrase after the word "must"
	allowsOne         bool    // set if the value may also be 1
}

// distributionParameters returns the parameters of all distributions, in the order of flags.
func distributionParameters() []distributionParameter {
	return []distributionParameter{
		{Zipfian, "theta", func(d *Distribution) *float64 { return &d.Theta }, 0.99, "be between 0 and 1, such as 0.99", false},
		{Hotspot, "hot-keys", func(d *Distribution) *float64 { return &d.HotKeys }, 0.2, "be between 0 and 1: the fraction of keys that are hot", false},
		{Hotspot, "hot-operations", func(d *Distribution) *float64 { return &d.HotOps }, 0.8, "be above 0 and at most 1: the fraction of operations that use hot keys", true},
	}
}

// parameters returns the parameters that this distribution has.
func (d *Distribution) parameters() (own []distributionParameter) {
	for _, s := range distributionParameters() {
		if s.distribution == d.Name {
			own = append(own, s)
		}
	}
	return own
}

// ParseDistribution parses a distribution in the form that flags and files use: sequential,
// uniform, zipfian, zipfian:THETA, hotspot or hotspot:HOT-KEYS:HOT-OPERATIONS. HOT-KEYS and
// HOT-OPERATIONS are fractions from 0 to 1.
func ParseDistribution(s string) (Distribution, error) {
	name, rest, given := strings.Cut(s, ":")
	d, err := newDistribution(name)
	if err != nil || !given {
		return d, err
	}
	parameters, parts := d.parameters(), strings.Split(rest, ":")
	switch {
	case len(parameters) == 0:
		return d, fmt.Errorf("the distribution %s has no parameters, but %q gives some; remove them", d.Name, s)
	case len(parts) != len(parameters):
		return d, fmt.Errorf("%q is not a distribution; write zipfian:0.99 or hotspot:0.2:0.8", s)
	}
	for i, shape := range parameters {
		if *shape.field(&d), err = text.ParseNumber(parts[i]); err != nil {
			return d, fmt.Errorf("in the distribution %q: %w", s, err)
		}
	}
	return d, d.check()
}

// newDistribution returns the distribution with this name and default parameters.
func newDistribution(name string) (Distribution, error) {
	d := Distribution{Name: name}
	switch name {
	case Sequential, Uniform, Zipfian, Hotspot:
	default:
		return Distribution{}, fmt.Errorf("there is no distribution %q; choose sequential, uniform, zipfian or hotspot", name)
	}
	for _, s := range d.parameters() {
		*s.field(&d) = s.defaultValue
	}
	return d, nil
}

// String returns the distribution in the form that ParseDistribution accepts.
func (d Distribution) String() string {
	out := d.Name
	for _, s := range d.parameters() {
		out += ":" + text.FormatNumber(*s.field(&d))
	}
	return out
}

func (d Distribution) check() error {
	if _, err := newDistribution(d.Name); err != nil {
		return newProblem("distribution", "%v", err)
	}
	for _, s := range d.parameters() {
		if v := *s.field(&d); !(v > 0 && (v < 1 || s.allowsOne && v == 1)) {
			return newProblem("distribution", "%s's %s is %s, but must %s", d.Name, s.key, text.FormatNumber(v), s.bounds)
		}
	}
	return nil
}

// setDistribution reads a distribution. The value is a text that ParseDistribution accepts, or a
// mapping with the name and the parameters.
func setDistribution(d *draft, key string, n *file.Node) (err error) {
	if n.Kind != file.Mapping {
		d.load.Distribution, err = file.ParseWord(n, key, ParseDistribution)
		return err
	}
	var v Distribution
	if name := n.Field("name"); name != n { // the name comes first, because the other keys depend on it
		if v, err = file.ParseWord(name, key, newDistribution); err != nil {
			return err
		}
	}
	if v.Name == "" {
		return n.Pos.Errorf("distribution has no name; add name: sequential, uniform, zipfian or hotspot")
	}
	readers := map[string]func(*file.Node) error{"name": func(*file.Node) error { return nil }}
	for _, s := range distributionParameters() {
		readers[s.key] = func(n *file.Node) (err error) {
			if v.Name != s.distribution {
				return n.Pos.Errorf("%s applies only to the distribution %s", s.key, s.distribution)
			}
			*s.field(&v), err = n.Number(s.key)
			return err
		}
	}
	if err := n.Fields(key, readers); err != nil {
		return err
	}
	if err := v.check(); err != nil {
		return n.Pos.Errorf("%v", err)
	}
	d.load.Distribution = v
	return nil
}

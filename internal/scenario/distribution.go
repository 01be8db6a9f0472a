package scenario

import (
	"fmt"
	"strings"
)

// The distributions of keys over the key space.
const (
	Sequential = "sequential" // key n modulo the key space
	Uniform    = "uniform"    // every key as likely as any other
	Zipfian    = "zipfian"    // few keys get most operations, by Theta
	Hotspot    = "hotspot"    // HotOps of the operations go to HotKeys of the keys
)

// The parameters of a distribution that gives none: those of YCSB.
const (
	defaultTheta   = 0.99
	defaultHotKeys = 0.2
	defaultHotOps  = 0.8
)

// ParseDistribution reads a distribution as flags and files spell it:
// sequential, uniform, zipfian, zipfian:THETA, hotspot or
// hotspot:HOT-KEYS:HOT-OPERATIONS (both shares of 1).
func ParseDistribution(s string) (Distribution, error) {
	name, rest, given := strings.Cut(s, ":")
	d, err := newDistribution(name)
	if err != nil || !given {
		return d, err
	}
	into := []*float64{&d.Theta}
	switch d.Name {
	case Sequential, Uniform:
		return d, fmt.Errorf("the distribution %s has no parameters, and %q gives some", d.Name, s)
	case Hotspot:
		into = []*float64{&d.HotKeys, &d.HotOps}
	}
	parts := strings.Split(rest, ":")
	if len(parts) != len(into) {
		return d, fmt.Errorf("%q is not a distribution; write zipfian:0.99 or hotspot:0.2:0.8", s)
	}
	for i, part := range parts {
		if *into[i], err = ParseNumber(part); err != nil {
			return d, fmt.Errorf("in the distribution %q, %w", s, err)
		}
	}
	return d, d.check()
}

// newDistribution returns the named one with its default parameters.
func newDistribution(name string) (Distribution, error) {
	switch name {
	case Sequential, Uniform:
		return Distribution{Name: name}, nil
	case Zipfian:
		return Distribution{Name: name, Theta: defaultTheta}, nil
	case Hotspot:
		return Distribution{Name: name, HotKeys: defaultHotKeys, HotOps: defaultHotOps}, nil
	}
	return Distribution{}, fmt.Errorf("there is no distribution %q; choose sequential, uniform, zipfian or hotspot", name)
}

// String returns the distribution as ParseDistribution reads it.
func (d Distribution) String() string {
	switch d.Name {
	case Zipfian:
		return d.Name + ":" + formatNumber(d.Theta)
	case Hotspot:
		return d.Name + ":" + formatNumber(d.HotKeys) + ":" + formatNumber(d.HotOps)
	}
	return d.Name
}

func (d Distribution) check() error {
	switch d.Name {
	case Sequential, Uniform:
		return nil
	case Zipfian:
		if !(d.Theta > 0 && d.Theta < 1) {
			return problem("distribution", "zipfian's theta is %s and must lie between 0 and 1, as 0.99 does", formatNumber(d.Theta))
		}
		return nil
	case Hotspot:
		if !(d.HotKeys > 0 && d.HotKeys < 1) {
			return problem("distribution", "hotspot's hot-keys is %s and must lie between 0 and 1: the share of the keys that are hot", formatNumber(d.HotKeys))
		}
		if !(d.HotOps > 0 && d.HotOps <= 1) {
			return problem("distribution", "hotspot's hot-operations is %s and must be above 0 and at most 1: the share of the operations that go to the hot keys", formatNumber(d.HotOps))
		}
		return nil
	}
	_, err := newDistribution(d.Name)
	return problem("distribution", "%v", err)
}

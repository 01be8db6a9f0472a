package scenario

import (
	"slices"
	"strings"
)

// readLayer checks each key and value in the mapping n on its own, and returns the allowed keys
// with their values.
func (p *fileParser) readLayer(n *node, in where) layer {
	l := layer{}
	if n.kind != mapping {
		p.failf(n.at, "%s must be a mapping of keys, not %s", in, n.describe())
		return l
	}
	for _, pair := range n.pairs {
		if k, ok := p.findParameter(pair, in); ok {
			p.value(k, pair.value)
			l[pair.key] = pair
		}
	}
	p.clashes(p.spread(l))
	return l
}

// value reads a value only to report the errors in it.
func (p *fileParser) value(k *Parameter, n *node) {
	switch k.Key {
	case "matrix":
		p.matrix(n)
		return
	case "steps":
		p.steps(n)
		return
	case "baseline":
		p.readBaseline(n)
		return
	case "user":
		p.secrets = append(p.secrets, n)
	}
	if err := k.readFrom(p.newDraft(), n); err != nil {
		p.fail(n.at, err)
	}
}

// matrix reads a mapping from keys to lists of values.
func (p *fileParser) matrix(n *node) []axis {
	if n.kind != mapping {
		p.failf(n.at, "matrix must be a mapping from keys to lists of values, not %s", n.describe())
		return nil
	}
	var axes []axis
	for _, pair := range n.pairs {
		if k, ok := p.findParameter(pair, inMatrix); ok {
			axes = append(axes, p.axis(pair, k, inMatrix))
		}
	}
	return axes
}

// steps reads a mapping from clients or rate to a list of values.
func (p *fileParser) steps(n *node) []axis {
	if n.kind != mapping || len(n.pairs) != 1 || n.pairs[0].key != "clients" && n.pairs[0].key != "rate" {
		p.failf(n.at, "steps must be a mapping from clients or rate to a list of values, for example {clients: [1, 10, 100]}")
		return nil
	}
	pair := n.pairs[0]
	return []axis{p.axis(pair, p.keys[pair.key], "steps")}
}

func (p *fileParser) axis(pair pair, k *Parameter, in where) axis {
	a := axis{key: pair.key, at: pair.at, values: pair.value.items}
	if pair.value.kind != list || len(a.values) == 0 {
		p.failf(pair.value.at, "%s in %s must be a list of values, not %s", pair.key, in, pair.value.otherThan(list))
	}
	for _, v := range a.values {
		if v.kind == null {
			p.failf(v.at, "%s in %s has an entry without a value; give it a value or remove it", pair.key, in)
			continue
		}
		p.value(k, v)
	}
	return a
}

// baselineKeys returns the keys that a baseline may change.
func baselineKeys() []string {
	return slices.Concat([]string{"store"}, ofRunning, variantKeys())
}

// readBaseline checks a trial's baseline.
func (p *fileParser) readBaseline(n *node) {
	if n.kind != mapping || len(n.pairs) == 0 {
		p.failf(n.at, "baseline must be a mapping with the differences from the trial, for example {version: 3.9.4}, not %s", n.otherThan(mapping))
		return
	}
	l := layer{}
	for _, pair := range n.pairs {
		k, ok := p.trialKey(pair.key)
		switch {
		case !slices.Contains(baselineKeys(), pair.key):
			p.failf(pair.at, "a baseline can change %s, but not %q", strings.Join(baselineKeys(), ", "), pair.key)
		case pair.value.kind == null:
			p.noValue(pair)
		case ok:
			p.value(k, pair.value)
			l[pair.key] = pair
		}
	}
	p.clashes(p.spread(l))
}

package scenario

import (
	"slices"
	"strings"
)

// readLayer checks each key and value in the mapping n separately. It returns the allowed keys with
// their values.
func (p *fileParser) readLayer(n *node, part filePart) layer {
	l := layer{}
	if n.kind != mapping {
		p.failf(n.pos, "%s must be a mapping of keys, not %s", part, n.describe())
		return l
	}
	for _, pair := range n.pairs {
		if k, ok := p.findParameter(pair, part); ok {
			p.checkValue(k, pair.value)
			l[pair.key] = pair
		}
	}
	p.checkExclusiveKeys(p.hoistStoreKeys(l))
	return l
}

// checkValue reads a value only to report the errors in it.
func (p *fileParser) checkValue(k *Parameter, n *node) {
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
		p.fail(n.pos, err)
	}
}

// matrix parses a mapping from keys to lists of values.
func (p *fileParser) matrix(n *node) []axis {
	if n.kind != mapping {
		p.failf(n.pos, "matrix must be a mapping from keys to lists of values, not %s", n.describe())
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

// steps parses a mapping from the key `clients` or `rate` to a list of values.
func (p *fileParser) steps(n *node) []axis {
	if n.kind != mapping || len(n.pairs) != 1 || n.pairs[0].key != "clients" && n.pairs[0].key != "rate" {
		p.failf(n.pos, "steps must be a mapping from the key \"clients\" or \"rate\" to a list of values, for example {clients: [1, 10, 100]}")
		return nil
	}
	pair := n.pairs[0]
	return []axis{p.axis(pair, p.keys[pair.key], "steps")}
}

func (p *fileParser) axis(pair pair, k *Parameter, part filePart) axis {
	a := axis{key: pair.key, pos: pair.pos, values: pair.value.items}
	if pair.value.kind != list || len(a.values) == 0 {
		p.failf(pair.value.pos, "%s in %s must be a list of values, not %s", pair.key, part, pair.value.describeMismatch(list))
	}
	for _, v := range a.values {
		if v.kind == null {
			p.failf(v.pos, "%s in %s has an entry without a value; give it a value or remove it", pair.key, part)
			continue
		}
		p.checkValue(k, v)
	}
	return a
}

// baselineKeys returns the keys that a baseline may change.
func baselineKeys() []string {
	return slices.Concat([]string{"store"}, runningClusterKeys, variantKeys())
}

// readBaseline checks a trial's baseline.
func (p *fileParser) readBaseline(n *node) {
	if n.kind != mapping || len(n.pairs) == 0 {
		p.failf(n.pos, "baseline must be a mapping with the differences from the trial, for example {version: 3.9.4}, not %s", n.describeMismatch(mapping))
		return
	}
	l := layer{}
	for _, pair := range n.pairs {
		k, ok := p.trialKey(pair.key)
		switch {
		case !slices.Contains(baselineKeys(), pair.key):
			p.failf(pair.pos, "a baseline can change %s, but not %q", strings.Join(baselineKeys(), ", "), pair.key)
		case pair.value.kind == null:
			p.failMissingValue(pair)
		case ok:
			p.checkValue(k, pair.value)
			l[pair.key] = pair
		}
	}
	p.checkExclusiveKeys(p.hoistStoreKeys(l))
}

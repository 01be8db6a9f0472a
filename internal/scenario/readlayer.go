package scenario

import (
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

// readLayer checks each key and value in the mapping n separately. It returns the allowed keys with
// their values.
func (p *fileParser) readLayer(n *file.Node, part filePart) layer {
	l := layer{}
	if n.Kind != file.Mapping {
		p.failf(n.Pos, "%s must be a mapping of keys, not %s", part, n.Describe())
		return l
	}
	for _, pair := range n.Pairs {
		if k, ok := p.findParameter(pair, part); ok {
			p.checkValue(k, pair.Value)
			l[pair.Key] = pair
		}
	}
	p.checkExclusiveKeys(p.hoistStoreKeys(l))
	return l
}

// checkValue reads a value only to report the errors in it.
func (p *fileParser) checkValue(k *Parameter, n *file.Node) {
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
		p.fail(n.Pos, err)
	}
}

// matrix parses a mapping from keys to lists of values.
func (p *fileParser) matrix(n *file.Node) []axis {
	if n.Kind != file.Mapping {
		p.failf(n.Pos, "matrix must be a mapping from keys to lists of values, not %s", n.Describe())
		return nil
	}
	var axes []axis
	for _, pair := range n.Pairs {
		if k, ok := p.findParameter(pair, inMatrix); ok {
			axes = append(axes, p.axis(pair, k, inMatrix))
		}
	}
	return axes
}

// steps parses a mapping from the key `clients` or `rate` to a list of values.
func (p *fileParser) steps(n *file.Node) []axis {
	if n.Kind != file.Mapping || len(n.Pairs) != 1 || n.Pairs[0].Key != "clients" && n.Pairs[0].Key != "rate" {
		p.failf(n.Pos, "steps must be a mapping from the key \"clients\" or \"rate\" to a list of values, for example {clients: [1, 10, 100]}")
		return nil
	}
	pair := n.Pairs[0]
	return []axis{p.axis(pair, p.keys[pair.Key], "steps")}
}

func (p *fileParser) axis(pair file.Pair, k *Parameter, part filePart) axis {
	a := axis{key: pair.Key, pos: pair.Pos, values: pair.Value.Items}
	if pair.Value.Kind != file.List || len(a.values) == 0 {
		p.failf(pair.Value.Pos, "%s in %s must be a list of values, not %s", pair.Key, part, pair.Value.DescribeMismatch(file.List))
	}
	for _, v := range a.values {
		if v.Kind == file.Null {
			p.failf(v.Pos, "%s in %s has an entry without a value; give it a value or remove it", pair.Key, part)
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
func (p *fileParser) readBaseline(n *file.Node) {
	if n.Kind != file.Mapping || len(n.Pairs) == 0 {
		p.failf(n.Pos, "baseline must be a mapping with the differences from the trial, for example {version: 3.9.4}, not %s", n.DescribeMismatch(file.Mapping))
		return
	}
	l := layer{}
	for _, pair := range n.Pairs {
		k, ok := p.trialKey(pair.Key)
		switch {
		case !slices.Contains(baselineKeys(), pair.Key):
			p.failf(pair.Pos, "a baseline can change %s, but not %q", strings.Join(baselineKeys(), ", "), pair.Key)
		case pair.Value.Kind == file.Null:
			p.failMissingValue(pair)
		case ok:
			p.checkValue(k, pair.Value)
			l[pair.Key] = pair
		}
	}
	p.checkExclusiveKeys(p.hoistStoreKeys(l))
}

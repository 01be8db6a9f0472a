package scenario

import (
	"slices"
	"strings"
)

// maxTrials is how many trials a file may expand to, repeats included.
const maxTrials = 10_000

// axis is a key with the values it takes in turn.
type axis struct {
	key    string
	at     place
	values []*node
}

// choice is one value of each axis of a trial, as a layer and as labels.
type choice struct {
	layer  layer
	keys   []string // in the axes' order
	labels map[string]string
}

// plan is a trial expanded, with what is needed to say where it is wrong.
type plan struct {
	trial Trial
	layer layer // all that was given
	at    place
}

// place is where a key's value was given. When it was not, it is where the key
// stands that made it matter, or the trial. The key of a mapping within a trial
// is written with a point, as in watch.streams.
func (p *plan) place(key string) place {
	cause := map[string]string{"rate": "arrival", "key-size": "key-space", "operation": "mix"}[key]
	key, part, _ := strings.Cut(key, ".")
	for _, k := range []string{key, cause} {
		if s, ok := p.layer[k]; ok {
			return s.value.field(part).at
		}
	}
	return p.at
}

// matrix reads the mapping of keys to lists of values.
func (p *fileParser) matrix(n *node) []axis {
	if n.kind != mapping {
		p.failf(n.at, "matrix must be a mapping of keys to lists of values, not %s", n.what())
		return nil
	}
	var axes []axis
	for _, pair := range n.pairs {
		if k, ok := p.known(pair, inMatrix); ok {
			axes = append(axes, p.axis(pair, k, inMatrix))
		}
	}
	return axes
}

// steps reads a mapping of clients or rate to its list of values.
func (p *fileParser) steps(n *node) []axis {
	if n.kind != mapping || len(n.pairs) != 1 || n.pairs[0].key != "clients" && n.pairs[0].key != "rate" {
		p.failf(n.at, "steps must be a mapping of clients or rate to a list, as in {clients: [1, 10, 100]}")
		return nil
	}
	pair := n.pairs[0]
	return []axis{p.axis(pair, p.keys[pair.key], "steps")}
}

func (p *fileParser) axis(pair pair, k *Parameter, in where) axis {
	a := axis{key: pair.key, at: pair.at, values: pair.value.items}
	if pair.value.kind != list || len(a.values) == 0 {
		p.failf(pair.value.at, "%s in %s must be a list of values, not %s", pair.key, in, emptyOr(pair.value))
	}
	for _, v := range a.values {
		if v.kind == null {
			p.failf(v.at, "%s in %s has an entry without a value", pair.key, in)
			continue
		}
		p.value(k, v)
	}
	return a
}

func emptyOr(n *node) string {
	if n.kind == list {
		return "an empty one"
	}
	return n.what()
}

// expand turns the trials as written into one plan for each choice.
func (p *fileParser) expand(o *outline) []plan {
	var plans []plan
	names := make(map[string]place)
	runs := 0
	for _, t := range o.trials {
		own, axes := p.split(t)
		n := product(axes)
		if runs += n; n > maxTrials || runs > maxTrials {
			p.failf(t.at, "with this trial the scenario expands to more than %d trials", maxTrials)
			return nil
		}
		for i := range n {
			c := p.choose(axes, i)
			for k, s := range own {
				if twice, ok := c.layer[k]; ok && !slices.Contains(c.keys, k) {
					p.failf(twice.at, "%s is given in the trial and again in its list of stores; give it once", k)
				}
				c.layer[k] = s
			}
			for _, pl := range p.plansOf(t.at, o, c) {
				runs += pl.trial.Repeats - 1 + boolean(pl.trial.BaselineOf != "")
				if runs > maxTrials {
					p.failf(t.at, "with this trial and the repeats the scenario expands to more than %d trials", maxTrials)
					return nil
				}
				first, twice := names[pl.trial.Name]
				switch {
				case twice && first == t.at && p.options.Scale != 0:
					continue // steps that scaling made equal
				case twice:
					p.failf(pl.place("name"), "a second trial is named %s, as that of line %d; give each a name of its own", pl.trial.Name, first.line)
				}
				names[pl.trial.Name] = t.at
				pl.trial.Number = len(plans) + 1
				plans = append(plans, pl)
			}
		}
	}
	return plans
}

// plansOf makes the trial of a choice, and its baseline.
func (p *fileParser) plansOf(at place, o *outline, c choice) []plan {
	pl := p.build(at, o, c)
	all := []plan{pl}
	if p.options.Scale != 0 {
		if p.aliases == nil {
			p.aliases = map[string]string{}
		}
		if was, err := title(templateOf(c.layer.over(o.defaults)), c, pl.layer); err == nil {
			p.aliases[was] = pl.trial.Name
		}
	}
	if base, ok := p.buildBaseline(&pl, o, c); ok {
		all = append(all, base)
	}
	return all
}

// templateOf is a trial's name as written.
func templateOf(l layer) string {
	if s, ok := l["name"]; ok {
		return s.value.text
	}
	return ""
}

// split parts a trial's own keys from its axes, which must not name the same.
func (p *fileParser) split(t *node) (layer, []axis) {
	own := layer{}
	var axes, steps []axis
	for _, pair := range t.pairs {
		switch pair.key {
		case "matrix":
			axes = p.matrix(pair.value)
		case "steps":
			steps = p.steps(pair.value)
		default:
			own[pair.key] = setting{pair.at, pair.value}
		}
	}
	own = p.spread(own)
	axes = append(axes, steps...)
	axes = slices.DeleteFunc(axes, p.voidBySet)
	for i := range axes {
		if s, ok := p.set[axes[i].key]; ok && !s.value.entries {
			axes[i].values = []*node{s.value}
		}
	}
	seen := make(map[string]bool)
	for _, a := range axes {
		if _, both := own[a.key]; both {
			p.failf(a.at, "%s is given in the trial and again as a list; give it once", a.key)
		} else if seen[a.key] {
			p.failf(a.at, "%s is given in matrix and in steps; give it once", a.key)
		}
		seen[a.key] = true
	}
	return own, axes
}

// product is how many choices there are; above maxTrials the exact number is
// not needed.
func product(axes []axis) int {
	n := 1
	for _, a := range axes {
		if n *= len(a.values); n > maxTrials {
			return n
		}
	}
	return n
}

// choose returns the i-th choice: the last axis changes fastest.
func (p *fileParser) choose(axes []axis, i int) choice {
	c := choice{layer: layer{}, labels: make(map[string]string)}
	picked := make([]int, len(axes))
	for a := len(axes) - 1; a >= 0; a-- {
		picked[a] = i % len(axes[a].values)
		i /= len(axes[a].values)
	}
	for a, ax := range axes {
		v := ax.values[picked[a]]
		c.keys = append(c.keys, ax.key)
		c.layer[ax.key] = setting{ax.at, v}
		c.labels[ax.key] = label(v, picked[a]+1)
		if ax.key == "store" {
			c.labels[ax.key] = storeLabel(ax.values, picked[a])
		}
	}
	c.layer = p.spread(c.layer)
	return c
}

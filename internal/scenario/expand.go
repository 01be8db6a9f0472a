package scenario

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
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
	axes   []string // their keys, in their order
	labels map[string]string
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
		p.failf(pair.value.at, "%s in %s must be a list of values, not %s", pair.key, in, pair.value.otherThan(list))
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

// expand turns the trials as written into one for each choice.
func (p *fileParser) expand(o *outline) []*builder {
	var trials []*builder
	names := make(map[string]place)
	runs := 0
	for _, t := range o.written {
		own, axes := p.split(t)
		n := product(axes)
		if runs += n; n > maxTrials || runs > maxTrials {
			p.failf(t.at, "with this trial the scenario expands to more than %d trials", maxTrials)
			return nil
		}
		for i := range n {
			c := p.choose(axes, i)
			for k, s := range own {
				if twice, ok := c.layer[k]; ok && !slices.Contains(c.axes, k) {
					p.failf(twice.at, "%s is given in the trial and again in its list of stores; give it once", k)
				}
				c.layer[k] = s
			}
			for _, b := range p.build(t.at, o, c) {
				if runs += b.trial.Repeats - 1; b.trial.BaselineOf != "" {
					runs++
				}
				if runs > maxTrials {
					p.failf(t.at, "with this trial and the repeats the scenario expands to more than %d trials", maxTrials)
					return nil
				}
				first, twice := names[b.trial.Name]
				switch {
				case twice && first == t.at && p.options.Scale != 0:
					continue // steps that scaling made equal
				case twice:
					p.failf(b.place("name"), "a second trial is named %s, as that of line %d; give each a name of its own", b.trial.Name, first.line)
				}
				names[b.trial.Name] = t.at
				b.trial.Number = len(trials) + 1
				trials = append(trials, b)
			}
		}
	}
	return trials
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
			own[pair.key] = pair
		}
	}
	own = p.spread(own)
	axes = p.setOverAxes(append(axes, steps...))
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
		c.axes = append(c.axes, ax.key)
		c.layer[ax.key] = pair{ax.key, ax.at, v}
		c.labels[ax.key] = label(v, picked[a]+1)
		if ax.key == "store" {
			c.labels[ax.key] = storeLabel(ax.values, picked[a])
		}
	}
	c.layer = p.spread(c.layer)
	return c
}

// maxName is how long a name may be in bytes: it becomes a folder's name.
const maxName = 120

// maxLabel is how long a value may be inside a name; a longer one is numbered.
const maxLabel = 40

var (
	nameable    = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._=+,-]{0,119}$`)
	placeholder = regexp.MustCompile(`\{[^{}]*\}`)
)

func notNameable(name string) string {
	return fmt.Sprintf("the name %q does not fit a folder; use at most %d letters, digits and . _ = + , - and begin with a letter or digit", name, maxName)
}

// label is a value as it stands in a name; number is its place in the list.
func label(n *node, number int) string {
	text := strings.NewReplacer("%", "pct").Replace(flat(n))
	text = strings.Trim(unfit.ReplaceAllString(text, "-"), "-")
	if text == "" || len(text) > maxLabel {
		return strconv.Itoa(number)
	}
	return text
}

// storeLabel is store i of a list as it stands in a name: its label, or its
// name, with its version or its number where others of the list have that name.
func storeLabel(all []*node, i int) string {
	n := all[i]
	name := label(n.field("name"), i+1)
	same := 0
	for _, other := range all {
		if flat(other.field("name")) == flat(n.field("name")) {
			same++
		}
	}
	switch said, version := n.field("label"), n.field("version"); {
	case n.kind == mapping && said != n:
		return label(said, i+1)
	case same < 2 || n.kind != mapping || len(n.pairs) == 1:
		return name
	case version != n:
		return name + "-" + label(version, i+1)
	}
	return name + "-" + strconv.Itoa(i+1)
}

// NameOf is a text as a part of a name; number stands for one that does not fit.
func NameOf(text string, number int) string { return label(&node{kind: scalar, text: text}, number) }

func flat(n *node) string {
	var parts []string
	switch n.kind {
	case mapping:
		for _, p := range n.pairs {
			parts = append(parts, p.key+"="+flat(p.value))
		}
	case list:
		for _, item := range n.items {
			parts = append(parts, flat(item))
		}
	default:
		return n.text
	}
	return strings.Join(parts, "+")
}

// fill replaces every {key} of a template by that key's value, and reports
// which keys it used.
func (c *choice) fill(template string) (string, map[string]bool, error) {
	used := make(map[string]bool)
	var wrong error
	out := placeholder.ReplaceAllStringFunc(template, func(braced string) string {
		key := strings.TrimSpace(braced[1 : len(braced)-1])
		used[key] = true
		if l, ok := c.labels[key]; ok {
			return l
		}
		if s, ok := c.layer["label"]; ok && key == "store" {
			return label(s.value, 1)
		}
		if s, ok := c.layer[key]; ok && s.value.kind == scalar && key != "name" && key != "user" {
			return label(s.value, 1)
		}
		if wrong == nil {
			wrong = fmt.Errorf("%s in %q stands for no single value of this trial%s", braced, template, suggest(key, sortedKeys(c.layer)))
		}
		return ""
	})
	return out, used, wrong
}

// title is the trial's name: its template filled, and what the template does
// not mention of its matrix and steps added.
func (c *choice) title(template string) (string, error) {
	if template == "" {
		template = "mixed"
		if _, ok := c.layer["operation"]; ok {
			template = "{operation}"
		}
	}
	name, used, err := c.fill(template)
	if err != nil {
		return "", err
	}
	for _, k := range c.axes {
		if !used[k] {
			name += "-" + k + "=" + c.labels[k]
		}
	}
	if !nameable.MatchString(name) {
		return "", fmt.Errorf("%s", notNameable(name))
	}
	return name, nil
}

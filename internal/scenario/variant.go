package scenario

import (
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/printable"
)

// variantKeys are the keys that a store written as a mapping can have besides
// name: what makes it another version, build or setting of the same store.
func variantKeys() []string {
	return []string{"version", "exec", "label", "settings", "env", "members"}
}

// baselineKeys are those that a baseline can change.
func baselineKeys() []string {
	return append([]string{"store", "endpoints", "tls", "user", "dial-timeout", "data-dir"}, variantKeys()...)
}

// setStore reads the store's name, or a mapping of its name and what else is
// to be known of the cluster, which spread gives their own keys.
func setStore(d *draft, n *node) (err error) {
	if n.kind != mapping {
		d.cluster.Store, err = n.filled("store")
		return err
	}
	named := false
	readers := map[string]func(*node) error{
		"name": func(n *node) (err error) {
			d.cluster.Store, err = n.filled("store")
			named = true
			return err
		},
	}
	for _, k := range variantKeys() {
		readers[k] = func(n *node) error { return d.parameters[k].readFrom(d, n) }
	}
	switch err := n.fields("store", readers); {
	case err != nil:
		return err
	case !named:
		return n.at.errorf("store as a mapping needs name, as in {name: etcd, label: old}")
	}
	return nil
}

func setLabel(d *draft, n *node) (err error) {
	d.cluster.Label, err = n.filled("label")
	switch l := d.cluster.Label; {
	case err != nil:
		return err
	case len(l) > maxLabel:
		return n.at.errorf("label has %d bytes and can have %d at most", len(l), maxLabel)
	case !printable.Is(l):
		return n.at.errorf("label is %q and holds a character that cannot be shown; leave it out", l)
	}
	return nil
}

// spread gives what a store written as a mapping says its own keys. What is
// wrong with the mapping itself has been reported before.
func (p *fileParser) spread(l layer) layer {
	s, ok := l["store"]
	if !ok || s.value.kind != mapping {
		return l
	}
	delete(l, "store")
	for _, pair := range s.value.pairs {
		k := pair.key
		if k == "name" {
			k = "store"
		}
		if _, twice := l[k]; twice {
			p.failf(pair.at, "%s is given in store and again beside it; give it once", k)
		}
		l[k] = setting{pair.at, pair.value}
	}
	return l
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

// field is the value of a mapping's key, or n itself where there is none.
func (n *node) field(key string) *node {
	for _, pair := range n.pairs {
		if pair.key == key {
			return pair.value
		}
	}
	return n
}

// readBaseline checks what a trial is to be compared with.
func (p *fileParser) readBaseline(n *node) {
	if n.kind != mapping || len(n.pairs) == 0 {
		p.failf(n.at, "baseline must be a mapping of what differs there, as in {version: 3.9.4}, not %s", emptyMapping(n))
		return
	}
	l := layer{}
	for _, pair := range n.pairs {
		k, ok := p.trialKey(pair.key)
		switch {
		case !slices.Contains(baselineKeys(), pair.key):
			p.failf(pair.at, "a baseline changes %s, and not %q", strings.Join(baselineKeys(), ", "), pair.key)
		case pair.value.kind == null:
			p.noValue(pair)
		case ok:
			p.value(k, pair.value)
			l[pair.key] = setting{pair.at, pair.value}
		}
	}
	p.clashes(p.spread(l))
}

func emptyMapping(n *node) string {
	if n.kind == mapping {
		return "an empty one"
	}
	return n.what()
}

// baseline is the layer of a trial's baseline, if it has one: the trial's own,
// and what differs. A label names the trial's cluster and not its baseline's.
func (p *fileParser) baseline(all layer) (layer, place, bool) {
	s, ok := all["baseline"]
	if !ok {
		return nil, place{}, false
	}
	rest := layer{}
	for k, v := range all {
		if k != "baseline" && k != "label" {
			rest[k] = v
		}
	}
	differs := layer{}
	for _, pair := range s.value.pairs {
		differs[pair.key] = setting{pair.at, pair.value}
	}
	return p.spread(differs).over(rest), s.at, true
}

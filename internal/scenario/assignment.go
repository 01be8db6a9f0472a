package scenario

import (
	"fmt"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Assignment is a parameter with its value, as in clients=200 or
// watch.streams=4: the key that scenario files have, with a point before the key
// within a mapping, and the value as files and flags write it.
type Assignment struct{ Key, Value string }

// ParseAssignment reads KEY=VALUE.
func ParseAssignment(s string) (Assignment, error) {
	key, value, ok := strings.Cut(s, "=")
	if key = strings.TrimSpace(key); !ok || key == "" {
		return Assignment{}, fmt.Errorf("%q sets nothing; write KEY=VALUE, as in clients=200", s)
	}
	return Assignment{key, value}, nil
}

// String returns the assignment as ParseAssignment reads it.
func (a Assignment) String() string { return a.Key + "=" + a.Value }

// shown is the assignment without a password.
func (a Assignment) shown() string {
	if a.Key == "user" {
		return a.Key
	}
	return a.String()
}

func joined(all []Assignment) string {
	parts := make([]string, len(all))
	for i, a := range all {
		parts[i] = a.shown()
	}
	return strings.Join(parts, ", ")
}

// belowFile is how many lines no file has: the first assignment is in line
// belowFile, the second in line 2*belowFile, and so on.
const belowFile = maxFile + 1

func placeOfSet(i int) place { return place{belowFile * (i + 1), 1} }

// readSet reads the assignments as a layer above all others. Entries of one
// mapping come together.
func (p *fileParser) readSet() {
	p.set = layer{}
	for i, a := range p.options.Set {
		at := placeOfSet(i)
		of, entry, nested := strings.Cut(a.Key, ".")
		k, ok := p.trialKey(of)
		switch {
		case of == "store" || of == "version" || of == "exec":
			p.failf(at, "the server is chosen by --store NAME[@VERSION] or --exec PATH")
			continue
		case !ok && slices.Contains(fileKeys(), of), ok && (k.alone || k.Key == "baseline"):
			p.failf(at, "%s is no parameter of a load or of a cluster", of)
			continue
		case !ok:
			p.failf(at, "unknown key %q%s", of, suggest(of, trialKeys(p.keys)))
			continue
		}
		n, err := a.node(at, of, entry)
		if err != nil {
			p.fail(at, err)
			continue
		}
		words := of == "mix" && n.kind == scalar // as --mix has it
		n.flag = n.entries || words
		p.value(k, n)
		if before, ok := p.set[of]; ok && nested && before.value.kind == mapping {
			both := n.entriesOver(before.value)
			both.entries = before.value.entries
			n = both
		}
		n.flag = words
		p.set[of] = setting{at, n}
	}
	p.secrets = slices.DeleteFunc(p.secrets, func(n *node) bool { return n.at.line >= belowFile }) // not in the file
	p.clashes(p.set)
}

// node is the assignment's value, within a mapping if its key names an entry. A
// word is taken as it is; what begins like a list or a mapping is YAML, and so are
// a store's settings, which have types of their own.
func (a Assignment) node(at place, of, entry string) (*node, error) {
	if yaml := of == "settings" || strings.HasPrefix(a.Value, "{") || strings.HasPrefix(a.Value, "["); !yaml {
		n := &node{kind: scalar, text: a.Value, at: at}
		if entry != "" {
			n = &node{kind: mapping, pairs: []pair{{entry, at, n}}, at: at, entries: true}
		}
		return n, nil
	}
	text := of + ": " + a.Value
	if entry != "" {
		text = of + ":\n  " + entry + ": " + a.Value
	}
	root, err := document([]byte(text), at.line-1)
	if err != nil || root == nil || len(root.pairs) != 1 {
		return nil, at.errorf("this is no value in YAML; quote what has braces, brackets or colons, as in 'mix={put: 20, get: 80}'")
	}
	n := root.pairs[0].value
	n.moved(at)
	n.entries = entry != ""
	return n, nil
}

// moved puts all of a value in one place.
func (n *node) moved(at place) {
	n.at = at
	for i := range n.pairs {
		n.pairs[i].at = at
		n.pairs[i].value.moved(at)
	}
	for _, item := range n.items {
		item.moved(at)
	}
}

// entriesOver returns the mapping base with the entries of n in place of its own.
func (n *node) entriesOver(base *node) *node {
	out := &node{kind: mapping, at: n.at}
	values := []*ast.MappingValueNode{}
	for _, from := range []*node{base, n} {
		raw := rawEntries(from.raw)
		for i, p := range from.pairs {
			if from == base && n.field(p.key) != n {
				continue
			}
			out.pairs = append(out.pairs, p)
			if i < len(raw) {
				values = append(values, raw[i])
			}
		}
	}
	if len(values) == len(out.pairs) && len(values) > 0 {
		out.raw = ast.Mapping(values[0].GetToken(), false, values...)
	}
	return out
}

// rawEntries are the library's entries of a mapping, in the order of its pairs.
func rawEntries(n ast.Node) []*ast.MappingValueNode {
	switch v := n.(type) {
	case *ast.MappingNode:
		return v.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{v}
	}
	return nil
}

// ofStarted are what only a cluster that we start has.
var ofStarted = []string{"members", "settings", "env"}

// ofSomeTrials are mappings that a trial has or has not; their entries change the
// trials that have them.
var ofSomeTrials = []string{"watch", "compact"}

// overlaySet lays what was set over all that was given for a trial.
func (p *fileParser) overlaySet(all layer) layer {
	over := layer{}
	for key, s := range p.set {
		base, given := all[key]
		_, runs := all["endpoints"]
		switch {
		case runs && slices.Contains(ofStarted, key):
			continue // of a cluster that is started, and this trial's runs already
		case s.value.entries && given && base.value.kind == mapping:
			s.value = s.value.entriesOver(base.value)
		case s.value.entries && (slices.Contains(ofSomeTrials, key) || p.keys[key].readFrom(newDraft(p.keys, p.words), s.value) != nil):
			continue // it is an entry of what this trial does not have
		}
		over[key] = s
	}
	return over.over(all)
}

// voidBySet reports whether what was set excludes the key of an axis: its values
// would name trials that are all the same.
func (p *fileParser) voidBySet(a axis) bool {
	for key, s := range p.set {
		if !slices.Contains(ofStarted, key) && slices.Contains(replaced(key, s.value, nil), a.key) {
			return true
		}
	}
	return false
}

// checkSet refuses what no trial has a use for.
func (p *fileParser) checkSet(plans []plan) {
	for i, a := range p.options.Set {
		of, entry, nested := strings.Cut(a.Key, ".")
		k, known := p.keys[a.Key]
		switch {
		case slices.Contains(ofStarted, of) && !slices.ContainsFunc(plans, func(pl plan) bool { return pl.trial.Cluster.Attach == nil }):
			p.failf(placeOfSet(i), "%s is for clusters that are started, and every trial's runs already", of)
		case known && k.Operations != nil && !slices.ContainsFunc(plans, func(pl plan) bool { return pl.trial.Load.has(k.Operations) }):
			p.failf(placeOfSet(i), "<"+k.Key+"> is for "+k.OperationsText+", and no trial has any")
		case nested && !slices.ContainsFunc(plans, func(pl plan) bool { s, ok := pl.layer[of]; return ok && s.value.field(entry) != s.value }):
			p.failf(placeOfSet(i), "no trial has %s, of which %s is an entry", of, entry)
		}
	}
}

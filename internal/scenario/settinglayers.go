package scenario

import (
	"maps"
	"strings"
)

// layer is a mapping of trial keys: defaults, or a trial with one choice of
// its matrix and steps. A higher layer's value replaces a lower one's.
type layer map[string]setting

type setting struct {
	at    place // of the key
	value *node
}

// where a mapping of keys stands.
type where string

const (
	inFile     where = "the file"
	inDefaults where = "defaults"
	inTrial    where = "a trial"
	inMatrix   where = "matrix"
)

// readLayer checks every key of the mapping n and its value on its own, and
// returns them.
func (p *fileParser) readLayer(n *node, in where) layer {
	l := layer{}
	if n.kind != mapping {
		p.failf(n.at, "%s must be a mapping of keys, not %s", in, n.what())
		return l
	}
	for _, pair := range n.pairs {
		if k, ok := p.known(pair, in); ok {
			p.value(k, pair.value)
			l[pair.key] = setting{pair.at, pair.value}
		}
	}
	p.clashes(p.spread(l))
	return l
}

// known looks a key up and says what is wrong with its standing here.
func (p *fileParser) known(pair pair, in where) (*Parameter, bool) {
	k, ok := p.trialKey(pair.key)
	switch {
	case !ok:
		p.unknown(pair, in)
	case k.alone && in != inTrial, k.shared && in == inMatrix:
		p.failf(pair.at, "%s is a key of a trial, not of %s", pair.key, in)
	case pair.value.kind == null:
		p.noValue(pair)
	default:
		return k, true
	}
	return k, false
}

// trialKey looks up what can stand in a trial.
func (p *fileParser) trialKey(name string) (*Parameter, bool) {
	if strings.Contains(name, ".") {
		return nil, false
	}
	k, ok := p.keys[name]
	return k, ok
}

func (p *fileParser) unknown(pair pair, in where) {
	var here []string
	switch in {
	case inFile:
		if _, ok := p.trialKey(pair.key); ok {
			p.failf(pair.at, "%s is a key of a trial or of defaults, not of the file", pair.key)
			return
		}
		here = fileKeys()
	default:
		for _, k := range fileKeys() {
			if k == pair.key {
				p.failf(pair.at, "%s is a key of the file, not of %s", pair.key, in)
				return
			}
		}
		here = trialKeys(p.keys)
	}
	p.failf(pair.at, "unknown key %q%s", pair.key, suggest(pair.key, here))
}

func (p *fileParser) noValue(pair pair) {
	p.failf(pair.at, "%s has no value; give it one or leave the key out", pair.key)
}

// value reads a value for its errors alone.
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
	if err := k.readFrom(newDraft(p.keys, p.words), n); err != nil {
		p.fail(n.at, err)
	}
}

// clashes refuses keys that exclude each other.
func (p *fileParser) clashes(l layer) {
	for _, c := range [][2]string{
		{"duration", "total"}, {"operation", "mix"},
		{"endpoints", "members"}, {"endpoints", "exec"}, {"endpoints", "settings"}, {"endpoints", "env"}, {"endpoints", "version"},
		{"version", "exec"},
	} {
		a, first := l[c[0]]
		b, second := l[c[1]]
		if first && second {
			p.failf(later(a.at, b.at), "<"+c[0]+"> and <"+c[1]+"> exclude each other; give one of them")
		}
	}
}

func later(a, b place) place {
	if a.line > b.line || a.line == b.line && a.column > b.column {
		return a
	}
	return b
}

// over lays the layer over a lower one.
func (l layer) over(base layer) layer {
	out := maps.Clone(base)
	for name, s := range l {
		for _, gone := range replaced(name, s.value, base) {
			delete(out, gone)
		}
	}
	maps.Copy(out, l)
	return out
}

// replaced lists the keys of a lower layer that a higher one's key makes void
// besides its own: a trial that says total wants no default duration.
func replaced(name string, value *node, base layer) []string {
	started := []string{"members", "exec", "version", "settings", "env"}
	running := []string{"endpoints", "tls", "user", "dial-timeout", "data-dir"}
	switch name {
	case "duration":
		return []string{"total"}
	case "total":
		return []string{"duration"}
	case "operation":
		return []string{"mix"}
	case "mix":
		return []string{"operation"}
	case "endpoints":
		return started
	case "exec":
		return append(running, "version")
	case "version":
		return append(running, "exec")
	case "members", "settings", "env":
		return running
	case "rate":
		if a, ok := base["arrival"]; ok && a.value.text == Closed.String() {
			return []string{"arrival"}
		}
	case "arrival":
		if value.text == Closed.String() {
			return []string{"rate"}
		}
	case "store":
		if s, ok := base["store"]; ok && s.value.text != value.text {
			return append([]string{"exec", "version", "label", "settings", "env"}, running...)
		}
	}
	return nil
}

package scenario

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// fileParser parses one file.
type fileParser struct {
	file     string
	catalog  Catalog
	apps     []application.Application // the catalog's
	words    words
	running  *Attach // the cluster of a command's flags; nil for a file
	keys     map[string]*Parameter
	options  Options
	hosts    []Host
	set      layer             // the layer of the options' Set
	aliases  map[string]string // maps trials' names before scaling to their names
	errs     Errors
	secrets  []*node // values of user
	warnings []string
}

// fail adds an *Error of this package, or any other error at the fallback's place.
func (p *fileParser) fail(fallback place, err error) {
	var located *Error
	if !errors.As(err, &located) {
		located = fallback.errorf("%v", err)
	}
	if located.File == "" {
		located.File = p.file
	}
	p.errs.add(located)
}

func (p *fileParser) failf(at place, format string, args ...any) {
	p.fail(at, at.errorf(p.words.fill(format), args...))
}

func (p *fileParser) warn(format string, args ...any) {
	p.warnings = append(p.warnings, fmt.Sprintf(format, args...))
}

func (p *fileParser) newDraft() *draft {
	return &draft{parameters: p.keys, called: p.words, load: fileLoad(), cluster: Cluster{Members: DefaultMembers}, consistency: kv.Linearizable}
}

// outline is a file whose keys are checked and whose values can be read.
type outline struct {
	Scenario // without its trials
	nameAt   place
	repeats  int
	until    Until
	defaults layer
	written  []*node // the trials
	// repeatsAt is the place of repeats in the file.
	repeatsAt place
}

// where is the part of the file that a mapping of keys belongs to.
type where string

const (
	inFile     where = "the file"
	inDefaults where = "defaults"
	inTrial    where = "a trial"
	inMatrix   where = "matrix"
)

// FileKeys returns the keys of a scenario file.
func FileKeys() []string {
	return []string{"name", "description", "seed", "order", "repeats", "until", "hosts", "defaults", "trials"}
}

// trialKey returns the parameter of a key that a trial can have.
func (p *fileParser) trialKey(name string) (*Parameter, bool) {
	k, ok := p.keys[name]
	return k, ok && !strings.Contains(name, ".")
}

// trialKeys returns the keys that a trial can have, without the entries of mappings.
func trialKeys(parameters map[string]*Parameter) []string {
	return slices.DeleteFunc(sortedKeys(parameters), func(key string) bool { return strings.Contains(key, ".") })
}

// known returns the parameter of a key and reports whether the key may be used here.
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

func (p *fileParser) unknown(pair pair, in where) {
	_, ofTrial := p.trialKey(pair.key)
	here := trialKeys(p.keys)
	if in == inFile {
		here = FileKeys()
	}
	switch {
	case in == inFile && ofTrial:
		p.failf(pair.at, "%s is a key of a trial or of defaults, not of the file", pair.key)
	case slices.Contains(FileKeys(), pair.key):
		p.failf(pair.at, "%s is a key of the file, not of %s", pair.key, in)
	default:
		p.failf(pair.at, "unknown key %q%s", pair.key, suggest(pair.key, here))
	}
}

func (p *fileParser) noValue(pair pair) {
	p.failf(pair.at, "%s has no value; give it one or leave the key out", pair.key)
}

// layer is a mapping of trial keys: defaults, or a trial with one choice of its matrix and
// steps. Values of a higher layer replace those of a lower one.
type layer map[string]pair

func (l layer) hasKey(key string) bool {
	_, ok := l[key]
	return ok
}

// over returns the layer merged over a lower one.
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

// replaced lists the other keys of a lower layer that a key of a higher layer invalidates:
// a trial with a total does not use the default duration, for example.
func replaced(name string, value *node, base layer) []string {
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
		return ofStarted
	case "exec":
		return slices.Concat(ofRunning, []string{"version"})
	case "version":
		return slices.Concat(ofRunning, []string{"exec"})
	case "members", "members-on", "settings", "env":
		return ofRunning
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
			return slices.Concat([]string{"exec", "version", "label", "settings", "env"}, ofRunning)
		}
	}
	return nil
}

// spread replaces a store that is a mapping by the mapping's keys. Errors in the mapping
// itself have already been reported.
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
			p.failf(pair.at, "%s is given in store and again outside it; give it once", k)
		}
		l[k] = pair
	}
	return l
}

// Keys of a started cluster and of a running one, which exclude each other.
var (
	ofStarted = []string{"members", "members-on", "exec", "version", "settings", "env"}
	ofRunning = []string{"endpoints", "tls", "user", "dial-timeout", "data-dir"}
)

// clashes refuses keys that exclude each other.
func (p *fileParser) clashes(l layer) {
	all := [][2]string{{"duration", "total"}, {"operation", "mix"}, {"version", "exec"}}
	for _, key := range ofStarted {
		all = append(all, [2]string{"endpoints", key})
	}
	for _, c := range all {
		a, first := l[c[0]]
		b, second := l[c[1]]
		if first && second {
			at := a.at
			if b.at.after(a.at) {
				at = b.at
			}
			p.failf(at, "<"+c[0]+"> and <"+c[1]+"> exclude each other; give one of them")
		}
	}
}

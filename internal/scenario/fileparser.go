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

// fileParser reads one file.
type fileParser struct {
	file     string
	catalog  Catalog
	apps     []application.Application // the catalog's
	words    words
	running  *Attach // of a command, whose flags say it; nil for a file
	keys     map[string]*Parameter
	options  Options
	hosts    []Host
	set      layer             // what the options' Set says
	aliases  map[string]string // of trials: their names before scaling
	errs     Errors
	secrets  []*node // values of user
	warnings []string
}

// fail takes an *Error of this package, or any other error at p's fallback.
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

// outline is a file whose keys are known and whose values can be read.
type outline struct {
	Scenario // without its trials
	nameAt   place
	repeats  int
	until    Until
	defaults layer
	written  []*node // the trials
	// repeatsAt is where the file says repeats.
	repeatsAt place
}

// where a mapping of keys stands.
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

// trialKey looks up what can stand in a trial.
func (p *fileParser) trialKey(name string) (*Parameter, bool) {
	k, ok := p.keys[name]
	return k, ok && !strings.Contains(name, ".")
}

// trialKeys are the keys that a trial can have, without those of its mappings.
func trialKeys(parameters map[string]*Parameter) []string {
	return slices.DeleteFunc(sortedKeys(parameters), func(key string) bool { return strings.Contains(key, ".") })
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

// layer is a mapping of trial keys: defaults, or a trial with one choice of
// its matrix and steps. A higher layer's value replaces a lower one's.
type layer map[string]pair

func (l layer) has(key string) bool {
	_, ok := l[key]
	return ok
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
		l[k] = pair
	}
	return l
}

// What excludes each other: a cluster that is started, and one that runs.
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

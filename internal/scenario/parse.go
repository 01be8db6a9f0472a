package scenario

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
)

// DefaultSeed is the seed of a file that gives none: a run is repeatable
// without asking.
const DefaultSeed = 1

// MaxRepeats is how often a trial may be repeated.
const MaxRepeats = 1000

// ParseFile reads a scenario file. An error is one sentence, or one a line;
// those about its contents are Errors and begin with FILE:LINE:COLUMN.
func ParseFile(path string, c Catalog, o Options) (*Scenario, error) {
	data, err := files.Read(path, maxFile)
	if err != nil {
		var cause *os.PathError
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return nil, fmt.Errorf("cannot read the scenario file %s: %w", path, err)
	}
	return Parse(path, data, c, o)
}

// Parse reads a scenario from data; name stands for it in errors, and its base
// is the scenario's name unless the file gives one. An error about data is
// Errors. It never panics, whatever data is.
func Parse(name string, data []byte, c Catalog, o Options) (*Scenario, error) {
	if o.Scale != 0 {
		if err := CheckScale(o.Scale); err != nil {
			return nil, err
		}
	}
	if o.Exec != "" && o.Version != "" {
		return nil, problem("exec", "--exec and --version both name the server; give one of them")
	}
	if o.Attach != nil && (o.Exec != "" || o.Version != "") {
		return nil, problem("exec", "the cluster of --endpoints runs already, and a version or --exec is for one that is started; drop one of them")
	}
	apps := c.Applications()
	p := &fileParser{file: name, catalog: c, apps: apps, keys: byKey(Parameters(apps)), options: o}
	s := p.scenario(data)
	if len(p.errs) > 0 {
		return nil, p.errs.sorted()
	}
	return s, nil
}

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

func (p *fileParser) scenario(data []byte) *Scenario {
	root, err := document(data)
	if err != nil {
		p.fail(place{}, err)
		return nil
	}
	if root == nil {
		p.failf(place{}, "the file is empty; a scenario has trials, each with a store and an operation")
		return nil
	}
	o := p.outline(root)
	p.readSet()
	if len(p.errs) > 0 {
		return nil
	}
	p.hosts = o.Hosts
	trials := p.expand(o)
	if len(p.errs) > 0 {
		return nil
	}
	p.checkExec(trials)
	p.checkSet(trials)
	p.link(trials, o.Ordered)
	p.repeatUntil(o, trials)
	s := &o.Scenario
	s.Source, s.Scale = p.redact(data), p.options.Scale
	for _, b := range trials {
		s.Trials = append(s.Trials, b.trial)
	}
	s.Reseed(s.Seed)
	p.checkUntil(s)
	s.Warnings = p.warnings
	return s
}

func fileKeys() []string {
	return []string{"name", "description", "seed", "order", "repeats", "until", "hosts", "defaults", "trials"}
}

func (p *fileParser) outline(root *node) *outline {
	o := &outline{Scenario: Scenario{Name: baseName(p.file), Seed: DefaultSeed}, repeats: 1, defaults: layer{}}
	read := map[string]func(*node) error{
		"name":        func(n *node) (err error) { o.Name, err = n.filled("name"); o.nameAt = n.at; return err },
		"description": func(n *node) (err error) { o.Description, err = n.word("description"); return err },
		"seed":        func(n *node) (err error) { o.Seed, err = readSeed(n); return err },
		"order":       func(n *node) (err error) { o.Ordered, err = parsed(n, "order", parseOrder); return err },
		"repeats":     func(n *node) (err error) { o.repeats, err = readRepeats(n, "repeats"); o.repeatsAt = n.at; return err },
		"until":       func(n *node) (err error) { o.until, err = readUntil(n); return err },
		"hosts":       func(n *node) (err error) { o.Hosts, err = readHosts(n); return err },
		"defaults":    func(n *node) error { o.defaults = p.readLayer(n, inDefaults); return nil },
		"trials":      func(n *node) error { o.written = p.trialList(n); return nil },
	}
	for _, pair := range root.pairs {
		set, ok := read[pair.key]
		switch {
		case !ok:
			p.unknown(pair, inFile)
		case pair.value.kind == null:
			p.noValue(pair)
		default:
			if err := set(pair.value); err != nil {
				p.fail(pair.at, err)
			}
		}
	}
	if len(p.errs) == 0 && len(o.written) == 0 {
		p.failf(root.at, "the scenario has no trials; list them under trials")
	}
	if o.nameAt.line > 0 && !nameable.MatchString(o.Name) {
		p.failf(o.nameAt, "%s", notNameable(o.Name))
	}
	return o
}

func (p *fileParser) trialList(n *node) []*node {
	if n.kind != list {
		p.failf(n.at, "trials must be a list, each entry of which begins with a dash, not %s", n.what())
		return nil
	}
	for _, t := range n.items {
		p.readLayer(t, inTrial)
	}
	return n.items
}

func readSeed(n *node) (uint64, error) {
	i, err := n.whole("seed")
	if err == nil && i < 0 {
		err = n.at.errorf("seed is %d and cannot be negative", i)
	}
	return uint64(max(i, 0)), err
}

func readRepeats(n *node, key string) (int, error) {
	i, err := n.int(key)
	if err == nil && (i < 1 || i > MaxRepeats) {
		return 0, n.at.errorf("%s is %d and must be from 1 to %d", key, i, MaxRepeats)
	}
	return i, err
}

func parseOrder(s string) (bool, error) {
	switch s {
	case "random":
		return false, nil
	case "written":
		return true, nil
	}
	return false, fmt.Errorf("there is no order %q; choose random or written", s)
}

var unfit = regexp.MustCompile(`[^A-Za-z0-9._=+,-]+`)

// baseName makes a scenario's name of its file's.
func baseName(file string) string {
	base := filepath.Base(file)
	base = unfit.ReplaceAllString(strings.TrimSuffix(base, filepath.Ext(base)), "-")
	if base = strings.TrimLeft(base, "-._=+,"); base == "" {
		return "scenario"
	}
	return base[:min(len(base), maxName)]
}

// draft is a trial in the making: what its values are, as they are read.
type draft struct {
	parameters  map[string]*Parameter
	called      words
	name        string // as written: a template
	load        Load
	cluster     Cluster
	attach      Attach
	settings    *node
	consistency kv.Consistency // of reads that give none of their own
	repeats     int
	workersOn   []string
	places      []place // of the mix's operations

	scaleDuration bool // the window is scaled as totals are
}

func (p *fileParser) newDraft() *draft {
	return &draft{parameters: p.keys, called: p.words, load: fileLoad(), cluster: Cluster{Members: DefaultMembers}, consistency: kv.Linearizable}
}

// layer is a mapping of trial keys: defaults, or a trial with one choice of
// its matrix and steps. A higher layer's value replaces a lower one's.
type layer map[string]pair

func (l layer) has(key string) bool {
	_, ok := l[key]
	return ok
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
			l[pair.key] = pair
		}
	}
	p.clashes(p.spread(l))
	return l
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
	k, ok := p.keys[name]
	return k, ok && !strings.Contains(name, ".")
}

// trialKeys are the keys that a trial can have, without those of its mappings.
func trialKeys(parameters map[string]*Parameter) []string {
	return slices.DeleteFunc(sortedKeys(parameters), func(key string) bool { return strings.Contains(key, ".") })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

func (p *fileParser) unknown(pair pair, in where) {
	_, ofTrial := p.trialKey(pair.key)
	here := trialKeys(p.keys)
	if in == inFile {
		here = fileKeys()
	}
	switch {
	case in == inFile && ofTrial:
		p.failf(pair.at, "%s is a key of a trial or of defaults, not of the file", pair.key)
	case slices.Contains(fileKeys(), pair.key):
		p.failf(pair.at, "%s is a key of the file, not of %s", pair.key, in)
	default:
		p.failf(pair.at, "unknown key %q%s", pair.key, suggest(pair.key, here))
	}
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
	if err := k.readFrom(p.newDraft(), n); err != nil {
		p.fail(n.at, err)
	}
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

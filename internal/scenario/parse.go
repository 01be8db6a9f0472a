package scenario

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// DefaultSeed is the seed of a file that gives none: a run is repeatable
// without asking.
const DefaultSeed = 1

// ParseFile reads a scenario file. An error is one sentence, or one a line;
// those about its contents are Errors and begin with FILE:LINE:COLUMN.
func ParseFile(path string, c Catalog) (*Scenario, error) {
	return ParseFileWith(path, c, Options{})
}

func unreadable(path string, err error) error {
	var cause *os.PathError
	if errors.As(err, &cause) {
		err = cause.Err
	}
	return fmt.Errorf("cannot read the scenario file %s: %w", path, err)
}

// Parse reads a scenario from data; name stands for it in errors, and its base
// is the scenario's name unless the file gives one. An error is Errors. It
// never panics, whatever data is.
func Parse(name string, data []byte, c Catalog) (*Scenario, error) {
	return ParseWith(name, data, c, Options{})
}

// fileParser reads one file.
type fileParser struct {
	file     string
	catalog  Catalog
	words    words
	running  *Attach // of a command, whose flags say it; nil for a file
	keys     map[string]*Parameter
	options  Options
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
	located.File = p.file
	if i := located.Line/belowFile - 1; i >= 0 {
		located.File, located.Line = "--set "+p.options.Set[i].shown(), 0
	}
	p.errs.add(located)
}

func (p *fileParser) failf(at place, format string, args ...any) {
	p.fail(at, at.errorf(p.words.fill(format), args...))
}

// outline is a file whose keys are known and whose values can be read.
type outline struct {
	name, description string
	nameAt            place
	seed              uint64
	ordered           bool
	repeats           int
	defaults          layer
	trials            []*node
}

func (p *fileParser) scenario(data []byte) *Scenario {
	root, err := document(data, 0)
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
	plans := p.expand(o)
	if len(p.errs) > 0 {
		return nil
	}
	p.checkExec(plans)
	p.checkSet(plans)
	p.checkServers(plans)
	p.link(plans, o.ordered)
	source := p.redact(data)
	if len(p.errs) > 0 {
		return nil
	}
	s := &Scenario{
		Name: o.name, Description: o.description, Ordered: o.ordered,
		Source: source, Warnings: p.warnings, Scale: p.options.Scale,
	}
	for i := range plans {
		s.Trials = append(s.Trials, plans[i].trial)
	}
	s.Reseed(o.seed)
	return s
}

func fileKeys() []string {
	return []string{"name", "description", "seed", "order", "repeats", "defaults", "trials"}
}

func (p *fileParser) outline(root *node) *outline {
	o := &outline{name: baseName(p.file), seed: DefaultSeed, repeats: 1, defaults: layer{}}
	read := map[string]func(*node) error{
		"name":        func(n *node) (err error) { o.name, err = n.filled("name"); o.nameAt = n.at; return err },
		"description": func(n *node) (err error) { o.description, err = n.word("description"); return err },
		"seed":        func(n *node) (err error) { o.seed, err = readSeed(n); return err },
		"order":       func(n *node) (err error) { o.ordered, err = parsed(n, "order", parseOrder); return err },
		"repeats":     func(n *node) (err error) { o.repeats, err = readRepeats(n); return err },
		"defaults":    func(n *node) error { o.defaults = p.readLayer(n, inDefaults); return nil },
		"trials":      func(n *node) error { o.trials = p.trialList(n); return nil },
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
	if len(p.errs) == 0 && len(o.trials) == 0 {
		p.failf(root.at, "the scenario has no trials; list them under trials")
	}
	if o.nameAt.line > 0 && !nameable.MatchString(o.name) {
		p.failf(o.nameAt, "%s", notNameable(o.name))
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

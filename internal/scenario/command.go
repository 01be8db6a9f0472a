package scenario

import (
	_ "embed" // of the presets
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/kv"
)

//go:embed presets.yaml
var presets string

// Command is one of the commands of bench: a trial of the presets in our binary,
// with what flags say over it. What is wrong with it is reported by the names of
// its flags.
type Command struct {
	// Name is the preset's.
	Name string
	// Names are what the command calls parameters, by their keys, if not as
	// FlagName does; with the dashes of a flag.
	Names map[string]string

	parser *fileParser
	preset layer
	flags  layer
}

// NewCommand returns the command of a preset. Where there is none, it is of the
// operation that has the name, on keys that exist. It panics where there is no
// such operation either, for the names are ours.
func NewCommand(name string) *Command {
	c := &Command{Name: name, Names: map[string]string{}, flags: layer{}}
	c.parser = &fileParser{file: "presets.yaml", keys: parametersByKey()}
	root, err := document([]byte(presets), 0)
	if err != nil {
		panic(err)
	}
	o := c.parser.outline(root)
	if len(c.parser.errs) > 0 {
		panic(c.parser.errs)
	}
	c.parser.words = words{name: c.nameOf, behind: true}
	for _, t := range o.trials {
		own, _ := c.parser.split(t)
		if own["name"].value.text == name {
			c.preset = own.over(o.defaults)
			return c
		}
	}
	if _, err := kv.ParseKind(name); err != nil {
		panic("scenario: there is neither a preset nor an operation " + name)
	}
	own := layer{}
	for key, text := range map[string]string{"name": name, "operation": name, "preload": "true"} {
		own[key] = setting{value: &node{kind: scalar, text: text}}
	}
	c.preset = own.over(o.defaults)
	return c
}

// nameOf is what the command calls a parameter.
func (c *Command) nameOf(key string) string {
	if name, ok := c.Names[key]; ok {
		return name
	}
	if p, ok := c.parser.keys[key]; ok {
		return "--" + p.FlagName()
	}
	return key
}

// Parameter is the definition of one.
func (c *Command) Parameter(key string) *Parameter { return c.parser.keys[key] }

// FlagName is what the command calls a parameter's flag, without dashes.
func (c *Command) FlagName(p *Parameter) string { return strings.TrimPrefix(c.nameOf(p.Key), "--") }

// Parameters are those that the command's operations have, or any operation if
// the mix can be given, in their order: what it can have flags for.
func (c *Command) Parameters(mixed bool) []*Parameter {
	load := c.load()
	return slices.DeleteFunc(Parameters(), func(p *Parameter) bool {
		switch {
		case p.Meaning == "" || p.Key == "operation":
			return true
		case p.Throughout && !mixed:
			return load.has(func(k kv.Kind) bool { return !p.Operations(k) })
		case p.Operations != nil && !mixed:
			return !load.has(p.Operations)
		}
		return p.Key == "mix" && !mixed
	})
}

// load is what the preset says, as far as it is about the load.
func (c *Command) load() *Load { return &c.draft().load }

func (c *Command) draft() *draft {
	d := newDraft(c.parser.keys, c.parser.words)
	for _, key := range sortedKeys(c.preset) {
		_ = c.parser.keys[key].readFrom(d, c.preset[key].value) // it was read without an error
	}
	if _, ok := c.preset["total"]; ok {
		d.load.Duration = 0
	}
	return d
}

// Default is the preset's value of a parameter, as a flag has it; empty without
// one.
func (c *Command) Default(p *Parameter) string {
	switch p.Key {
	case "consistency":
		return c.draft().consistency.String()
	case "mix":
		return ""
	}
	return p.value.text(c.load())
}

// Hint stands for a parameter's value in help.
func (p *Parameter) Hint() string {
	if p.value == nil {
		return "LEVEL"
	}
	return p.value.hint()
}

// Set takes what a flag says, or the command's arguments. Its error says that
// the text is no value; bounds are looked at by Scenario.
func (c *Command) Set(key, text string) error {
	p := c.parser.keys[key]
	n := &node{kind: scalar, text: text, flag: true}
	d := c.draft()
	d.load.STM, d.load.Watch = &STM{}, &Watch{}
	switch p.value.(type) {
	case nil:
		if err := p.readFrom(d, n); err != nil {
			var located *Error
			if errors.As(err, &located) {
				return errors.New(located.Text)
			}
			return err
		}
	default:
		if err := p.value.parse(&d.load, text); err != nil {
			return err
		}
	}
	if b, ok := p.value.(typed[bool]); ok {
		n.text = b.text(&d.load)
	}
	c.flags[key] = setting{value: n}
	return nil
}

// Let changes what the preset says, as Set does what flags say: what follows
// from other flags, and was not asked for by itself.
func (c *Command) Let(key, text string) {
	delete(c.flags, key)
	c.preset[key] = setting{value: &node{kind: scalar, text: text, flag: true}}
}

// Given reports whether Set was called for a parameter.
func (c *Command) Given(key string) bool { _, ok := c.flags[key]; return ok }

// Drop takes a parameter from the preset, and what was set.
func (c *Command) Drop(key string) {
	delete(c.flags, key)
	delete(c.preset, key)
}

// Ask is what a command asks for besides its load.
type Ask struct {
	Store   string
	Attach  *Attach
	Seed    uint64
	Repeats int
}

// runName is what the command's runs are called.
func (c *Command) runName() string {
	if strings.HasPrefix(c.Name, "check-") {
		return c.Name
	}
	return "bench-" + c.Name
}

// Scenario makes the one trial that was asked for, and its repeats. Its error is
// one sentence.
func (c *Command) Scenario(catalog Catalog, ask Ask) (*Scenario, error) {
	p := c.parser
	p.catalog, p.errs, p.warnings = catalog, nil, nil
	p.running = ask.Attach
	own := maps.Clone(c.flags)
	for _, key := range sortedKeys(own) {
		if of, _, entry := strings.Cut(key, "."); entry {
			if _, said := c.preset[of]; !said {
				c.preset[of] = setting{value: &node{kind: mapping, flag: true}}
			}
		}
	}
	for _, key := range sortedKeys(own) {
		d := c.draft()
		if err := p.keys[key].readFrom(d, own[key].value); err != nil {
			p.fail(place{}, err)
		}
	}
	p.clashes(own)
	if len(p.errs) > 0 {
		return nil, errors.New(p.errs[0].Text)
	}
	all := own.over(c.preset)
	all["store"] = setting{value: &node{kind: scalar, text: ask.Store, flag: true}}
	pl := p.buildOf(place{}, &outline{repeats: ask.Repeats}, choice{}, own, all)
	if len(p.errs) > 0 {
		return nil, errors.New(p.errs[0].Text)
	}
	for _, key := range sortedKeys(own) {
		if p.keys[key].OpenLoop && pl.trial.Load.Arrival == Closed {
			return nil, errors.New(p.words.sprintf("<" + key + "> is for an open loop, which <rate> makes"))
		}
	}
	s := &Scenario{Name: c.runName(), Seed: ask.Seed, Warnings: p.warnings}
	for i := range ask.Repeats {
		t := pl.trial
		// The trial's seed is the one given, so that the one in its result repeats it.
		t.Number, t.Repeat, t.Repeats, t.Load.Seed = 1, i+1, ask.Repeats, ask.Seed
		s.Trials = append(s.Trials, t)
	}
	return s, nil
}

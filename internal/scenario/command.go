package scenario

import (
	_ "embed" // of the presets
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

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
	c.parser = &fileParser{file: "presets.yaml", keys: byKey(parameters(nil, nil))}
	root, err := document([]byte(presets))
	if err != nil {
		panic(err)
	}
	o := c.parser.outline(root)
	if len(c.parser.errs) > 0 {
		panic(c.parser.errs)
	}
	c.parser.words = words{name: c.nameOf, behind: true}
	for _, t := range o.written {
		own, _ := c.parser.split(t)
		if own["name"].value.text == name {
			c.preset = own.over(o.defaults)
			return c
		}
	}
	if _, err := kv.ParseKind(name); err != nil {
		panic("scenario: there is neither a preset nor an operation " + name)
	}
	c.preset = layer{"name": word(name), "operation": word(name), "preload": word("true")}.over(o.defaults)
	return c
}

// word is a value that has no place in a file.
func word(text string) pair { return pair{value: &node{kind: scalar, text: text, flag: true}} }

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
	load := &c.draft().load
	return slices.DeleteFunc(parameters(nil, nil), func(p *Parameter) bool {
		switch {
		case p.Meaning == "" || p.Key == "operation" || p.Reads == &applicationReading: // which files say
			return true
		case p.Throughout && !mixed:
			return load.has(func(k kv.Kind) bool { return !p.For.are(k) })
		}
		return !mixed && (p.Key == "mix" || !p.For.in(load))
	})
}

// draft is what the preset says.
func (c *Command) draft() *draft {
	d := c.parser.newDraft()
	for _, key := range sortedKeys(c.preset) {
		_ = c.parser.keys[key].readFrom(d, c.preset[key].value) // it was read without an error
	}
	if c.preset.has("total") {
		d.load.Duration = 0
	}
	return d
}

// Default is the preset's value of a parameter, as a flag has it; empty without
// one.
func (c *Command) Default(p *Parameter) string {
	switch d := c.draft(); p.Key {
	case "consistency":
		return d.consistency.String()
	case "mix":
		return ""
	default:
		return p.value.text(&d.load)
	}
}

// Set takes what a flag says, or the command's arguments. Its error says that
// the text is no value; bounds are looked at by Scenario.
func (c *Command) Set(key, text string) error {
	p, given := c.parser.keys[key], word(text)
	d := c.draft()
	d.load.STM, d.load.Watch = &STM{}, &Watch{}
	if p.value == nil {
		err := p.readFrom(d, given.value)
		var located *Error
		if errors.As(err, &located) {
			return errors.New(located.Text)
		}
	} else if err := p.value.parse(&d.load, text); err != nil {
		return err
	}
	if b, ok := p.value.(typed[bool]); ok {
		given.value.text = b.show(*b.field(&d.load)) // of 1, for example; no text is no value
	}
	c.flags[key] = given
	return nil
}

// Let changes what the preset says, as Set does what flags say: what follows
// from other flags, and was not asked for by itself.
func (c *Command) Let(key, text string) {
	delete(c.flags, key)
	c.preset[key] = word(text)
}

// Given reports whether Set was called for a parameter.
func (c *Command) Given(key string) bool { return c.flags.has(key) }

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

// Scenario makes the one trial that was asked for, and its repeats. Its error is
// one sentence.
func (c *Command) Scenario(catalog Catalog, ask Ask) (*Scenario, error) {
	p := c.parser
	p.catalog, p.apps, p.errs, p.warnings = catalog, catalog.Applications(), nil, nil
	p.running = ask.Attach
	own := maps.Clone(c.flags)
	for _, key := range sortedKeys(own) {
		if of, _ := p.keys[key].group(); of != "" && !c.preset.has(of) {
			c.preset[of] = pair{value: &node{kind: mapping, flag: true}}
		}
	}
	for _, key := range sortedKeys(own) {
		if err := p.keys[key].readFrom(c.draft(), own[key].value); err != nil {
			p.fail(place{}, err)
		}
	}
	p.clashes(own)
	if len(p.errs) > 0 {
		return nil, errors.New(p.errs[0].Text)
	}
	all := own.over(c.preset)
	all["store"] = word(ask.Store)
	b := p.buildOf(place{}, &outline{repeats: ask.Repeats}, choice{}, own, all)
	if len(p.errs) > 0 {
		return nil, errors.New(p.errs[0].Text)
	}
	for _, key := range sortedKeys(own) {
		if p.keys[key].OpenLoop && b.trial.Load.Arrival == Closed {
			return nil, errors.New(p.words.sprintf("<" + key + "> is for an open loop, which <rate> makes"))
		}
	}
	s := &Scenario{Name: c.Name, Seed: ask.Seed, Warnings: p.warnings}
	if !strings.HasPrefix(c.Name, "check-") {
		s.Name = "bench-" + c.Name
	}
	for i := range ask.Repeats {
		t := b.trial
		// The trial's seed is the one given, so that the one in its result repeats it.
		t.Number, t.Repeat, t.Load.Seed = 1, i+1, ask.Seed
		s.Trials = append(s.Trials, t)
	}
	return s, nil
}

// CheckLoad is a load of a check, over its preset. The sizes are those of etcdctl.
type CheckLoad struct {
	Rate    float64 // of `check perf`: writes a second that become due
	Keys    uint64  // of `check datascale`
	Clients int     // the most writes in flight at once
}

// PerfLoads are those of `check perf`, and ScaleLoads those of `check datascale`,
// by their short names.
var (
	PerfLoads  = map[string]CheckLoad{"s": {Rate: 150, Clients: 50}, "m": {Rate: 1000, Clients: 200}, "l": {Rate: 8000, Clients: 500}, "xl": {Rate: 15000, Clients: 1000}}
	ScaleLoads = map[string]CheckLoad{"s": {Keys: 10_000, Clients: 50}, "m": {Keys: 100_000, Clients: 200}, "l": {Keys: 1_000_000, Clients: 500}, "xl": {Keys: 3_000_000, Clients: 1000}}
)

// longLoads are the loads' other names.
var longLoads = map[string]string{"small": "s", "medium": "m", "large": "l", "xLarge": "xl"}

// FindCheckLoad finds a load by its short or its long name, and returns the short
// one. Its error is in etcdctl's words.
func FindCheckLoad(name string, of map[string]CheckLoad) (short string, l CheckLoad, err error) {
	if short = longLoads[name]; short == "" {
		short = name
	}
	l, ok := of[short]
	if !ok {
		err = fmt.Errorf("unknown load option %v: choose s, m, l or xl", name)
	}
	return short, l, err
}

//go:embed calibrate.yaml
var calibration string

// Calibration returns the file of the scenario by which a machine is calibrated, which
// Parse reads: so many rounds of loads that last so long each, against a null server of a
// store. Its trials are named in Calibrated.
func Calibration(store, endpoint string, rounds int, window time.Duration) []byte {
	return []byte(strings.NewReplacer("repeats: 5", fmt.Sprintf("repeats: %d", rounds), "store: etcd", "store: "+store,
		"endpoints: 127.0.0.1:2379", fmt.Sprintf("endpoints: %q", endpoint), "duration: 1s", "duration: "+window.String()).Replace(calibration))
}

// Calibrated are the names of the trials of Calibration.
var Calibrated = struct{ OneClient, ManyClients, Paced, Overloaded string }{"one-client", "many-clients", "paced", "overloaded"}

// CheckEndpoint says in a sentence what is wrong with an endpoint, HOST:PORT.
func CheckEndpoint(e string) error {
	if p := checkEndpoint(e, words{}); p != nil {
		return p
	}
	return nil
}

//go:embed capacity.yaml
var ofCapacity string

// OfCapacity returns the file of the load whose capacity is searched unless another
// is named, which Parse reads.
func OfCapacity() []byte { return []byte(ofCapacity) }

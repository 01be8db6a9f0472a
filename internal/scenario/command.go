package scenario

import (
	_ "embed" // for the presets
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
)

//go:embed presets.yaml
var presets string

// Command is the load of a `bench` command or check: a preset, changed by flags. Error messages use
// the names of flags.
type Command struct {
	// Name is the name of the preset.
	Name string
	// Names maps the key of a parameter to the parameter's name in this command, including the
	// dashes of a flag. It contains only the parameters whose name differs from Parameter.FlagName.
	Names map[string]string

	parser *fileParser
	preset layer
	flags  layer
}

// NewCommand returns the command for the preset with the given name. If there is no such preset, it
// returns a command that sends the operation with this name to existing keys. NewCommand panics if
// there is no such operation either, because all names are built in.
func NewCommand(name string) *Command {
	c := &Command{Name: name, Names: map[string]string{}, flags: layer{}}
	c.parser = &fileParser{file: "presets.yaml", keys: byKey(parameters(nil, nil))}
	root, err := file.Parse([]byte(presets))
	if err != nil {
		panic(err)
	}
	o := c.parser.outline(root)
	if len(c.parser.errs) > 0 {
		panic(c.parser.errs)
	}
	c.parser.namer = keyNamer{name: c.parameterName, forFlags: true}
	for _, t := range o.trialNodes {
		own, _ := c.parser.splitAxes(t)
		if own["name"].Value.Text == name {
			c.preset = own.mergedOver(o.defaults)
			return c
		}
	}
	if _, err := kv.ParseKind(name); err != nil {
		panic("scenario: there is neither a preset nor an operation " + name)
	}
	c.preset = layer{"name": flagPair(name), "operation": flagPair(name), "preload": flagPair("true")}.mergedOver(o.defaults)
	return c
}

// flagPair returns a value from a flag, which has no position in a file.
func flagPair(text string) file.Pair {
	return file.Pair{Value: &file.Node{Kind: file.Scalar, Text: text, FromFlag: true}}
}

// parameterName returns the command's name for a parameter.
func (c *Command) parameterName(key string) string {
	if name, ok := c.Names[key]; ok {
		return name
	}
	if p, ok := c.parser.keys[key]; ok {
		return "--" + p.FlagName()
	}
	return key
}

// Parameter returns the definition of a parameter.
func (c *Command) Parameter(key string) *Parameter { return c.parser.keys[key] }

// FlagName returns the name of the command's flag for a parameter, without dashes.
func (c *Command) FlagName(p *Parameter) string {
	return strings.TrimPrefix(c.parameterName(p.Key), "--")
}

// Parameters returns the parameters for which the command can have flags, in order. These are the
// parameters of the command's operations. If mixed is true, a flag sets the mix, so Parameters
// returns the parameters of all operations.
func (c *Command) Parameters(mixed bool) []*Parameter {
	load := &c.draft().load
	return slices.DeleteFunc(parameters(nil, nil), func(p *Parameter) bool {
		switch {
		case p.FileOnly || p.Presentation == &applicationPresentation: // only in files
			return true
		case p.WholeMix && !mixed:
			return load.hasKind(func(k kv.Kind) bool { return !p.Operations.contains(k) })
		}
		return !mixed && (p.Key == "mix" || !p.Operations.occurIn(load))
	})
}

// draft returns a trial with the values of the preset.
func (c *Command) draft() *draft {
	d := c.parser.newDraft()
	for _, key := range sortedKeys(c.preset) {
		_ = c.parser.keys[key].readFrom(d, c.preset[key].Value) // the value was already read once, without an error
	}
	if c.preset.hasKey("total") {
		d.load.Duration = 0
	}
	return d
}

// Default returns the preset's value of a parameter in the form that a flag accepts, or an empty
// string if the preset has no value.
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

// Set sets a parameter from a flag or an argument. It returns an error if the text cannot be
// parsed. Bounds are checked later, by Scenario.
func (c *Command) Set(key, text string) error {
	p, given := c.parser.keys[key], flagPair(text)
	d := c.draft()
	d.load.STM, d.load.Watch = &STM{}, &Watch{}
	if p.value == nil {
		err := p.readFrom(d, given.Value)
		var located *file.Error
		if errors.As(err, &located) {
			return errors.New(located.Text)
		}
	} else if err := p.value.parse(&d.load, text); err != nil {
		return err
	}
	if b, ok := p.value.(typedValue[bool]); ok {
		given.Value.Text = b.format(*b.field(&d.load)) // normalizes a Boolean such as "1"
	}
	c.flags[key] = given
	return nil
}

// SetDerived changes a value of the preset. Use SetDerived for values that depend on other flags,
// and Set for values that the user gave.
func (c *Command) SetDerived(key, text string) {
	delete(c.flags, key)
	c.preset[key] = flagPair(text)
}

// IsGiven reports whether Set was called for a parameter.
func (c *Command) IsGiven(key string) bool { return c.flags.hasKey(key) }

// Remove removes a parameter from the preset and the flags.
func (c *Command) Remove(key string) {
	delete(c.flags, key)
	delete(c.preset, key)
}

// CommandOptions holds the choices of a command other than its load.
type CommandOptions struct {
	Store          string
	RunningCluster *RunningCluster
	Seed           uint64
	Repeats        int
}

// Scenario returns the command's single trial with its repeats. An error is one sentence.
func (c *Command) Scenario(catalog Catalog, options CommandOptions) (*Scenario, error) {
	p := c.parser
	p.catalog, p.apps, p.errs, p.warnings = catalog, catalog.Applications(), nil, nil
	p.commandCluster = options.RunningCluster
	own := maps.Clone(c.flags)
	for _, key := range sortedKeys(own) {
		if of, _ := p.keys[key].group(); of != "" && !c.preset.hasKey(of) {
			c.preset[of] = file.Pair{Value: &file.Node{Kind: file.Mapping, FromFlag: true}}
		}
	}
	for _, key := range sortedKeys(own) {
		if err := p.keys[key].readFrom(c.draft(), own[key].Value); err != nil {
			p.fail(file.Position{}, err)
		}
	}
	p.checkExclusiveKeys(own)
	if len(p.errs) > 0 {
		return nil, errors.New(p.errs[0].Text)
	}
	all := own.mergedOver(c.preset)
	all["store"] = flagPair(options.Store)
	b := p.buildTrial(file.Position{}, &outline{repeats: options.Repeats}, choice{}, own, all)
	if len(p.errs) > 0 {
		return nil, errors.New(p.errs[0].Text)
	}
	for _, key := range sortedKeys(own) {
		if p.keys[key].OpenLoop && b.trial.Load.Arrival == Closed {
			return nil, errors.New(p.namer.sprintf("<" + key + "> applies only to an open loop; give a <rate>, too"))
		}
	}
	s := &Scenario{Name: c.Name, Seed: options.Seed, Warnings: p.warnings}
	if !strings.HasPrefix(c.Name, "check-") {
		s.Name = "bench-" + c.Name
	}
	for i := range options.Repeats {
		t := b.trial
		// The load uses the given seed unchanged, so that the seed in the result reproduces the
		// trial.
		t.Number, t.Repeat, t.Load.Seed = 1, i+1, options.Seed
		s.Trials = append(s.Trials, t)
	}
	return s, nil
}

// CheckLoad is the size of a check's load. Its values replace those of the preset. They are the
// same as in etcdctl.
type CheckLoad struct {
	Rate    float64 // `check perf`: writes that become due per second
	Keys    uint64  // `check datascale`: number of keys
	Clients int     // maximum number of writes in flight
}

// PerfLoads has the loads of `check perf`, and ScaleLoads the loads of `check datascale`, by short
// name.
var (
	PerfLoads  = map[string]CheckLoad{"s": {Rate: 150, Clients: 50}, "m": {Rate: 1000, Clients: 200}, "l": {Rate: 8000, Clients: 500}, "xl": {Rate: 15000, Clients: 1000}}
	ScaleLoads = map[string]CheckLoad{"s": {Keys: 10_000, Clients: 50}, "m": {Keys: 100_000, Clients: 200}, "l": {Keys: 1_000_000, Clients: 500}, "xl": {Keys: 3_000_000, Clients: 1000}}
)

// shortLoadNames maps the long names of loads to short names.
var shortLoadNames = map[string]string{"small": "s", "medium": "m", "large": "l", "xLarge": "xl"}

// FindCheckLoad finds a load by its short or long name, and returns its short name. The error has
// etcdctl's wording.
func FindCheckLoad(name string, loads map[string]CheckLoad) (short string, l CheckLoad, err error) {
	if short = shortLoadNames[name]; short == "" {
		short = name
	}
	l, ok := loads[short]
	if !ok {
		err = fmt.Errorf("unknown load option %v: choose s, m, l or xl", name)
	}
	return short, l, err
}

//go:embed calibrate.yaml
var calibration string

// Calibration returns the scenario file that measures the limits of a machine, for Parse. In each
// round, every trial runs against a null server of the store, for the duration given by the
// parameter window. CalibrationTrials holds the names of the trials.
func Calibration(store, endpoint string, rounds int, window time.Duration) []byte {
	return []byte(strings.NewReplacer("repeats: 5", fmt.Sprintf("repeats: %d", rounds), "store: etcd", "store: "+store,
		"endpoints: 127.0.0.1:2379", fmt.Sprintf("endpoints: %q", endpoint), "duration: 1s", "duration: "+window.String()).Replace(calibration))
}

// CalibrationTrials holds the names of the trials in Calibration.
var CalibrationTrials = struct{ OneClient, ManyClients, Paced, Overloaded string }{"one-client", "many-clients", "paced", "overloaded"}

// CheckEndpoint returns an error, in one sentence, if an endpoint HOST:PORT is not valid.
func CheckEndpoint(e string) error {
	if p := checkEndpoint(e, keyNamer{}); p != nil {
		return p
	}
	return nil
}

//go:embed capacity.yaml
var capacityScenario string

// CapacityFile returns the scenario file with the default load for capacity searches, for Parse.
func CapacityFile() []byte { return []byte(capacityScenario) }

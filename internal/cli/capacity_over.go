package cli

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/scenario/file"
	"github.com/quorumbench/quorumbench/internal/search"
	"github.com/quorumbench/quorumbench/internal/text"
)

// overFlag is the value of --over: a parameter and the values for which the search runs. Without
// values, the command searches for the largest value of the parameter. The zero value means that
// the flag was not given.
type overFlag struct {
	key    string
	values []string
}

// overStore is the key that --over uses for the store and its version.
const overStore = "store"

// maxOverValues is the maximum number of values in --over.
const maxOverValues = 100

// overSentence explains the two forms of --over.
const overSentence = `--over KEY=VALUE,... searches for the highest rate with each value, and --over KEY
searches for the highest value of an application's parameter that determines the load, such
as nodes`

// overLine returns overSentence as one line, for errors.
func overLine() string { return strings.ReplaceAll(overSentence, "\n", " ") }

// searchesParameter reports whether the command searches for the largest value of the parameter.
func (o *overFlag) searchesParameter() bool { return o.key != "" && len(o.values) == 0 }

// checkLoad returns a usage error if the trial's load does not fit the search. A search for a rate
// needs a load that is not the load of an application. A search for a parameter's value needs an
// application whose load depends on that parameter.
func (o *overFlag) checkLoad(t *scenario.Trial) error {
	app := application.Find(load.Applications(), t.Load.Application.Name)
	if app == nil {
		if o.searchesParameter() {
			return command.Usage("--over %s needs a trial with an application, but the trial %s has none; note that %s", o.key, t.Name, overLine())
		}
		return nil
	}
	d := app.Definition()
	switch {
	case len(d.SizeParameters) == 0:
		return command.Usage("the trial %s has the load of %s, for which no capacity search is possible, because %s; use quorumbench run with a matrix of values", t.Name, d.Name, d.NoSearchReason)
	case !o.searchesParameter():
		return command.Usage("the trial %s has the load of an application, and the rate of this load depends on parameters (%s); name one of these parameters with --over: %s", t.Name, strings.Join(d.SizeParameters, ", "), overLine())
	case d.SizeParameter(o.key) == nil:
		return command.Usage("--over %s: this parameter does not determine the load of %s; choose one of %s", o.key, d.Name, strings.Join(d.SizeParameters, ", "))
	}
	return nil
}

// parseOver parses `KEY` or `KEY=VALUE,VALUE,...`. Commas inside brackets and braces do not
// separate values, for example in `mix={put: 20, get: 80}`.
func parseOver(text string) (o overFlag, err error) {
	key, list, ok := strings.Cut(text, "=")
	if o.key = strings.TrimSpace(key); o.key == "" {
		return o, fmt.Errorf("%q names no parameter; write KEY=VALUE,VALUE such as value-size=128,1KiB, or KEY such as nodes", text)
	}
	if !ok {
		return o, nil
	}
	depth, from := 0, 0
	add := func(value string) {
		if value = strings.TrimSpace(value); value != "" {
			o.values = append(o.values, value)
		}
	}
	for i, c := range list {
		switch c {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth == 0 {
				add(list[from:i])
				from = i + 1
			}
		}
	}
	add(list[from:])
	for i, v := range o.values {
		if slices.Contains(o.values[:i], v) {
			return o, fmt.Errorf("%q contains the value %s twice", text, v)
		}
	}
	if n := len(o.values); n == 0 || n > maxOverValues {
		return o, fmt.Errorf("%q has %d values, but must have from 1 to %d", text, n, maxOverValues)
	}
	return o, nil
}

// overErrors replaces, in errors about a value of --over store, the flags that other commands have
// for the store and its binary.
var overErrors = strings.NewReplacer("and --exec both select", "and the path both select", "omit the version or --exec", "omit the version or the path",
	"write NAME or NAME@VERSION", "write NAME, NAME@VERSION or NAME=PATH", "(--exec, or exec in a scenario file)", "as NAME=PATH")

// toOverError returns err, or a usage error that names --over if err is about the store that a
// value of --over selects. value may be nil.
func toOverError(value *scenario.Assignment, err error) error {
	if value == nil || value.Key != overStore {
		return err
	}
	words := err.Error()
	if all := (file.Errors)(nil); errors.As(err, &all) {
		words = all.Lines()[0]
	}
	store, _, _ := strings.Cut(value.Value, "=")
	rest, ok := strings.CutPrefix(words, "--store "+store)
	if !ok {
		return err
	}
	return command.Usage("--over store=%s%s", store, overErrors.Replace(rest))
}

// String returns o in the syntax that parseOver accepts.
func (o overFlag) String() string {
	if o.key == "" || o.searchesParameter() {
		return o.key
	}
	return o.key + "=" + strings.Join(o.values, ",")
}

// searchParameters lists the parameters that the search sets itself.
var searchParameters = []string{"rate", "duration", "warmup", "total", "repeats"}

// check returns a usage error if --over contradicts another flag or names an unsuitable parameter.
func (o overFlag) check(f *capacityFlags) error {
	switch {
	case o.key == "":
		return nil
	case slices.Contains(searchParameters, o.key):
		return command.Usage("--over %s: the search sets this parameter itself; choose another parameter", o.key)
	case o.searchesParameter() && !isApplicationParameter(o.key):
		return command.Usage("--over %s has no values; write KEY=VALUE,VALUE such as value-size=128,1KiB: %s", o.key, overLine())
	case o.key == overStore && (f.isGiven("store") || f.isGiven("exec") || f.HasEndpoints()):
		return command.Usage("--over store starts each store in turn, so --store, --exec and --endpoints cannot be given; remove these flags and unset QUORUMBENCH_ENDPOINTS, or remove --over")
	case o.key == overStore && slices.ContainsFunc(f.set, scenario.Assignment.SelectsRunningCluster):
		of := f.set[slices.IndexFunc(f.set, scenario.Assignment.SelectsRunningCluster)]
		return command.Usage("--over store starts each store in turn, but --set %s is for a cluster that is already running; remove one of them", of.Key)
	case o.key == "version" || o.key == "exec":
		return command.Usage("--over %s: to compare versions, give them with their stores: --over store=NAME@VERSION,NAME@VERSION", o.key)
	case f.hasSet(o.key):
		return command.Usage("--set and --over both set %s; remove one of them", o.key)
	}
	return nil
}

// hasSet reports whether a --set flag sets the parameter.
func (f *capacityFlags) hasSet(key string) bool {
	return slices.ContainsFunc(f.set, func(a scenario.Assignment) bool { return a.Key == key })
}

// isApplicationParameter reports whether at least one application has the parameter. Later,
// checkLoad checks whether the load depends on this parameter.
func isApplicationParameter(key string) bool {
	return slices.ContainsFunc(load.Applications(), func(a application.Application) bool {
		return slices.ContainsFunc(a.Definition().Parameters, func(p application.Parameter) bool { return p.Key == key })
	})
}

// parameter returns the searched parameter, with bounds from the scenario and the flags. By
// default, the search starts at the value in the trial t. The function `read` returns the scenario
// for another value.
func (f *capacityFlags) parameter(t *scenario.Trial, read func(value string) (*scenario.Scenario, error)) (*search.Parameter, error) {
	app := &t.Load.Application
	d := application.Find(load.Applications(), app.Name).Definition() // not nil: checkLoad rejects trials without an application
	p := search.NewParameter(d.SizeParameter(f.over.key), app.Values()[f.over.key], read)
	within := func(flag string, value float64) error {
		if value >= p.Min && value <= p.Max {
			return nil
		}
		return command.Usage("%s must be from %s to %s (the limits for %s in this scenario), not %s", flag, p.Text(p.Min), p.Text(p.Max), p.Key, text.FormatNumber(value))
	}
	if f.isGiven("max-value") {
		if err := within("--max-value", f.maxValue); err != nil {
			return nil, err
		}
		p.Max = f.maxValue
		p.Initial = min(p.Initial, p.Max)
	}
	if f.isGiven("from") {
		if err := within("--from", f.firstRate); err != nil {
			return nil, err
		}
		p.Initial = f.firstRate
	}
	if p.Integer && (p.Initial != math.Trunc(p.Initial) || p.Max != math.Trunc(p.Max)) {
		return nil, command.Usage("--from and --max-value must be whole numbers, because %s is a whole number", p.Key)
	}
	return p, nil
}

package cli

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/quorumbench/quorumbench/internal/cli/command"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/scenario/application"
	"github.com/quorumbench/quorumbench/internal/search"
)

// over is the value of --over: a parameter and the values to search with; without values, the
// parameter's largest value is searched for. The zero value is an absent flag.
type over struct {
	key    string
	values []string
}

// overStore is the key in --over for the store and its version.
const overStore = "store"

// mostOver is the maximum number of values in --over.
const mostOver = 100

// overSentence explains the two forms of --over.
const overSentence = `--over KEY=VALUE,... searches the highest rate for each value, and --over KEY the largest
value of a parameter that an application's load grows with, such as nodes`

// overLine returns overSentence as one line, for errors.
func overLine() string { return strings.ReplaceAll(overSentence, "\n", " ") }

// searched reports whether the search is for the parameter's largest value.
func (o *over) searched() bool { return o.key != "" && len(o.values) == 0 }

// fits returns a usage error if the trial's load has no rate, or not the parameter, to search for.
func (o *over) fits(t *scenario.Trial) error {
	app := application.Find(load.Applications(), t.Load.Application.Name)
	if app == nil {
		if o.searched() {
			return command.Usage("--over %s: the load of the trial %s is no application's, and %s", o.key, t.Name, overLine())
		}
		return nil
	}
	d := app.Definition()
	switch {
	case len(d.Scales) == 0:
		return command.Usage("the trial %s is what %s sends, of which no capacity is searched, because %s; use run with several values, such as a matrix", t.Name, d.Name, d.Unsearched)
	case !o.searched():
		return command.Usage("the trial %s is what an application sends, whose rate follows from its parameters (%s); search one of these: %s", t.Name, strings.Join(d.Scales, ", "), overLine())
	case d.Scaling(o.key) == nil:
		return command.Usage("--over %s: the load of %s does not grow with it, but with %s; search one of these", o.key, d.Name, strings.Join(d.Scales, ", "))
	}
	return nil
}

// parseOver parses KEY=VALUE,VALUE,..., or KEY. Commas within brackets and braces do not separate
// values, as in mix={put: 20, get: 80}.
func parseOver(text string) (o over, err error) {
	key, list, ok := strings.Cut(text, "=")
	if o.key = strings.TrimSpace(key); o.key == "" {
		return o, fmt.Errorf("%q names no parameter; write KEY=VALUE,VALUE, as in value-size=128,1KiB, or KEY, as in nodes", text)
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
			return o, fmt.Errorf("%q has %s twice", text, v)
		}
	}
	if n := len(o.values); n == 0 || n > mostOver {
		return o, fmt.Errorf("%q has %d values, and 1 to %d can be gone through", text, n, mostOver)
	}
	return o, nil
}

// String returns o in the form that parseOver parses.
func (o over) String() string {
	if o.key == "" || o.searched() {
		return o.key
	}
	return o.key + "=" + strings.Join(o.values, ",")
}

// bySearch lists the parameters that the search itself chooses.
var bySearch = []string{"rate", "duration", "warmup", "total", "repeats"}

// check returns a usage error if --over contradicts another flag or names an unsuitable parameter.
func (o over) check(f *capacityFlags) error {
	switch {
	case o.key == "":
		return nil
	case slices.Contains(bySearch, o.key):
		return command.Usage("--over %s: the search itself chooses it; go through another parameter", o.key)
	case o.searched() && !ofApplication(o.key):
		return command.Usage("--over %s names no values; write KEY=VALUE,VALUE, as in value-size=128,1KiB: %s", o.key, overLine())
	case o.key == overStore && (f.given("store") || f.given("exec") || f.given("endpoints")):
		return command.Usage("--over store starts each store, and --store, --exec and --endpoints name one; give one of them")
	case o.key == overStore && slices.ContainsFunc(f.set, scenario.Assignment.OfRunning):
		of := f.set[slices.IndexFunc(f.set, scenario.Assignment.OfRunning)]
		return command.Usage("--over store starts each store, and --set %s names a cluster that runs already; give one of them", of.Key)
	case o.key == "version" || o.key == "exec":
		return command.Usage("--over %s: go through stores with their versions, as in --over store=NAME@VERSION,NAME@VERSION", o.key)
	case f.sets(o.key):
		return command.Usage("--set and --over both give %s; give one of them", o.key)
	}
	return nil
}

// sets reports whether --set gives the parameter.
func (f *capacityFlags) sets(key string) bool {
	return slices.ContainsFunc(f.set, func(a scenario.Assignment) bool { return a.Key == key })
}

// ofApplication reports whether any application has the parameter. Method fits checks later that
// the load grows with it.
func ofApplication(key string) bool {
	return slices.ContainsFunc(load.Applications(), func(a application.Application) bool {
		return slices.ContainsFunc(a.Definition().Parameters, func(p application.Parameter) bool { return p.Key == key })
	})
}

// parameter returns the searched parameter, with bounds from the scenario and the flags. Trial t
// has the scenario's own value of the parameter.
func (f *capacityFlags) parameter(t *scenario.Trial, read func(value string) (*scenario.Scenario, error)) (*search.Parameter, error) {
	app := &t.Load.Application
	d := application.Find(load.Applications(), app.Name).Definition() // not nil: fits refuses trials without an application
	p := search.NewParameter(d.Scaling(f.over.key), app.Values()[f.over.key], read)
	within := func(flag string, value float64) error {
		if value >= p.Least && value <= p.Most {
			return nil
		}
		return command.Usage("%s must be from %s to %s, which the scenario allows %s, not %s", flag, p.Text(p.Least), p.Text(p.Most), p.Key, application.Format(value))
	}
	if f.given("max-value") {
		if err := within("--max-value", f.mostValue); err != nil {
			return nil, err
		}
		p.Most = f.mostValue
		p.From = min(p.From, p.Most)
	}
	if f.given("from") {
		if err := within("--from", f.from); err != nil {
			return nil, err
		}
		p.From = f.from
	}
	if p.Whole && (p.From != math.Trunc(p.From) || p.Most != math.Trunc(p.Most)) {
		return nil, command.Usage("--from and --max-value must be whole numbers, because %s is", p.Key)
	}
	return p, nil
}

package record

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Value is a figure of one trial: a number with its unit. Failed is set if the figure falls on a
// failed operation. Neither Known nor Failed is set if the figure is not known or has too few
// samples.
type Value struct {
	Number float64
	Unit   measure.Unit
	Known  bool
	Failed bool
}

// TimeValue converts a figure from a latency summary to a Value.
func TimeValue(f measure.Figure) Value {
	return Value{Number: f.NS, Unit: measure.Nanoseconds, Known: f.Known, Failed: f.Failed}
}

// Better is the direction in which a figure improves.
type Better uint8

// The directions of improvement.
const (
	Neither Better = iota // neither direction is an improvement
	Less
	More
)

// Figure defines a figure of a trial. Its entry in the registry (registry.go) is the only
// definition for thresholds, tables, CSV files, comparisons, the lines of --interval and
// docs/reference/figures.md.
type Figure struct {
	Name   string // as thresholds write it
	Field  string // name in the trial's JSON object. A prefix such as "watch." is the name of a nested object. Empty if the object does not have the figure.
	Column string // in CSV files; empty if they do not have the figure
	Title  string // heading of the table column; empty without a column
	Wide   bool   // only wide tables show the column
	// Line is the figure's name in the lines of --interval, where a point separates the name of an
	// object and the name in this object. It is empty if the lines do not have the figure. AtEnd is
	// set if the last line has the figure for each trial.
	Line   string
	AtEnd  bool
	Unit   measure.Unit
	Better Better
	// Meaning is the definition in docs/reference/figures.md.
	Meaning string
	// Missing is the reason why a trial can lack the figure.
	Missing string
	// Below, if above 0, is the limit under which the figure cannot be distinguished from 0. Tables
	// omit such a figure.
	Below    float64
	Total    *Total       // the total of which the figure counts a part; nil without one
	Requires *Requirement // condition under which a trial has the figure; nil if all trials have it
	Members  bool         // the figure is the sum over all members

	of func(*Trial) Value // the accessor; recorded(Field) by default
	// Times is the distribution of which the figure is a statistic. The statistic is Percentile if
	// it is set, otherwise the statistic that point returns.
	Times      *Distribution
	Percentile float64
	point      func(Times) measure.Figure
}

// Total is the total by which a figure is divided to print it as a share.
type Total struct {
	Of   func(*Trial) uint64
	None string // why there is no share if the total is 0
}

// Value returns the figure's value in the result of a trial.
func (f *Figure) Value(t *Trial) Value {
	if f.Times != nil {
		times, _ := f.Times.Of(t)
		return TimeValue(f.point(times))
	}
	v := f.of(t)
	v.Unit = f.Unit
	return v
}

// Share returns the figure as a share of its Total, or the reason why there is no share.
func (f *Figure) Share(t *Trial) (v Value, why string) {
	if v = f.Value(t); !v.Known { // if so, the whole may not be known either
		return Value{}, f.Missing
	}
	whole := f.Total.Of(t)
	if whole == 0 {
		return Value{}, f.Total.None
	}
	return Value{Number: v.Number / float64(whole), Unit: measure.Share, Known: true}, ""
}

// Summed reports whether the figure of several repeats is their sum. This is the case if it counts
// a part of a whole.
func (f *Figure) Summed() bool { return f.Total != nil && f.Unit == measure.Number }

// Recorded reports whether the result contains the figure. Other percentiles are computed from the
// trial's histograms.
func (f *Figure) Recorded() bool { return f.Times == nil || f.point != nil }

// Key returns the figure's name outside its JSON object, in JSON and CSV files.
func (f *Figure) Key() string {
	if f.Times == nil || f.Column != "" {
		return f.Column
	}
	return strings.NewReplacer("-", "_", ".", "_").Replace(f.Name) + "_ns"
}

// Cell returns the trial's figure for a CSV file, or an empty string if it is not known.
func (f *Figure) Cell(t *Trial) string {
	v := f.Value(t)
	switch {
	case !v.Known:
		return ""
	case f.Times != nil:
		return strconv.FormatFloat(v.Number, 'f', 0, 64)
	}
	return strconv.FormatFloat(v.Number, 'f', -1, 64)
}

// Find looks up a figure by name. A distribution has a figure for every percentile below 100 with
// at most three decimals.
func Find(name string) (Figure, bool) {
	all := Figures()
	if i := slices.IndexFunc(all, func(f Figure) bool { return f.Name == name }); i >= 0 && name != "" {
		return all[i], true
	}
	prefix, tail := "", name
	if i := strings.LastIndexByte(name, '-'); i >= 0 {
		prefix, tail = name[:i], name[i+1:]
	}
	number, isPercentile := strings.CutPrefix(tail, "p")
	p, err := strconv.ParseFloat(number, 64)
	if !isPercentile || err != nil || !(p > 0 && p < 100) || math.Round(p*1000) != p*1000 {
		return Figure{}, false
	}
	for _, d := range distributions() {
		if d.Prefix == prefix {
			return d.percentile(name, p), true
		}
	}
	return Figure{}, false
}

// Registered returns the figure with a name that must be in the registry.
func Registered(name string) Figure {
	f, ok := Find(name)
	if !ok {
		panic(fmt.Sprintf("there is no figure %q", name)) // a defect of this program
	}
	return f
}

// trialFields returns the fields of Trial. They are looked up once for all accessors.
var trialFields = sync.OnceValue(func() []reflect.StructField { return reflect.VisibleFields(reflect.TypeFor[Trial]()) })

// recorded returns an accessor for a number in the trial's JSON object, or in its "watch" object if
// field begins with "watch.". A number that is null or absent is not known.
func recorded(field string) func(*Trial) Value {
	of, inWatch := strings.CutPrefix(field, "watch.")
	fields := trialFields()
	if inWatch {
		fields = reflect.VisibleFields(reflect.TypeFor[Watched]())
	}
	index := fields[slices.IndexFunc(fields, func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name == of
	})].Index
	return func(t *Trial) Value {
		object := reflect.ValueOf(t).Elem()
		if inWatch {
			if t.Watch == nil {
				return Value{}
			}
			object = reflect.ValueOf(t.Watch).Elem()
		}
		v := reflect.Indirect(object.FieldByIndex(index))
		if !v.IsValid() {
			return Value{}
		}
		return Value{Number: v.Convert(reflect.TypeFor[float64]()).Float(), Known: true}
	}
}

// Requirement is a condition that a trial must meet for a figure to apply.
type Requirement struct {
	of  string // the requirement, as a part of a sentence
	Has func(*Conditions) bool
	// lacking ends the sentence about trials that do not meet the requirement. If it is empty, the
	// sentence lists the trials instead.
	lacking string
}

var (
	openLoop   = &Requirement{of: "an open loop", Has: (*Conditions).Open, lacking: "no selected trial has one"}
	closedLoop = &Requirement{of: "a closed loop", Has: func(c *Conditions) bool { return !c.Open() }, lacking: "no selected trial has one"}
	watchers   = &Requirement{of: "watchers", Has: func(c *Conditions) bool { return c.Watch != nil }}
	// timedEvents requires events that writes of the same load cause.
	timedEvents = &Requirement{of: "events of watched writes", Has: func(c *Conditions) bool { return c.Watch != nil && len(c.Watch.Key) == 0 }}
	writes      = &Requirement{of: "operations that write", Has: func(c *Conditions) bool { return c.hasKind(kv.Kind.Writes) }}
	stmWrites   = &Requirement{of: kv.STM.String() + " operations", Has: func(c *Conditions) bool { return c.STM != nil }}
	manyKeys    = &Requirement{of: "operations that can read several keys", Has: func(c *Conditions) bool {
		return slices.ContainsFunc(c.Mix, func(o scenario.Operation) bool {
			return o.Kind == kv.Range || o.Kind == kv.TxnGet
		})
	}}
)

// Applies reports whether a trial with these conditions can have the figure.
func (f *Figure) Applies(c *Conditions) bool { return f.Requires == nil || f.Requires.Has(c) }

// OfWatch reports whether the figure describes the events that watchers receive.
func (f *Figure) OfWatch() bool { return f.Requires == watchers || f.Requires == timedEvents }

// Refused returns a sentence that says why no trial has the figure. None of the trials meets the
// figure's requirement.
func (f *Figure) Refused(trials []string) string {
	why := f.Requires.lacking
	switch {
	case why != "":
	case len(trials) == 1:
		why = fmt.Sprintf("the trial %s has none", trials[0])
	default:
		why = fmt.Sprintf("none of the %d trials has any (the first is %s)", len(trials), trials[0])
	}
	return fmt.Sprintf("%s needs %s, but %s", f.Name, f.Requires.of, why)
}

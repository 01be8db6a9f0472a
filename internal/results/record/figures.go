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

// Value is a figure of one trial: a number and its unit. One that lands on a
// failed operation has Failed; what is not known, or not supported by its
// sample, has neither Known nor Failed.
type Value struct {
	Number float64
	Unit   measure.Unit
	Known  bool
	Failed bool
}

// TimeValue is a figure of a summary of times.
func TimeValue(f measure.Figure) Value {
	return Value{Number: f.NS, Unit: measure.Nanoseconds, Known: f.Known, Failed: f.Failed}
}

// Better says in which direction a figure is better.
type Better uint8

// The directions.
const (
	Neither Better = iota // it only describes
	Less
	More
)

// Figure defines a figure of a trial. Its entry in the registry (registry.go) is
// all that thresholds, tables, CSV files, comparisons, the lines of --interval
// and docs/reference/figures.md know about the figure.
type Figure struct {
	Name   string // as thresholds call it
	Field  string // in the trial's JSON object, behind "watch." or another of its objects in that one; empty for none
	Column string // in CSV files; empty for none
	Title  string // of its column in tables; empty for none
	Wide   bool   // a terminal's tables have no room for that
	// Line is what the lines of --interval call it, within an object where it has
	// a point; empty for none. AtEnd says that the last line has it of each trial.
	Line   string
	AtEnd  bool
	Unit   measure.Unit
	Better Better
	// Meaning is the text of docs/reference/figures.md.
	Meaning string
	// Missing says why there may be none.
	Missing string
	// Below, if above 0, is what tables leave out: the figure cannot be distinguished
	// from 0 there.
	Below    float64
	Whole    *Whole       // what the figure is a part of; nil for nothing
	Requires *Requirement // what a trial must have for it; nil for nothing
	Members  bool         // it is the sum of all members

	of func(*Trial) Value // recorded(Field) unless given
	// Of times: those, and one percentile of them or another of their figures.
	Times      *Distribution
	Percentile float64
	point      func(Times) measure.Figure
}

// Whole is what figures are a part of: they can be given as a share of it.
type Whole struct {
	Of   func(*Trial) uint64
	None string // why there is no share
}

// Of is the trial's figure as its result has it.
func (f *Figure) Of(t *Trial) Value {
	if f.Times != nil {
		times, _ := f.Times.Of(t)
		return TimeValue(f.point(times))
	}
	v := f.of(t)
	v.Unit = f.Unit
	return v
}

// Share is the trial's figure as a share of what it is a part of, or why there
// is none.
func (f *Figure) Share(t *Trial) (v Value, why string) {
	if v = f.Of(t); !v.Known { // what it is a part of may not be known either
		return Value{}, f.Missing
	}
	whole := f.Whole.Of(t)
	if whole == 0 {
		return Value{}, f.Whole.None
	}
	return Value{Number: v.Number / float64(whole), Unit: measure.Share, Known: true}, ""
}

// Summed reports whether the figure of several repeats is their sum: of a count of parts
// of a whole.
func (f *Figure) Summed() bool { return f.Whole != nil && f.Unit == measure.Number }

// Recorded reports whether the result has the figure: percentiles that it does
// not have come from the trial's histograms.
func (f *Figure) Recorded() bool { return f.Times == nil || f.point != nil }

// Key is what JSON and CSV files call the figure where it stands alone.
func (f *Figure) Key() string {
	if f.Times == nil || f.Column != "" {
		return f.Column
	}
	return strings.NewReplacer("-", "_", ".", "_").Replace(f.Name) + "_ns"
}

// Cell is the trial's figure in a CSV file; empty if it is not known.
func (f *Figure) Cell(t *Trial) string {
	v := f.Of(t)
	switch {
	case !v.Known:
		return ""
	case f.Times != nil:
		return strconv.FormatFloat(v.Number, 'f', 0, 64)
	}
	return strconv.FormatFloat(v.Number, 'f', -1, 64)
}

// Find looks up a figure by its name. Of times, every percentile below 100 with
// three decimals at most is one.
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

// Registered is Find of a name that the registry has.
func Registered(name string) Figure {
	f, ok := Find(name)
	if !ok {
		panic(fmt.Sprintf("there is no figure %q", name)) // a defect of this program
	}
	return f
}

// trialFields returns a trial's fields: all accessors together look them up once.
var trialFields = sync.OnceValue(func() []reflect.StructField { return reflect.VisibleFields(reflect.TypeFor[Trial]()) })

// recorded is the accessor of a number in the trial's JSON object, or behind
// "watch." in that one: what is null there, or not there, is not known.
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

// Requirement is what a trial must have for a figure to be one of it.
type Requirement struct {
	of  string // what the figure is of
	Has func(*Conditions) bool
	// lacking ends the sentence about trials that do not have it; empty for one
	// that names them.
	lacking string
}

var (
	openLoop   = &Requirement{of: "an open loop", Has: (*Conditions).Open, lacking: "no such trial is one"}
	closedLoop = &Requirement{of: "a closed loop", Has: func(c *Conditions) bool { return !c.Open() }, lacking: "no such trial is one"}
	watchers   = &Requirement{of: "watchers", Has: func(c *Conditions) bool { return c.Watch != nil }}
	// timedEvents are those of the load's own writes.
	timedEvents = &Requirement{of: "events of watched writes", Has: func(c *Conditions) bool { return c.Watch != nil && len(c.Watch.Key) == 0 }}
	writes      = &Requirement{of: "operations that write", Has: func(c *Conditions) bool { return c.has(kv.Kind.Writes) }}
	stmWrites   = &Requirement{of: kv.STM.String() + " operations", Has: func(c *Conditions) bool { return c.STM != nil }}
	manyKeys    = &Requirement{of: "operations that can read several keys", Has: func(c *Conditions) bool {
		return slices.ContainsFunc(c.Mix, func(o scenario.Operation) bool {
			return o.Kind == kv.Range || o.Kind == kv.TxnGet
		})
	}}
)

// Applies reports whether a trial of these conditions can have the figure.
func (f *Figure) Applies(c *Conditions) bool { return f.Requires == nil || f.Requires.Has(c) }

// OfWatch reports whether the figure is of what watchers get.
func (f *Figure) OfWatch() bool { return f.Requires == watchers || f.Requires == timedEvents }

// Refused says that none of the trials named has what the figure needs.
func (f *Figure) Refused(trials []string) string {
	why := f.Requires.lacking
	switch {
	case why != "":
	case len(trials) == 1:
		why = fmt.Sprintf("the trial %s has none", trials[0])
	default:
		why = fmt.Sprintf("none of the %d trials has any, of which the first is %s", len(trials), trials[0])
	}
	return fmt.Sprintf("%s is of %s, and %s", f.Name, f.Requires.of, why)
}

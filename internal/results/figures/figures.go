// Package figures defines the figures of a trial, such as throughput, p99 and the share of failed
// operations. It also computes the figures that are not in the run directory: percentiles, the
// lines of --interval, and the recovery after faults. It opens runs together with the events and
// the recovery of their trials.
package figures

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/scenario"
)

// Value is the value of a figure in one trial: a number with its unit. Failed is set if the value
// depends on the time of a failed operation. If the value is not known or has too few samples,
// neither Known nor Failed is set.
type Value struct {
	Number float64
	Unit   measure.Unit
	Known  bool
	Failed bool
}

// TimeValue converts a figure of a latency summary to a Value.
func TimeValue(f measure.Figure) Value {
	return Value{Number: f.NS, Unit: measure.Nanoseconds, Known: f.Known, Failed: f.Failed}
}

// Direction is the direction in which a figure improves.
type Direction uint8

// The directions of improvement.
const (
	NoDirection Direction = iota // the figure has no direction of improvement
	LowerIsBetter
	HigherIsBetter
)

// Figure defines one figure of a trial. All parts of the program use the definition in the registry
// (registry.go): thresholds, tables, CSV files, comparisons, the lines of --interval and
// docs/reference/figures.md.
type Figure struct {
	Name   string // as thresholds write it
	Field  string // key in the trial's JSON object; a prefix such as "watch." is the key of a nested object. Empty if the figure is not in the object.
	Column string // column in CSV files; empty if the figure is not in them
	Title  string // heading of the column in tables; empty if the figure has no column
	Wide   bool   // only wide tables have the column
	// IntervalKey is the key of the figure in the lines of --interval. If it contains a point, the
	// part before the point is the key of a nested object. IntervalKey is empty if these lines do
	// not have the figure. AtEnd is set if the last line has the figure for each trial.
	IntervalKey string
	AtEnd       bool
	Unit        measure.Unit
	Direction   Direction
	// Meaning is the definition that docs/reference/figures.md shows.
	Meaning string
	// MissingReason is the reason why the figure of a trial may be missing.
	MissingReason string
	// ResolutionLimit is the limit below which the figure cannot be distinguished from 0, or 0 if
	// there is no limit. Tables omit a figure that is below its limit.
	ResolutionLimit float64
	Total           *Total       // total of which the figure is a part; nil if the figure is not a part of a total
	Requires        *Requirement // condition that a trial must meet to have the figure; nil if all trials have it
	SumsMembers     bool         // the figure is a sum over all members

	readValue func(*record.Trial) Value // returns the value; recorded(Field) by default
	// Times is the distribution to which the figure belongs. If Percentile is set, the figure is
	// this percentile. Otherwise, it is the statistic that the function `point` returns.
	Times      *Distribution
	Percentile float64
	point      func(record.Times) measure.Figure
}

// Total is a total of which a figure is a part. The figure is divided by it to print the figure as
// a share.
type Total struct {
	Count      func(*record.Trial) uint64
	zeroReason string // reason why there is no share if the total is 0
}

// Value returns the figure's value in the result of a trial. The figure must be Recorded.
func (f *Figure) Value(t *record.Trial) Value {
	if f.Times != nil {
		times, _ := f.Times.Extract(t)
		return TimeValue(f.point(times))
	}
	v := f.readValue(t)
	v.Unit = f.Unit
	return v
}

// Share returns the figure of a trial as a share of its Total. If there is no share, it returns the
// reason.
func (f *Figure) Share(t *record.Trial) (v Value, reason string) {
	if v = f.Value(t); !v.Known { // first, because the total may not be known either
		return Value{}, f.MissingReason
	}
	whole := f.Total.Count(t)
	if whole == 0 {
		return Value{}, f.Total.zeroReason
	}
	return Value{Number: v.Number / float64(whole), Unit: measure.Share, Known: true}, ""
}

// Summed reports whether the figure for several repeats is the sum of the repeats' figures. This is
// true if the figure is the number of items in a part of a total.
func (f *Figure) Summed() bool { return f.Total != nil && f.Unit == measure.Number }

// Recorded reports whether the trial's result contains the figure. The other figures are
// percentiles, which are computed from the trial's histograms.
func (f *Figure) Recorded() bool { return f.Times == nil || f.point != nil }

// Key returns the name of the figure in JSON and CSV files, outside the trial's JSON object.
func (f *Figure) Key() string {
	if f.Times == nil || f.Column != "" {
		return f.Column
	}
	return strings.NewReplacer("-", "_", ".", "_").Replace(f.Name) + "_ns"
}

// Cell returns the text of the trial's figure for a CSV file, or "" if the figure is not known.
func (f *Figure) Cell(t *record.Trial) string {
	v := f.Value(t)
	switch {
	case !v.Known:
		return ""
	case f.Times != nil:
		return strconv.FormatFloat(v.Number, 'f', 0, 64)
	}
	return strconv.FormatFloat(v.Number, 'f', -1, 64)
}

// trialFields returns the fields of Trial. They are determined only once for all accessors.
var trialFields = sync.OnceValue(func() []reflect.StructField { return reflect.VisibleFields(reflect.TypeFor[record.Trial]()) })

// recorded returns an accessor for a number in the trial's JSON object. If `field` begins with
// "watch.", the number is in the object "watch". A number that is null or absent is not known.
func recorded(field string) func(*record.Trial) Value {
	of, inWatch := strings.CutPrefix(field, "watch.")
	fields := trialFields()
	if inWatch {
		fields = reflect.VisibleFields(reflect.TypeFor[record.Watched]())
	}
	index := fields[slices.IndexFunc(fields, func(f reflect.StructField) bool {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name == of
	})].Index
	return func(t *record.Trial) Value {
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

// ratio returns an accessor that divides a number by a count. If the count is 0, the result is not
// known.
func ratio(operands func(*record.Trial) (x float64, count uint64)) func(*record.Trial) Value {
	return func(t *record.Trial) Value {
		x, count := operands(t)
		if count == 0 {
			return Value{}
		}
		return Value{Number: x / float64(count), Known: true}
	}
}

// Requirement is a condition that a trial must meet to have a figure.
type Requirement struct {
	noun string // the requirement as a noun, for use in a sentence
	Has  func(*record.Conditions) bool
	// lackingText ends the sentence about trials that do not meet the requirement. If lackingText
	// is empty, the sentence ends with the name or the number of these trials.
	lackingText string
}

var (
	openLoop   = &Requirement{noun: "an open loop", Has: (*record.Conditions).Open, lackingText: "no selected trial has one"}
	closedLoop = &Requirement{noun: "a closed loop", Has: func(c *record.Conditions) bool { return !c.Open() }, lackingText: "no selected trial has one"}
	watchers   = &Requirement{noun: "watchers", Has: func(c *record.Conditions) bool { return c.Watch != nil }}
	// timedEvents requires watch events of writes from the same load, because only these events
	// have times.
	timedEvents = &Requirement{noun: "events of watched writes", Has: func(c *record.Conditions) bool { return c.Watch != nil && len(c.Watch.Key) == 0 }}
	writes      = &Requirement{noun: "operations that write", Has: func(c *record.Conditions) bool { return c.HasKind(kv.Kind.Writes) }}
	stmWrites   = &Requirement{noun: kv.STM.String() + " operations", Has: func(c *record.Conditions) bool { return c.STM != nil }}
	manyKeys    = &Requirement{noun: "operations that can read several keys", Has: func(c *record.Conditions) bool {
		return slices.ContainsFunc(c.Mix, func(o scenario.Operation) bool {
			return o.Kind == kv.Range || o.Kind == kv.TxnGet
		})
	}}
)

// Applies reports whether a trial with the conditions c can have the figure.
func (f *Figure) Applies(c *record.Conditions) bool { return f.Requires == nil || f.Requires.Has(c) }

// DescribesWatchEvents reports whether the figure describes the events that watchers receive.
func (f *Figure) DescribesWatchEvents() bool {
	return f.Requires == watchers || f.Requires == timedEvents
}

// RefusalReason returns a sentence with the reason why none of the trials has the figure. It must
// be called only if no trial meets the figure's requirement.
func (f *Figure) RefusalReason(trials []string) string {
	reason := f.Requires.lackingText
	switch {
	case reason != "":
	case len(trials) == 1:
		reason = fmt.Sprintf("the trial %s has none", trials[0])
	default:
		reason = fmt.Sprintf("none of the %d trials has any (the first is %s)", len(trials), trials[0])
	}
	return fmt.Sprintf("%s needs %s, but %s", f.Name, f.Requires.noun, reason)
}

package record

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"github.com/quorumbench/quorumbench/internal/measure"
)

// Times describes a distribution of times. In files each figure is an integer
// number of nanoseconds, or null: a percentile that the sample does not
// support, or a figure that lands on a failed operation. Which of the two it
// is follows from the counts beside it, and Trial's UnmarshalJSON restores it.
type Times struct{ measure.Summary }

// At returns the percentile p of measure.Percentiles.
func (t Times) At(p float64) measure.Figure { return t.Summary.At(p) }

// namedFigure is one of a summary's figures by its name in thresholds and tables.
type namedFigure struct {
	name string
	*measure.Figure
}

// figures are the summary's in their order.
func (t *Times) figures() []namedFigure {
	all := []namedFigure{{"min", &t.Min}, {"mean", &t.Mean}, {"stddev", &t.Stddev}}
	for i, p := range measure.Percentiles {
		all = append(all, namedFigure{fmt.Sprintf("p%g", p), &t.Percentiles[i]})
	}
	return append(all, namedFigure{"max", &t.Max})
}

// field is the figure's name in files.
func (f namedFigure) field() string { return strings.ReplaceAll(f.name, ".", "_") }

// MarshalJSON writes the object.
func (t Times) MarshalJSON() ([]byte, error) {
	o := Object{{"count", t.Count}}
	for _, f := range t.figures() {
		o.Add(f.field(), ns(*f.Figure))
	}
	return o.MarshalJSON()
}

// UnmarshalJSON reads the object. Every null becomes a figure that is not
// known; which of them failed follows only from the counts around it.
func (t *Times) UnmarshalJSON(b []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	*t = Times{}
	read := func(name string, to any) error {
		if raw, ok := object[name]; ok {
			return json.Unmarshal(raw, to)
		}
		return nil
	}
	err := read("count", &t.Count)
	for _, f := range t.figures() {
		var ns *float64
		if err = cmp.Or(err, read(f.field(), &ns)); ns != nil {
			*f.Figure = measure.Figure{NS: *ns, Known: true}
		}
	}
	return err
}

// restore marks the figures that are missing because an operation failed. Which
// those are depends on the counts alone, so that any times with the same counts
// show it.
func (t *Times) restore(failed uint64) {
	if failed == 0 || failed > t.Count {
		return
	}
	recorded := hdr.New(1, 2, 1)
	if recorded.RecordValues(1, int64(t.Count-failed)) != nil {
		return // a count that no run reaches
	}
	like := Times{measure.Summarize(recorded, failed)}
	for i, f := range like.figures() {
		if of := t.figures()[i]; !of.Known && f.Failed {
			of.Failed = true
		}
	}
}

func ns(f measure.Figure) *float64 {
	if !f.Known {
		return nil
	}
	return new(math.Round(f.NS))
}

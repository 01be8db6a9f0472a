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

// Times describes a distribution of times. In files, each figure is a whole number of nanoseconds,
// or null. A null has one of two reasons: the sample is too small for the percentile, or the figure
// depends on the time of a failed operation. Trial.UnmarshalJSON determines the reason from the
// trial's counts.
type Times struct{ measure.Summary }

// Percentile returns the percentile p, which must be one of measure.Percentiles.
func (t Times) Percentile(p float64) measure.Figure { return t.Summary.Percentile(p) }

// Statistic is a figure of a summary with its name in thresholds and tables.
type Statistic struct {
	Name string
	*measure.Figure
}

// Statistics returns the figures of the summary, in the order of the JSON object.
func (t *Times) Statistics() []Statistic {
	all := []Statistic{{"min", &t.Min}, {"mean", &t.Mean}, {"stddev", &t.Stddev}}
	for i, p := range measure.Percentiles {
		all = append(all, Statistic{fmt.Sprintf("p%g", p), &t.Percentiles[i]})
	}
	return append(all, Statistic{"max", &t.Max})
}

// Key returns the name of the figure in files.
func (f Statistic) Key() string { return strings.ReplaceAll(f.Name, ".", "_") }

// MarshalJSON encodes the object.
func (t Times) MarshalJSON() ([]byte, error) {
	o := Object{{"count", t.Count}}
	for _, f := range t.Statistics() {
		o.Add(f.Key(), ns(*f.Figure))
	}
	return o.MarshalJSON()
}

// UnmarshalJSON decodes the object. If a figure is null, it is marked as not known. The method
// restore later marks the figures that have failed.
func (t *Times) UnmarshalJSON(b []byte) error {
	var object map[string]json.RawMessage
	if err := json.Unmarshal(b, &object); err != nil {
		return err
	}
	*t = Times{}
	read := func(name string, target any) error {
		if raw, ok := object[name]; ok {
			return json.Unmarshal(raw, target)
		}
		return nil
	}
	err := read("count", &t.Count)
	for _, f := range t.Statistics() {
		var ns *float64
		if err = cmp.Or(err, read(f.Key(), &ns)); ns != nil {
			*f.Figure = measure.Figure{NS: *ns, Known: true}
		}
	}
	return err
}

// restore marks the figures that are missing because they depend on the time of a failed operation.
// Only the counts determine which figures these are. Therefore, restore compares the figures with
// those of arbitrary times that have the same counts.
func (t *Times) restore(failed uint64) {
	if failed == 0 || failed > t.Count {
		return
	}
	recorded := hdr.New(1, 2, 1)
	if recorded.RecordValues(1, int64(t.Count-failed)) != nil {
		return // no run has that many operations
	}
	like := Times{measure.Summarize(recorded, failed)}
	for i, f := range like.Statistics() {
		if of := t.Statistics()[i]; !of.Known && f.Failed {
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

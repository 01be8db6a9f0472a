package record

import (
	"encoding/json"
	"math"

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

// wireTimes is the JSON object; its fields stand in the order of the summary.
type wireTimes struct {
	Count  uint64   `json:"count"`
	Min    *float64 `json:"min"`
	Mean   *float64 `json:"mean"`
	Stddev *float64 `json:"stddev"`
	P10    *float64 `json:"p10"`
	P25    *float64 `json:"p25"`
	P50    *float64 `json:"p50"`
	P75    *float64 `json:"p75"`
	P90    *float64 `json:"p90"`
	P95    *float64 `json:"p95"`
	P99    *float64 `json:"p99"`
	P999   *float64 `json:"p99_9"`
	Max    *float64 `json:"max"`
}

func (w *wireTimes) percentiles() [8]**float64 {
	return [8]**float64{&w.P10, &w.P25, &w.P50, &w.P75, &w.P90, &w.P95, &w.P99, &w.P999}
}

// MarshalJSON writes the object.
func (t Times) MarshalJSON() ([]byte, error) {
	w := wireTimes{Count: t.Count, Min: ns(t.Min), Mean: ns(t.Mean), Stddev: ns(t.Stddev), Max: ns(t.Max)}
	for i, p := range w.percentiles() {
		*p = ns(t.Percentiles[i])
	}
	return json.Marshal(w)
}

// UnmarshalJSON reads the object. Every null becomes a figure that is not
// known; which of them failed follows only from the counts around it.
func (t *Times) UnmarshalJSON(b []byte) error {
	var w wireTimes
	if err := json.Unmarshal(b, &w); err != nil {
		return err
	}
	*t = Times{}
	t.Count = w.Count
	t.Min, t.Mean, t.Stddev, t.Max = figure(w.Min), figure(w.Mean), figure(w.Stddev), figure(w.Max)
	for i, p := range w.percentiles() {
		t.Percentiles[i] = figure(*p)
	}
	return nil
}

// restore marks the figures that are missing because an operation failed. Which
// those are depends on the counts alone, so that any times with the same counts
// show it.
func (t *Times) restore(failed uint64) {
	if failed == 0 || failed > t.Count {
		return
	}
	like := hdr.New(1, 2, 1)
	if like.RecordValues(1, int64(t.Count-failed)) != nil {
		return // a count that no run reaches
	}
	s := measure.Summarize(like, failed)
	pairs := [][2]*measure.Figure{{&t.Min, &s.Min}, {&t.Mean, &s.Mean}, {&t.Stddev, &s.Stddev}, {&t.Max, &s.Max}}
	for i := range t.Percentiles {
		pairs = append(pairs, [2]*measure.Figure{&t.Percentiles[i], &s.Percentiles[i]})
	}
	for _, p := range pairs {
		if !p[0].Known && p[1].Failed {
			p[0].Failed = true
		}
	}
}

func ns(f measure.Figure) *float64 {
	if !f.Known {
		return nil
	}
	whole := math.Round(f.NS)
	return &whole
}

func figure(p *float64) measure.Figure {
	if p == nil {
		return measure.Figure{}
	}
	return measure.Figure{NS: *p, Known: true}
}

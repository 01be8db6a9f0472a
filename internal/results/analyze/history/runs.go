package history

import (
	"math"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure/stat"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Source holds the figures of a run directory or of another benchmark's file.
type Source struct {
	Path    string
	Time    time.Time // zero if unknown
	samples []sample
}

// sample is the value of one metric of a trial in one source.
type sample struct {
	trial  string
	metric Metric
	point  Point
}

// ReadRun reads figures of all trials of a run directory.
func ReadRun(dir string, shown []figures.Figure) (*Source, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{Path: dir, Time: run.Started}
	for _, row := range analyze.Rows(run) {
		if len(row.Done) == 0 {
			continue
		}
		for i := range shown {
			f := &shown[i]
			if !f.Applies(&row.First().Conditions) {
				continue
			}
			p := pointOf(row, f)
			p.Source, p.Name, p.Time = dir, run.Name, run.Started
			s.samples = append(s.samples, sample{row.First().Name, Metric{Name: f.Name, Unit: f.Unit, Direction: f.Direction}, p})
		}
	}
	return s, nil
}

// pointOf returns the point for one metric of a trial, computed from the trial's repeats.
func pointOf(row *analyze.Row, f *figures.Figure) Point {
	first := row.First()
	counting := slices.DeleteFunc(slices.Clone(row.Done), func(t *record.Trial) bool { return analyze.ExclusionReason(t) != "" })
	conditions := first.Conditions
	p := Point{Version: first.Version, Label: first.Label, Repeats: len(counting), conditions: &conditions, Verdict: string(analyze.WorstVerdict(row.Done))}
	if len(counting) == 0 {
		p.Value, p.Repeats = number(analyze.MedianOf(f, row.Done)), len(row.Done)
		p.ExclusionReason = analyze.ExclusionReason(row.Done[0])
		return p
	}
	value := analyze.MedianOf(f, counting)
	p.Value = number(value)
	judged := analyze.JudgeFigure(f.Name, counting).State
	p.Verdict = judged
	switch {
	case value.Failed:
		p.ExclusionReason = "failed"
	case !value.Known:
		p.ExclusionReason = "not known"
	case p.Value <= 0:
		p.ExclusionReason = "0"
	}
	if c, ok := analyze.CertaintyOf(row, f); ok && c.IsInterval() && c.Low.Number > 0 {
		p.Low, p.High, p.Interval = c.Low.Number, c.High.Number, true
	}
	p.possibleEffect = possibleEffect(analyze.RepeatedOf(f, counting).Effects, judged)
	return p
}

// possibleEffect returns the amount by which disturbances may have changed the logarithm of a
// figure. The amount is the median over the repeats. For a figure whose verdict is not valid, the
// amount is at least verdict.SuspectEffect.
func possibleEffect(effects []float64, judgedFigure string) float64 {
	sizes := make([]float64, 0, len(effects))
	for _, e := range effects {
		sizes = append(sizes, min(math.Abs(math.Log(max(1+e, 1e-3))), maxPossibleEffect))
	}
	size := stat.UpperMedian(sizes)
	if judgedFigure != string(verdict.Valid) {
		size = max(size, verdict.SuspectEffect)
	}
	return size
}

// maxPossibleEffect is the maximum effect of a disturbance that possibleEffect assumes: the
// logarithm of a factor of about 20.
const maxPossibleEffect = 3

// number returns a value's number in the form that files use, or 0 if the value is unknown.
func number(v figures.Value) float64 {
	if !v.Known || math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
		return 0
	}
	return analyze.FileNumber(v)
}

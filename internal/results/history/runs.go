package history

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/verdict"
)

// Source is a run directory or a file of another benchmark, with its figures.
type Source struct {
	Path    string
	When    time.Time // zero if it is not known
	samples []sample
}

// sample is a figure of a trial in one source.
type sample struct {
	trial  string
	metric Metric
	point  Point
}

// RunDirs returns the run directories below a folder, at most mostDeep folders down. It does not
// follow links.
func RunDirs(dir string) (all []string, err error) {
	var walk func(dir string, deep int) error
	walk = func(dir string, deep int) error {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == "run.json" }) {
			all = append(all, dir)
			return nil
		}
		for _, e := range entries {
			if e.IsDir() && deep > 0 {
				if err := walk(filepath.Join(dir, e.Name()), deep-1); err != nil && !errors.Is(err, fs.ErrPermission) {
					return err
				}
			}
		}
		return nil
	}
	if err := walk(dir, mostDeep); err != nil {
		return nil, fmt.Errorf("the run directories in %s cannot be listed: %w", dir, err)
	}
	return all, nil
}

// mostDeep is how many folders below the named one RunDirs looks into.
const mostDeep = 3

// ReadRun reads figures of all trials of a run directory.
func ReadRun(dir string, figures []record.Figure) (*Source, error) {
	run, err := record.Open(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{Path: dir, When: run.Started}
	for _, row := range analyze.Rows(run) {
		if len(row.Done) == 0 {
			continue
		}
		for i := range figures {
			f := &figures[i]
			if !f.Applies(&row.First().Conditions) {
				continue
			}
			p := pointOf(row, f)
			p.Source, p.Name, p.When = dir, run.Name, run.Started
			s.samples = append(s.samples, sample{row.First().Name, Metric{Name: f.Name, Unit: f.Unit, Better: f.Better}, p})
		}
	}
	return s, nil
}

// pointOf returns a figure of a trial's repeats.
func pointOf(row *analyze.Row, f *record.Figure) Point {
	first := row.First()
	counting := slices.DeleteFunc(slices.Clone(row.Done), func(t *record.Trial) bool { return analyze.WhyNotCounted(t) != "" })
	conditions := first.Conditions
	p := Point{Version: first.Version, Label: first.Label, Repeats: len(counting), conditions: &conditions, Verdict: string(analyze.WorstVerdict(row.Done))}
	if len(counting) == 0 {
		p.Value, p.Repeats = number(analyze.MedianOf(f, row.Done)), len(row.Done)
		p.LeftOut = analyze.WhyNotCounted(row.Done[0])
		return p
	}
	value := analyze.MedianOf(f, counting)
	p.Value = number(value)
	judged := analyze.JudgeFigure(f.Name, counting).State
	p.Verdict = judged
	switch {
	case value.Failed:
		p.LeftOut = "failed"
	case !value.Known:
		p.LeftOut = "not known"
	case p.Value <= 0:
		p.LeftOut = "0"
	}
	if c, ok := analyze.CertaintyOf(row, f); ok && c.Basis != analyze.RangeOfRepeats && !c.Short && c.Low.Number > 0 {
		p.Low, p.High, p.Interval = c.Low.Number, c.High.Number, true
	}
	p.doubt = doubt(analyze.RepeatedOf(f, counting).Effects, judged)
	return p
}

// doubt returns by how much disturbances may have moved the logarithm of a figure: the median over
// the repeats, and for a suspect figure at least what makes a figure suspect.
func doubt(effects []float64, judged string) float64 {
	sizes := make([]float64, 0, len(effects))
	for _, e := range effects {
		sizes = append(sizes, min(math.Abs(math.Log(max(1+e, 1e-3))), mostDoubt))
	}
	slices.Sort(sizes)
	size := sizes[len(sizes)/2]
	if judged != string(verdict.Valid) {
		size = max(size, verdict.SuspectEffect)
	}
	return size
}

// mostDoubt limits a doubt: a factor of 20.
const mostDoubt = 3

// number returns a value's number as files have it; 0 if it is not known.
func number(v record.Value) float64 {
	if !v.Known || math.IsNaN(v.Number) || math.IsInf(v.Number, 0) {
		return 0
	}
	return analyze.FileNumber(v)
}

package history

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/files"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/figures"
	"github.com/quorumbench/quorumbench/internal/text"
)

// maxFileSize is the maximum size, in bytes, of a file with the results of another benchmark.
const maxFileSize = 16 << 20

// ReadFile reads a file with the results of another benchmark: perfdash JSON, or the output of go
// test -bench. It takes the time of the results from the file's contents or, if they contain no
// time, from the file's name.
func ReadFile(path string) (*Source, error) {
	b, err := files.Read(path, maxFileSize)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be read: %w", path, err)
	}
	s := &Source{Path: path, Time: findDate(filepath.Base(path))}
	if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
		err = s.readPerfdash(b)
	} else {
		err = s.readGoBench(b)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	for i := range s.samples {
		one := &s.samples[i]
		one.trial, one.metric.Name = text.Line(one.trial, text.MaxField), text.Line(one.metric.Name, text.MaxField)
		one.metric.ForeignUnit = text.Line(one.metric.ForeignUnit, text.MaxField)
		one.point.Source, one.point.Time = path, s.Time
		one.point.Name, one.point.Label = text.Line(filepath.Base(path), text.MaxField), text.Line(one.point.Label, text.MaxField)
	}
	return s, nil
}

// dates lists the time formats that findDate recognizes.
var dates = []struct {
	is     *regexp.Regexp
	layout string
}{
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(Z|[+-]\d{2}:\d{2})`), time.RFC3339},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}T\d{2}-\d{2}-\d{2}Z`), "2006-01-02T15-04-05Z"},
	{regexp.MustCompile(`\d{8}T\d{6}Z`), "20060102T150405Z"},
	{regexp.MustCompile(`\d{4}-\d{2}-\d{2}`), time.DateOnly},
}

// findDate returns the time that a text contains, or the zero time if the text contains none.
func findDate(s string) time.Time {
	for _, d := range dates {
		if when, err := time.Parse(d.layout, d.is.FindString(s)); err == nil {
			return when
		}
	}
	return time.Time{}
}

// metricOf returns the metric for a name and unit of another program. The result `factor` converts
// the program's numbers to the unit of the metric.
func metricOf(name, unit string) (m Metric, factor float64) {
	m = Metric{Name: name, ForeignUnit: unit, Direction: figures.LowerIsBetter}
	for _, u := range []struct {
		name string
		ns   float64
	}{{"ns", 1}, {"us", 1e3}, {"µs", 1e3}, {"ms", 1e6}, {"s", 1e9}, {"sec", 1e9}} {
		if unit == u.name || unit == u.name+"/op" {
			m.ForeignUnit = ""
			m.Unit = measure.Nanoseconds
			return m, u.ns
		}
	}
	switch {
	case strings.HasSuffix(unit, "/s"), strings.HasSuffix(unit, "/sec"):
		m.Direction = figures.HigherIsBetter
	case unit == "B", unit == "B/op":
		m.Unit, m.ForeignUnit = measure.Bytes, ""
	case unit == "allocs/op", strings.HasSuffix(unit, "/op"):
	default:
		m.Direction = figures.NoDirection
	}
	return m, 1
}

package history

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/perf/benchfmt"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/figures"
)

// readGoBench reads the output of go test -bench. It also reads reports in quorumbench's own
// gobench format. Lines with the same name are repeats of one benchmark. The configuration line
// "commit" identifies the measured version, and the line "commit-time" or "date" contains the time
// of that version.
func (s *Source) readGoBench(b []byte) error {
	type key struct{ name, unit string }
	var order []key
	values := map[key][]float64{}
	commit := ""
	reader := benchfmt.NewReader(bytes.NewReader(b), s.Path)
	for reader.Scan() {
		r, ok := reader.Result().(*benchfmt.Result)
		if !ok { // a line that defines a unit, or a line without a result
			continue
		}
		for _, c := range r.Config {
			switch c.Key {
			case "commit":
				commit = string(c.Value)
			case "commit-time", "date":
				if when := findDate(string(c.Value)); !when.IsZero() {
					s.Time = when
				}
			}
		}
		for _, v := range r.Values {
			unit, number := v.Unit, v.Value
			if v.OrigUnit != "" { // benchfmt has converted the unit, for example ns/op to sec/op
				unit, number = v.OrigUnit, v.OrigValue
			}
			k := key{processors.ReplaceAllString(r.Name.String(), ""), unit}
			if values[k] == nil {
				order = append(order, k)
			}
			values[k] = append(values[k], number)
		}
	}
	if err := reader.Err(); err != nil {
		return fmt.Errorf("the file is not output of go test -bench: %w", err)
	}
	if len(order) == 0 {
		return errors.New("the file has no benchmark results; give a run directory, perfdash JSON or output of go test -bench")
	}
	for _, k := range order {
		metric, factor := goMetric(k.unit)
		switch reader.Units().GetBetter(k.unit) {
		case -1:
			metric.Direction = figures.LowerIsBetter
		case 1:
			metric.Direction = figures.HigherIsBetter
		}
		p := repeatsOf(values[k], factor, metric.Direction)
		p.Label = shortCommit(commit)
		s.samples = append(s.samples, sample{k.name, metric, p})
	}
	return nil
}

// processors matches GOMAXPROCS at the end of a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// goMetric returns the metric for a unit in the Go benchmark format. The second result is the
// factor that converts numbers from that unit to the unit of the metric.
func goMetric(unit string) (Metric, float64) {
	name, ns := strings.CutSuffix(unit, "-ns")
	if !ns {
		name, ns = strings.CutSuffix(unit, "-sec")
		if ns {
			return Metric{Name: name, Unit: measure.Nanoseconds, Direction: figures.LowerIsBetter}, 1e9
		}
	}
	switch {
	case ns:
		return Metric{Name: name, Unit: measure.Nanoseconds, Direction: figures.LowerIsBetter}, 1
	case unit == "ops/s":
		return Metric{Name: "ops", Unit: measure.Rate, Direction: figures.HigherIsBetter}, 1
	case unit == "sec/op":
		m, _ := metricOf("ns/op", "s")
		return m, 1e9
	}
	return metricOf(unit, unit)
}

// repeatsOf returns a point that summarizes the values of all repeats. The point contains their
// median and, if the number of repeats is sufficient, a confidence interval.
func repeatsOf(values []float64, factor float64, better figures.Direction) Point {
	all := make([]figures.Value, 0, len(values))
	numbers := make([]float64, 0, len(values))
	least := math.Inf(1)
	for _, x := range values {
		x *= factor
		least = min(least, x)
		all = append(all, figures.Value{Number: x, Known: !math.IsInf(x, 0) && !math.IsNaN(x), Failed: math.IsInf(x, 1)})
		numbers = append(numbers, x)
	}
	median := analyze.Median(all, better)
	p := Point{Repeats: len(values)}
	switch {
	case median.Failed:
		p.ExclusionReason = "failed"
	case !median.Known:
		p.ExclusionReason = "not known"
	case median.Number <= 0:
		p.ExclusionReason = "0"
	default:
		p.Value = median.Number
	}
	finite := !slices.ContainsFunc(all, func(v figures.Value) bool { return !v.Known })
	if len(numbers) >= analyze.MinRepeats && finite && least > 0 {
		if i, ok := stats.OverRepeats(stats.UndisturbedRepeats(numbers), stats.Level); ok && i.Low > 0 {
			p.Low, p.High, p.Interval = i.Low, i.High, true
		}
	}
	return p
}

// shortCommit returns the first 12 characters of a commit hash. It returns other names unchanged.
func shortCommit(commit string) string {
	if len(commit) == 40 && strings.Trim(commit, "0123456789abcdef") == "" {
		return commit[:12]
	}
	return commit
}

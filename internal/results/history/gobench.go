package history

import (
	"errors"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/analyze"
	"github.com/quorumbench/quorumbench/internal/results/analyze/stats"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// goBench reads output of go test -bench (https://golang.org/design/14313-benchmark-format), which
// the format gobench of reports is, too. Lines of the same name are repeats. The configuration lines
// "commit" and "commit-time" or "date" name what was measured and when.
func (s *Source) goBench(b []byte) error {
	type key struct{ name, unit string }
	var order []key
	values := map[key][]float64{}
	better := map[string]record.Better{}
	commit := ""
	for line := range strings.Lines(string(b)) {
		line = strings.TrimSpace(line)
		fields := strings.Fields(line)
		switch {
		case len(fields) >= 4 && strings.HasPrefix(line, "Benchmark"):
			if _, err := strconv.ParseUint(fields[1], 10, 64); err != nil {
				continue
			}
			name := processors.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
			for i := 2; i+1 < len(fields); i += 2 {
				x, err := strconv.ParseFloat(fields[i], 64)
				if err != nil {
					break
				}
				k := key{name, fields[i+1]}
				if values[k] == nil {
					order = append(order, k)
				}
				values[k] = append(values[k], x)
			}
		case len(fields) >= 3 && fields[0] == "Unit":
			for _, f := range fields[2:] {
				switch f {
				case "better=lower":
					better[fields[1]] = record.Less
				case "better=higher":
					better[fields[1]] = record.More
				}
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if value = strings.TrimSpace(value); !ok || value == "" {
				continue
			}
			switch name {
			case "commit":
				commit = value
			case "commit-time", "date":
				if when := dateIn(value); !when.IsZero() {
					s.When = when
				}
			}
		}
	}
	if len(order) == 0 {
		return errors.New("it has no benchmark results; give a run directory, perfdash JSON or output of go test -bench")
	}
	for _, k := range order {
		metric, factor := goMetric(k.unit)
		if b, ok := better[k.unit]; ok {
			metric.Better = b
		}
		p := repeatsOf(values[k], factor, metric.Better)
		p.Label = short(commit)
		s.samples = append(s.samples, sample{k.name, metric, p})
	}
	return nil
}

// processors is GOMAXPROCS at the end of a benchmark's name.
var processors = regexp.MustCompile(`-\d+$`)

// goMetric returns the metric of a unit of the Go benchmark format, and the factor to its own unit.
func goMetric(unit string) (Metric, float64) {
	name, ns := strings.CutSuffix(unit, "-ns")
	if !ns {
		name, ns = strings.CutSuffix(unit, "-sec")
		if ns {
			return Metric{Name: name, Unit: measure.Nanoseconds, Better: record.Less}, 1e9
		}
	}
	switch {
	case ns:
		return Metric{Name: name, Unit: measure.Nanoseconds, Better: record.Less}, 1
	case unit == "ops/s":
		return Metric{Name: "ops", Unit: measure.Rate, Better: record.More}, 1
	case unit == "sec/op":
		m, _ := metricOf("ns/op", "s")
		return m, 1e9
	}
	return metricOf(unit, unit)
}

// repeatsOf returns the median of repeats, and the interval of their mean if there are enough.
func repeatsOf(values []float64, factor float64, better record.Better) Point {
	all := make([]record.Value, 0, len(values))
	numbers := make([]float64, 0, len(values))
	least := math.Inf(1)
	for _, x := range values {
		x *= factor
		least = min(least, x)
		all = append(all, record.Value{Number: x, Known: !math.IsInf(x, 0) && !math.IsNaN(x), Failed: math.IsInf(x, 1)})
		numbers = append(numbers, x)
	}
	median := analyze.Median(all, better)
	p := Point{Repeats: len(values)}
	switch {
	case median.Failed:
		p.LeftOut = "failed"
	case !median.Known:
		p.LeftOut = "not known"
	case median.Number <= 0:
		p.LeftOut = "0"
	default:
		p.Value = median.Number
	}
	finite := !slices.ContainsFunc(all, func(v record.Value) bool { return !v.Known })
	if len(numbers) >= analyze.MinRepeats && finite && least > 0 {
		if i, ok := stats.OverRepeats(stats.UndisturbedRepeats(numbers), stats.Level); ok && i.Low > 0 {
			p.Low, p.High, p.Interval = i.Low, i.High, true
		}
	}
	return p
}

// short returns the first 12 characters of a commit's hash; other names stay.
func short(commit string) string {
	if len(commit) == 40 && strings.Trim(commit, "0123456789abcdef") == "" {
		return commit[:12]
	}
	return commit
}

package probe

import (
	"io"
	"strconv"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/quorumbench/quorumbench/internal/store"
)

// found is what a text holds, by name: series that differ in their labels are
// added up.
type found map[string]store.Reading

func (f found) add(name string, r store.Reading) { f[name] = f[name].Plus(r) }

// parsePrometheus reads Prometheus's text format, and also gives each timer's
// two counters by their own names. Untyped values are plain ones.
func parsePrometheus(r io.Reader) (found, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, err
	}
	f := found{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			f.family(name, m)
		}
	}
	return f, nil
}

func (f found) family(name string, m *dto.Metric) {
	switch {
	case m.GetHistogram() != nil:
		h := m.GetHistogram()
		r := store.Reading{Sum: h.GetSampleSum(), Count: float64(h.GetSampleCount())}
		for _, b := range h.GetBucket() {
			r.Buckets = append(r.Buckets, store.Bucket{Upper: b.GetUpperBound(), Count: float64(b.GetCumulativeCount())})
		}
		f.timer(name, r)
	case m.GetSummary() != nil:
		s := m.GetSummary()
		f.timer(name, store.Reading{Sum: s.GetSampleSum(), Count: float64(s.GetSampleCount())})
	case m.GetCounter() != nil:
		f.add(name, store.Reading{Value: m.GetCounter().GetValue()})
	case m.GetGauge() != nil:
		f.add(name, store.Reading{Value: m.GetGauge().GetValue()})
	case m.GetUntyped() != nil:
		f.add(name, store.Reading{Value: m.GetUntyped().GetValue()})
	}
}

func (f found) timer(name string, r store.Reading) {
	f.add(name, r)
	f.add(name+"_sum", store.Reading{Value: r.Sum})
	f.add(name+"_count", store.Reading{Value: r.Count})
}

// parseLines reads lines of a name, an optional {LABELS}, white space and a
// number. Other lines are skipped: such answers hold texts, too.
func parseLines(text string) found {
	f := found{}
	for line := range strings.Lines(text) {
		name, value, ok := cutLast(strings.TrimSpace(line))
		if !ok {
			continue
		}
		v, err := strconv.ParseFloat(value, 64)
		if err != nil || v != v { // not a number
			continue
		}
		bare, labels, _ := strings.Cut(name, "{")
		if strings.Contains(labels, "quantile=") {
			continue // cannot be added up or subtracted
		}
		f.add(bare, store.Reading{Value: v})
	}
	return f
}

// cutLast cuts a line at its last white space.
func cutLast(line string) (before, after string, ok bool) {
	i := strings.LastIndexAny(line, " \t")
	if i < 0 {
		return line, "", false
	}
	return strings.TrimSpace(line[:i]), line[i+1:], true
}

// pick takes the shared metrics out of what a source reported. Of a metric with
// several names, what is there is added up.
func pick(f found, names []store.MetricName) store.Sample {
	sample := store.Sample{}
	for _, n := range names {
		r, ok := named(f, n)
		if !ok {
			continue
		}
		unit := n.Unit
		if unit == 0 {
			unit = 1
		}
		sample[n.Metric] = sample[n.Metric].Plus(r.Scaled(unit))
	}
	return sample
}

// named is what one name says.
func named(f found, n store.MetricName) (store.Reading, bool) {
	if n.Name != "" {
		r, ok := f[n.Name]
		return r, ok
	}
	sum, ok := f[n.Sum]
	count, both := f[n.Count]
	return store.Reading{Sum: sum.Value, Count: count.Value}, ok && both
}

package metrics

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
)

// field is a decoded field of a protobuf message.
type field struct {
	number protowire.Number
	n      uint64
	bytes  []byte
}

// decode returns the fields of a message.
func decode(t testing.TB, b []byte) (all []field) {
	t.Helper()
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		f := field{number: number}
		switch kind {
		case protowire.VarintType:
			f.n, n = protowire.ConsumeVarint(b)
		case protowire.Fixed64Type:
			f.n, n = protowire.ConsumeFixed64(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			t.Fatalf("field %d has the type %d", number, kind)
		}
		if n < 0 {
			t.Fatal(protowire.ParseError(n))
		}
		b = b[n:]
		all = append(all, f)
	}
	return all
}

// received is a decoded series.
type received struct {
	value     float64
	ms        int64
	histogram *dto.Histogram
}

// decodeWrite decodes a WriteRequest. It maps the labels of each series to the series, and checks
// that the labels are sorted.
func decodeWrite(t testing.TB, b []byte) map[string]received {
	t.Helper()
	all := map[string]received{}
	for _, series := range decode(t, b) {
		if series.number != 1 {
			t.Fatalf("the request has a field %d", series.number)
		}
		var names, labels []string
		r := received{}
		for _, f := range decode(t, series.bytes) {
			parts := decode(t, f.bytes)
			switch f.number {
			case 1:
				if len(parts) != 2 || parts[0].number != 1 || parts[1].number != 2 || len(parts[1].bytes) == 0 || !utf8.Valid(parts[1].bytes) {
					t.Fatalf("a label has the fields %v", parts)
				}
				names = append(names, string(parts[0].bytes))
				labels = append(labels, fmt.Sprintf("%s=%q", parts[0].bytes, parts[1].bytes))
			case 2:
				r.value, r.ms = math.Float64frombits(parts[0].n), int64(parts[1].n)
			case 4:
				r.histogram, r.ms = decodeHistogram(t, parts)
			default:
				t.Fatalf("a series has a field %d", f.number)
			}
		}
		if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
			t.Errorf("the labels are not sorted, or not unique: %v", names)
		}
		key := strings.Join(labels, ",")
		if _, has := all[key]; has {
			t.Errorf("two series have the labels %s", key)
		}
		all[key] = r
	}
	return all
}

func decodeHistogram(t testing.TB, fields []field) (*dto.Histogram, int64) {
	t.Helper()
	h, ms := &dto.Histogram{}, int64(0)
	for _, f := range fields {
		switch f.number {
		case 1:
			h.SampleCount = &f.n
		case 3:
			h.SampleSum = new(math.Float64frombits(f.n))
		case 4:
			h.Schema = new(int32(protowire.DecodeZigZag(f.n)))
		case 5:
			h.ZeroThreshold = new(math.Float64frombits(f.n))
		case 6:
			h.ZeroCount = &f.n
		case 11:
			span := decode(t, f.bytes)
			h.PositiveSpan = append(h.PositiveSpan, &dto.BucketSpan{Offset: new(int32(protowire.DecodeZigZag(span[0].n))), Length: new(uint32(span[1].n))})
		case 12:
			for b := f.bytes; len(b) > 0; {
				d, n := protowire.ConsumeVarint(b)
				if n < 0 {
					t.Fatal(protowire.ParseError(n))
				}
				h.PositiveDelta, b = append(h.PositiveDelta, protowire.DecodeZigZag(d)), b[n:]
			}
		case 15:
			ms = int64(f.n)
		default:
			t.Fatalf("a histogram has a field %d", f.number)
		}
	}
	return h, ms
}

// A push contains every series with its labels, the external labels and its value.
func TestPushContainsEverySeries(t *testing.T) {
	c := newTestCollector()
	c.EnterPhase(nil, "starting")
	c.Second(spec("put", 1), second(measure.Measured, 1000, 2))
	c.Event(record.Event{Kind: "election"})
	sent := families(t, c)
	request, _ := encodeWrite(sent, []pair{{"job", "quorumbench"}, {"run", "external"}}, nil, 1234)
	got := decodeWrite(t, request)
	want := 0
	for _, f := range sent {
		want += len(f.GetMetric())
	}
	if len(got) != want {
		t.Errorf("%d series, not %d", len(got), want)
	}
	for labels, value := range map[string]float64{
		`__name__="quorumbench_operations_due_total",job="quorumbench",repeat="1",run="external",store="a-store",trial="put"`: 1002,
		`__name__="quorumbench_run_info",job="quorumbench",run="run",version="v1"`:                                            1,
		`__name__="quorumbench_events_total",job="quorumbench",kind="election",run="external"`:                                1,
		`__name__="quorumbench_phase",job="quorumbench",phase="starting",run="external"`:                                      1,
	} {
		if r, has := got[labels]; !has || r.value != value || r.ms != 1234 {
			t.Errorf("%s is %+v (exists: %v), not %v", labels, r, has, value)
		}
	}
	r := got[`__name__="quorumbench_response_time_seconds",job="quorumbench",operation="put",repeat="1",run="external",store="a-store",trial="put"`]
	if r.histogram == nil || r.ms != 1234 {
		t.Fatalf("the response times are %+v", r)
	}
	native := c.trials[0].response[0]
	if want := countsOf(written(t, native, &c.table)); !reflect.DeepEqual(countsOf(r.histogram), want) || r.histogram.GetSampleCount() != 1000 || r.histogram.GetSampleSum() != native.sum || r.histogram.GetSchema() != schema {
		t.Errorf("the response times are %v, not %v", r.histogram, want)
	}
}

func FuzzEncodeWrite(f *testing.F) {
	f.Add("put", "a label\xff", 1.5, int64(12), int64(9_000), uint16(3))
	f.Add("", "\x00\u202e", math.Inf(1), int64(-1), int64(math.MaxInt64), uint16(0))
	table := newBucketTable()
	f.Fuzz(func(t *testing.T, name, value string, x float64, ms, ns int64, times uint16) {
		h := measure.NewHistogram()
		measure.RecordAll(h, ns, uint64(times))
		measure.RecordAll(h, ns/3, uint64(times)/2)
		n := newNative(&table)
		n.add(&table, measure.NonEmptySteps(h))
		registry := prometheus.NewRegistry()
		d := prometheus.NewDesc("m", "help", []string{"a", "b"}, nil)
		shown := []string{label(name), label(value)}
		registry.MustRegister(fixed{
			prometheus.MustNewConstMetric(prometheus.NewDesc("x", "help", []string{"a", "b"}, nil), prometheus.GaugeValue, x, shown...),
			n.metric(&table, d, time.Unix(1, 0), shown...),
		})
		sent, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		request, _ := encodeWrite(sent, []pair{{"job", "j"}}, nil, ms)
		for _, r := range decodeWrite(t, request) {
			found++
			if r.ms != ms {
				t.Errorf("the time is %d, not %d", r.ms, ms)
			}
			if r.histogram == nil && math.Float64bits(r.value) != math.Float64bits(x) {
				t.Errorf("the value is %v, not %v", r.value, x)
			}
			if r.histogram != nil && !equalCounts(countsOf(r.histogram), countsOf(written(t, n, &table))) {
				t.Errorf("the histogram is %v", r.histogram)
			}
		}
		if found != 2 {
			t.Errorf("%d series", found)
		}
	})
}

// fixed is a collector with constant metrics.
type fixed []prometheus.Metric

// Describe implements prometheus.Collector.
func (f fixed) Describe(descs chan<- *prometheus.Desc) {
	for _, m := range f {
		descs <- m.Desc()
	}
}

// Collect implements prometheus.Collector.
func (f fixed) Collect(collected chan<- prometheus.Metric) {
	for _, m := range f {
		collected <- m
	}
}

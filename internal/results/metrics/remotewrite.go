package metrics

import (
	"cmp"
	"math"
	"slices"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// Field numbers of the messages of Prometheus' remote write protocol, version 1: WriteRequest in
// prompb/remote.proto, and TimeSeries, Label, Sample, Histogram and BucketSpan in
// prompb/types.proto of github.com/prometheus/prometheus.
const (
	requestSeries    = 1
	seriesLabels     = 1
	seriesSamples    = 2
	seriesHistograms = 4
	labelName        = 1
	labelValue       = 2
	sampleValue      = 1
	sampleTime       = 2

	histogramCount     = 1  // count_int
	histogramSum       = 3  // double
	histogramSchema    = 4  // sint32
	histogramThreshold = 5  // zero_threshold, double
	histogramZeros     = 6  // zero_count_int
	histogramSpans     = 11 // positive_spans
	histogramDeltas    = 12 // positive_deltas, packed sint64
	histogramTime      = 15
	spanOffset         = 1 // sint32
	spanLength         = 2 // uint32
)

// pair is a label of a series.
type pair struct{ name, value string }

// staleMarker is the value of a sample that ends a series: StaleNaN in model/value/value.go of
// github.com/prometheus/prometheus. Without it, Prometheus would repeat the last value of a series
// for five minutes.
var staleMarker = math.Float64frombits(0x7ff0000000000002)

// encodeWrite returns a WriteRequest with one sample of each counter, gauge and native histogram.
// It omits other metrics. All samples have the time `ms` in milliseconds. An external label is
// added to each series that does not already have a label of this name. encodeWrite ends each
// series in `previous` that no longer exists. It also returns the series that exist now, identified
// by their encoded labels.
func encodeWrite(families []*dto.MetricFamily, external []pair, previous map[string]bool, ms int64) (request []byte, current map[string]bool) {
	var series, part, spans []byte
	current = map[string]bool{}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			series = series[:0]
			for _, l := range labelsOf(f.GetName(), m, external) {
				part = appendText(part[:0], labelName, l.name)
				part = appendText(part, labelValue, l.value)
				series = appendMessage(series, seriesLabels, part)
			}
			labels := len(series)
			switch {
			case m.GetCounter() != nil:
				series = appendMessage(series, seriesSamples, appendSample(part[:0], m.GetCounter().GetValue(), ms))
			case m.GetGauge() != nil:
				series = appendMessage(series, seriesSamples, appendSample(part[:0], m.GetGauge().GetValue(), ms))
			case m.GetHistogram() != nil:
				part, spans = appendHistogram(part[:0], spans, m.GetHistogram(), ms)
				series = appendMessage(series, seriesHistograms, part)
			default:
				continue
			}
			current[string(series[:labels])] = true
			request = appendMessage(request, requestSeries, series)
		}
	}
	for labels := range previous {
		if !current[labels] {
			series = appendMessage(append(series[:0], labels...), seriesSamples, appendSample(part[:0], staleMarker, ms))
			request = appendMessage(request, requestSeries, series)
		}
	}
	return request, current
}

// labelsOf returns the labels of a series, sorted by name as the protocol requires. It omits labels
// with empty values, because an empty value means that the series does not have the label.
func labelsOf(name string, m *dto.Metric, external []pair) []pair {
	all := []pair{{"__name__", name}}
	for _, l := range m.GetLabel() {
		all = append(all, pair{l.GetName(), l.GetValue()})
	}
	for _, l := range external {
		if !slices.ContainsFunc(all, func(o pair) bool { return o.name == l.name }) {
			all = append(all, l)
		}
	}
	all = slices.DeleteFunc(all, func(l pair) bool { return l.value == "" })
	slices.SortFunc(all, func(a, b pair) int { return cmp.Compare(a.name, b.name) })
	return all
}

func appendSample(b []byte, value float64, ms int64) []byte {
	b = appendDouble(b, sampleValue, value)
	return appendNumber(b, sampleTime, uint64(ms)) // #nosec G115 -- int64 is encoded as its bits
}

// appendHistogram appends a native histogram without negative buckets. It uses the memory of
// `spans`, and returns that memory for the next call.
func appendHistogram(b, spans []byte, h *dto.Histogram, ms int64) (message, reusable []byte) {
	b = appendNumber(b, histogramCount, h.GetSampleCount())
	b = appendDouble(b, histogramSum, h.GetSampleSum())
	b = appendNumber(b, histogramSchema, protowire.EncodeZigZag(int64(h.GetSchema())))
	b = appendDouble(b, histogramThreshold, h.GetZeroThreshold())
	b = appendNumber(b, histogramZeros, h.GetZeroCount())
	for _, s := range h.GetPositiveSpan() {
		spans = appendNumber(spans[:0], spanOffset, protowire.EncodeZigZag(int64(s.GetOffset())))
		spans = appendNumber(spans, spanLength, uint64(s.GetLength()))
		b = appendMessage(b, histogramSpans, spans)
	}
	spans = spans[:0]
	for _, d := range h.GetPositiveDelta() {
		spans = protowire.AppendVarint(spans, protowire.EncodeZigZag(d))
	}
	if len(spans) > 0 {
		b = appendMessage(b, histogramDeltas, spans)
	}
	return appendNumber(b, histogramTime, uint64(ms)), spans // #nosec G115 -- int64 is encoded as its bits
}

func appendMessage(b []byte, field protowire.Number, message []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), message)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

func appendNumber(b []byte, field protowire.Number, n uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), n)
}

func appendDouble(b []byte, field protowire.Number, x float64) []byte {
	return protowire.AppendFixed64(protowire.AppendTag(b, field, protowire.Fixed64Type), math.Float64bits(x))
}

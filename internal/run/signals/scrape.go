package signals

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/text"
)

const (
	// maxScrape limits the size in bytes of the text that contains a member's metrics.
	maxScrape = 32 << 20
	// maxMetricBytes limits the total size in bytes of the lines that are parsed. A parsed series
	// takes many times as much memory as its line.
	maxMetricBytes = 1 << 20
	// maxLineBytes limits the size of a line in bytes.
	maxLineBytes = 64 << 10
)

// Scraper reads the metrics of one member. It is not safe for concurrent use.
type Scraper struct {
	endpoint    string
	sources     []store.MetricSource
	sourceIndex int // index of the source that has responded, or -1 if no source has responded
	access      store.Access
	client      *http.Client
}

// NewScraper returns a scraper for the member at an endpoint; ok is false if members of this store
// report no metrics.
func NewScraper(st store.Store, a store.Access, endpoint string) (s *Scraper, ok bool) {
	s = &Scraper{endpoint: endpoint, sources: st.Metrics(a, endpoint), sourceIndex: -1, access: a}
	if len(s.sources) == 0 {
		return nil, false
	}
	s.client = httpkv.Client(a)
	return s, true
}

// Close closes the connection, if one is open.
func (s *Scraper) Close() { s.client.CloseIdleConnections() }

// Read returns the member's current metrics. The error is a complete sentence.
func (s *Scraper) Read(ctx context.Context) (store.Sample, error) {
	if s.sourceIndex >= 0 {
		return s.read(ctx, s.sources[s.sourceIndex])
	}
	var failed []error
	for i, source := range s.sources {
		sample, err := s.read(ctx, source)
		if err == nil {
			s.sourceIndex = i
			return sample, nil
		}
		failed = append(failed, err)
	}
	return nil, errors.Join(failed...)
}

func (s *Scraper) read(ctx context.Context, source store.MetricSource) (store.Sample, error) {
	if source.URL != "" {
		return s.get(ctx, source)
	}
	text, err := s.ask(ctx, source.Command)
	if err != nil {
		return nil, fmt.Errorf("%s does not respond to the command %s: %s", s.endpoint, source.Command, errorText(ctx, err))
	}
	sample := selectMetrics(parseLines(text), source.Names)
	if len(sample) == 0 {
		if remedy := remedyOf(source, text); remedy != "" {
			return nil, fmt.Errorf("%s rejects the command %s: %s", s.endpoint, source.Command, remedy)
		}
		return nil, fmt.Errorf("the response of %s to the command %s contains no known metric", s.endpoint, source.Command)
	}
	return sample, nil
}

// get reads metrics in Prometheus's text format over HTTP.
func (s *Scraper) get(ctx context.Context, source store.MetricSource) (store.Sample, error) {
	fail := func(err error) (store.Sample, error) {
		return nil, fmt.Errorf("cannot read metrics from %s: %s", source.URL, errorText(ctx, err))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source.URL, nil)
	if err != nil {
		return fail(err)
	}
	for name, value := range source.Header {
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request.WithContext(httpkv.WithResponseLimit(ctx, maxScrape)))
	switch remedy := remedyOf(source, ""); {
	case err != nil && (remedy == "" || ctx.Err() != nil || store.IsConnectionRefused(err)):
		return fail(err)
	case err != nil: // the server uses another protocol
		return fail(fmt.Errorf("%s; %s", errorText(ctx, err), remedy))
	}
	defer func() { _ = response.Body.Close() }() // everything we need has been read
	if response.StatusCode != http.StatusOK {
		return fail(refusalError(source, response))
	}
	found, err := parsePrometheus(&metricLines{reader: bufio.NewReaderSize(response.Body, maxLineBytes), names: namesIn(source.Names), remainingBytes: maxMetricBytes})
	if err != nil {
		return fail(err)
	}
	sample := selectMetrics(found, source.Names)
	if len(sample) == 0 {
		if remedy := remedyOf(source, ""); remedy != "" {
			return nil, fmt.Errorf("%s contains no known metric; %s", source.URL, remedy)
		}
		return nil, fmt.Errorf("%s contains no known metric", source.URL)
	}
	return sample, nil
}

// refusalError returns an error that contains the member's response and explains how to permit the
// request.
func refusalError(source store.MetricSource, response *http.Response) error {
	words := fmt.Sprintf("HTTP status %d", response.StatusCode)
	body, _ := io.ReadAll(io.LimitReader(response.Body, text.MaxServerText)) // an error is ignored because the status is enough
	if said := strings.TrimSpace(string(body)); said != "" {
		words += " (" + said + ")"
	}
	words = text.Line(words, text.MaxServerText)
	if remedy := remedyOf(source, words); remedy != "" {
		words += "; " + remedy
	}
	return errors.New(words)
}

// remedyOf returns an instruction for an operator about how to permit the request, if the member
// rejected it with a known text. Otherwise it returns "".
func remedyOf(source store.MetricSource, text string) string {
	for _, r := range source.Refusals {
		if strings.Contains(text, r.Text) {
			return r.Remedy
		}
	}
	return ""
}

// ask sends a command to the member's client port. It reads the response until the member closes
// the connection.
func (s *Scraper) ask(ctx context.Context, command string) (string, error) {
	conn, err := s.access.ConnectSecure(ctx, s.endpoint)
	if err != nil {
		return "", err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	if _, err := io.WriteString(conn, command); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(conn, maxMetricBytes))
	if len(text) > 0 {
		err = nil // some servers reset the connection instead of closing it
	}
	return string(text), err
}

// MeasureConnect measures one network round trip: the time in which the member's kernel accepts a
// TCP connection, without involving the member's program. If secure is not nil, MeasureConnect also
// completes the TLS handshake, because servers log connections that end without a handshake. The
// handshake is not part of the measured time.
func MeasureConnect(ctx context.Context, endpoint string, secure *tls.Config) (time.Duration, error) {
	began := measure.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("cannot open a TCP connection to %s: %s", endpoint, errorText(ctx, err))
	}
	defer func() { _ = conn.Close() }()
	if secure == nil {
		return took, nil
	}
	secure = secure.Clone()
	if secure.ServerName == "" {
		secure.ServerName, _, _ = net.SplitHostPort(endpoint)
	}
	session := tls.Client(conn, secure)
	_ = session.HandshakeContext(ctx) // the result does not matter
	_ = session.Close()
	return took, nil
}

// errorText returns the text of an error in a form for users.
func errorText(ctx context.Context, err error) string {
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return "the request was canceled"
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return "no response within the time limit"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// metricLines reads only those lines of a Prometheus text that belong to the given metrics. A
// server may report any number of other metrics.
type metricLines struct {
	reader         *bufio.Reader
	names          [][]byte
	remainingBytes int    // number of bytes that may still be returned
	line           []byte // the rest of the current line; refers to the reader's buffer
}

// namesIn returns the names with which the lines of the given metrics begin.
func namesIn(metrics []store.MetricName) (names [][]byte) {
	for _, m := range metrics {
		for _, name := range []string{m.Name, m.Sum, m.Count} {
			if name != "" {
				names = append(names, []byte(name))
			}
		}
	}
	return names
}

// Read implements io.Reader.
func (w *metricLines) Read(p []byte) (int, error) {
	for len(w.line) == 0 {
		line, err := w.reader.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("a line is longer than %d bytes", maxLineBytes)
		case len(line) == 0 && err != nil:
			return 0, err // the text has ended, or reading failed
		case !w.isRequested(line):
			continue
		}
		if w.remainingBytes -= len(line); w.remainingBytes < 0 {
			return 0, fmt.Errorf("the lines with the wanted metrics exceed %d bytes", maxMetricBytes)
		}
		w.line = line
	}
	n := copy(p, w.line)
	w.line = w.line[n:]
	return n, nil
}

// isRequested reports whether a line is a sample of one of the given metrics or declares the type
// of such a metric.
func (w *metricLines) isRequested(line []byte) bool {
	if rest, ok := bytes.CutPrefix(line, []byte("# TYPE ")); ok {
		line = rest
	}
	for _, name := range w.names {
		if bytes.HasPrefix(line, name) {
			return true
		}
	}
	return false
}

// metricValues contains the values in a text by metric name. If several series differ only in their
// labels, their values are added up.
type metricValues map[string]store.Reading

func (f metricValues) add(name string, r store.Reading) { f[name] = f[name].Plus(r) }

// parsePrometheus parses Prometheus's text format. It also stores the sum and the count of each
// histogram and summary under separate names. It treats untyped values as gauges.
func parsePrometheus(r io.Reader) (metricValues, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(r)
	if err != nil {
		return nil, err
	}
	f := metricValues{}
	for name, family := range families {
		for _, m := range family.GetMetric() {
			f.family(name, m)
		}
	}
	return f, nil
}

func (f metricValues) family(name string, m *dto.Metric) {
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

func (f metricValues) timer(name string, r store.Reading) {
	f.add(name, r)
	f.add(name+"_sum", store.Reading{Value: r.Sum})
	f.add(name+"_count", store.Reading{Value: r.Count})
}

// parseLines parses lines that consist of a name, optional {LABELS}, white space and a number. It
// skips all other lines, because responses also contain other text.
func parseLines(text string) metricValues {
	f := metricValues{}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		at := strings.LastIndexAny(line, " \t")
		if at < 0 {
			continue
		}
		name := strings.TrimSpace(line[:at])
		v, err := strconv.ParseFloat(line[at+1:], 64)
		if err != nil || v != v { // NaN
			continue
		}
		bare, labels, _ := strings.Cut(name, "{")
		if strings.Contains(labels, "quantile=") {
			continue // quantiles cannot be added or subtracted
		}
		f.add(bare, store.Reading{Value: v})
	}
	return f
}

// selectMetrics selects the metrics with the given names from the values of a source. If several
// names belong to the same metric, selectMetrics adds up the values that exist.
func selectMetrics(f metricValues, names []store.MetricName) store.Sample {
	sample := store.Sample{}
	for _, n := range names {
		r, ok := findMetric(f, n)
		if !ok {
			continue
		}
		sample[n.Metric] = sample[n.Metric].Plus(r.Scaled(cmp.Or(n.Unit, 1)))
	}
	return sample
}

// findMetric returns the value of the metric n; ok is false if f does not contain it.
func findMetric(f metricValues, n store.MetricName) (store.Reading, bool) {
	if n.Name != "" {
		r, ok := f[n.Name]
		return r, ok
	}
	sum, ok := f[n.Sum]
	count, both := f[n.Count]
	return store.Reading{Sum: sum.Value, Count: count.Value}, ok && both
}

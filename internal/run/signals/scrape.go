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
	// maxScrape bounds the text of one member's metrics, in bytes.
	maxScrape = 32 << 20
	// maxWanted bounds the lines of it that are about metrics that are read: a
	// series is many times as large in memory as its line.
	maxWanted = 1 << 20
	// longestLine bounds one line.
	longestLine = 64 << 10
)

// Scraper reads one member's own metrics. It belongs to one goroutine.
type Scraper struct {
	endpoint string
	sources  []store.MetricSource
	chosen   int // the source that answered; -1: none has
	access   store.Access
	client   *http.Client
}

// NewScraper returns a scraper of the member at an endpoint; ok is false when
// the store's members report nothing.
func NewScraper(st store.Store, a store.Access, endpoint string) (s *Scraper, ok bool) {
	s = &Scraper{endpoint: endpoint, sources: st.Metrics(a, endpoint), chosen: -1, access: a}
	if len(s.sources) == 0 {
		return nil, false
	}
	s.client = httpkv.Client(a)
	return s, true
}

// Close ends the connection, if one is open.
func (s *Scraper) Close() { s.client.CloseIdleConnections() }

// Read reads the metrics as they are now. Its error is a sentence.
func (s *Scraper) Read(ctx context.Context) (store.Sample, error) {
	if s.chosen >= 0 {
		return s.read(ctx, s.sources[s.chosen])
	}
	var failed []error
	for i, source := range s.sources {
		sample, err := s.read(ctx, source)
		if err == nil {
			s.chosen = i
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
		return nil, fmt.Errorf("%s does not answer %s: %s", s.endpoint, source.Command, why(ctx, err))
	}
	sample := pick(parseLines(text), source.Names)
	if len(sample) == 0 {
		if remedy := remedyOf(source, text); remedy != "" {
			return nil, fmt.Errorf("%s refuses %s: %s", s.endpoint, source.Command, remedy)
		}
		return nil, fmt.Errorf("%s answers %s with no metric that is known", s.endpoint, source.Command)
	}
	return sample, nil
}

// get reads Prometheus's text format.
func (s *Scraper) get(ctx context.Context, source store.MetricSource) (store.Sample, error) {
	fail := func(err error) (store.Sample, error) {
		return nil, fmt.Errorf("%s does not tell its metrics: %s", source.URL, why(ctx, err))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, source.URL, nil)
	if err != nil {
		return fail(err)
	}
	for name, value := range source.Header {
		request.Header.Set(name, value)
	}
	response, err := s.client.Do(request.WithContext(httpkv.Allow(ctx, maxScrape)))
	switch remedy := remedyOf(source, ""); {
	case err != nil && (remedy == "" || ctx.Err() != nil || store.Refused(err)):
		return fail(err)
	case err != nil: // what answers speaks something else
		return fail(fmt.Errorf("%s; %s", why(ctx, err), remedy))
	}
	defer func() { _ = response.Body.Close() }() // what counts was read
	if response.StatusCode != http.StatusOK {
		return fail(refused(source, response))
	}
	found, err := parsePrometheus(&wantedLines{from: bufio.NewReaderSize(response.Body, longestLine), names: namesIn(source.Names), left: maxWanted})
	if err != nil {
		return fail(err)
	}
	sample := pick(found, source.Names)
	if len(sample) == 0 {
		if remedy := remedyOf(source, ""); remedy != "" {
			return nil, fmt.Errorf("%s tells no metric that is known; %s", source.URL, remedy)
		}
		return nil, fmt.Errorf("%s tells no metric that is known", source.URL)
	}
	return sample, nil
}

// refused returns what a member says instead of its metrics, and how it is allowed.
func refused(source store.MetricSource, response *http.Response) error {
	words := fmt.Sprintf("HTTP status %d", response.StatusCode)
	body, _ := io.ReadAll(io.LimitReader(response.Body, text.OfServer)) // the status alone will do
	if said := strings.TrimSpace(string(body)); said != "" {
		words += " (" + said + ")"
	}
	words = text.Line(words, text.OfServer)
	if remedy := remedyOf(source, words); remedy != "" {
		words += "; " + remedy
	}
	return errors.New(words)
}

// remedyOf returns how an operator allows what a member refused with a text.
func remedyOf(source store.MetricSource, text string) string {
	for _, r := range source.Refusals {
		if strings.Contains(text, r.Text) {
			return r.Remedy
		}
	}
	return ""
}

// ask sends a command to the member's client port and reads to the end.
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
	text, err := io.ReadAll(io.LimitReader(conn, maxWanted))
	if len(text) > 0 {
		err = nil // some servers reset instead of closing
	}
	return string(text), err
}

// Connect measures one round trip on the network: how long the member's system
// takes to accept a TCP connection, which its program has no part in. With TLS
// the connection is shaken hands on before it ends, outside the time, because
// servers log those that are not.
func Connect(ctx context.Context, endpoint string, secure *tls.Config) (time.Duration, error) {
	began := measure.Now()
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	took := time.Since(began)
	if err != nil {
		return 0, fmt.Errorf("no TCP connection to %s: %s", endpoint, why(ctx, err))
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
	_ = session.HandshakeContext(ctx) // what it comes to is others' business
	_ = session.Close()
	return took, nil
}

// why is what an error says to a user.
func why(ctx context.Context, err error) string {
	var op *net.OpError
	switch {
	case errors.Is(context.Cause(ctx), context.Canceled):
		return "it was cancelled"
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil:
		return "no answer in the time given"
	case errors.As(err, &op):
		return op.Err.Error()
	}
	return err.Error()
}

// wantedLines are the lines of a text in Prometheus's format that are about the
// named metrics: a server has many others, and can have any number of them.
type wantedLines struct {
	from  *bufio.Reader
	names [][]byte
	left  int    // bytes that may yet be handed on
	line  []byte // what of a line is not handed on yet; in the reader's buffer
}

// namesIn are the names of metrics as lines begin with them.
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
func (w *wantedLines) Read(p []byte) (int, error) {
	for len(w.line) == 0 {
		line, err := w.from.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			return 0, fmt.Errorf("a line is longer than %d bytes", longestLine)
		case len(line) == 0 && err != nil:
			return 0, err // the end, or why there is no more
		case !w.wants(line):
			continue
		}
		if w.left -= len(line); w.left < 0 {
			return 0, fmt.Errorf("the lines of the metrics that are read are longer than %d bytes", maxWanted)
		}
		w.line = line
	}
	n := copy(p, w.line)
	w.line = w.line[n:]
	return n, nil
}

// wants reports whether a line is a sample of a named metric, or says its type.
func (w *wantedLines) wants(line []byte) bool {
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
		line = strings.TrimSpace(line)
		at := strings.LastIndexAny(line, " \t")
		if at < 0 {
			continue
		}
		name := strings.TrimSpace(line[:at])
		v, err := strconv.ParseFloat(line[at+1:], 64)
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

// pick takes the shared metrics out of what a source reported. Of a metric with
// several names, what is there is added up.
func pick(f found, names []store.MetricName) store.Sample {
	sample := store.Sample{}
	for _, n := range names {
		r, ok := named(f, n)
		if !ok {
			continue
		}
		sample[n.Metric] = sample[n.Metric].Plus(r.Scaled(cmp.Or(n.Unit, 1)))
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

package probe

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/asking"
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
	tls      *tls.Config
	client   *http.Client
}

// NewScraper returns a scraper of the member at an endpoint; ok is false when
// the store's members report nothing.
func NewScraper(st store.Store, a store.Access, endpoint string) (s *Scraper, ok bool) {
	metered, ok := st.(store.Metered)
	if !ok {
		return nil, false
	}
	s = &Scraper{endpoint: endpoint, sources: metered.Metrics(a, endpoint), chosen: -1, tls: a.TLS}
	if len(s.sources) == 0 {
		return nil, false
	}
	s.client = asking.Client(a.TLS)
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
	response, err := s.client.Do(request.WithContext(asking.Allow(ctx, maxScrape)))
	if err != nil {
		return fail(err)
	}
	defer func() { _ = response.Body.Close() }() // what counts was read
	if response.StatusCode != http.StatusOK {
		return fail(fmt.Errorf("HTTP status %d", response.StatusCode))
	}
	found, err := parsePrometheus(&wantedLines{from: bufio.NewReaderSize(response.Body, longestLine), names: namesIn(source.Names), left: maxWanted})
	if err != nil {
		return fail(err)
	}
	sample := pick(found, source.Names)
	if len(sample) == 0 {
		return nil, fmt.Errorf("%s tells no metric that is known", source.URL)
	}
	return sample, nil
}

// ask sends a command to the member's client port and reads to the end.
func (s *Scraper) ask(ctx context.Context, command string) (string, error) {
	conn, err := dial(ctx, s.endpoint, s.tls)
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

func dial(ctx context.Context, endpoint string, secure *tls.Config) (net.Conn, error) {
	if secure == nil {
		return new(net.Dialer).DialContext(ctx, "tcp", endpoint)
	}
	return (&tls.Dialer{Config: secure}).DialContext(ctx, "tcp", endpoint)
}

// Connect measures one round trip on the network: how long the member's system
// takes to accept a TCP connection, which its program has no part in. With TLS
// the connection is shaken hands on before it ends, outside the time, because
// servers log those that are not.
func Connect(ctx context.Context, endpoint string, secure *tls.Config) (time.Duration, error) {
	began := time.Now()
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

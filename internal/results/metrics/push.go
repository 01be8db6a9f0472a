package metrics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"time"

	"github.com/klauspost/compress/s2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/quorumbench/quorumbench/internal/text"
)

// Intervals and limits of pushes.
const (
	pushInterval = 5 * time.Second
	pushTimeout  = 4 * time.Second // below pushInterval, so that a slow server delays no later push
	maxReply     = 512             // bytes of an error reply that are read
)

// Pusher sends metrics with Prometheus' remote write protocol, version 1
// (https://prometheus.io/docs/specs/prw/remote_write_spec/), every five seconds and once at the
// end. It never repeats a failed push, because the next push contains newer values of the same
// series.
type Pusher struct {
	destination           *Destination
	user, password, token string
	gatherer              prometheus.Gatherer
	externalLabels        []pair
	now                   func() time.Time
	client                *http.Client
	stop                  context.CancelFunc
	done                  chan struct{}

	// Until the goroutine of the pusher has ended, no other goroutine uses these fields.
	pushes, failed int
	lastError      error // reason of the last failed push
	latestPush     int64 // time of the latest push in milliseconds
	// series contains the series that the server may have, by their encoded labels.
	series map[string]bool
}

// StartPushing starts to push metrics. Each series receives the labels `job` and `instance`, which
// Prometheus adds when it scrapes, and the label `run`, which distinguishes the series of different
// runs. getenv returns the environment variables with the credentials.
func StartPushing(destination *Destination, source prometheus.Gatherer, run, instance string, getenv func(string) string, now func() time.Time) (*Pusher, error) {
	p, err := newPusher(destination, source, run, instance, getenv, now)
	if err != nil {
		return nil, err
	}
	p.start()
	return p, nil
}

// start starts the goroutine that pushes every five seconds.
func (p *Pusher) start() {
	ctx, stop := context.WithCancel(context.Background())
	p.stop = stop
	go p.run(ctx)
}

// newPusher returns a pusher without a goroutine, which pushes only in its methods push and Close.
func newPusher(destination *Destination, source prometheus.Gatherer, run, instance string, getenv func(string) string, now func() time.Time) (*Pusher, error) {
	p := &Pusher{destination: destination, gatherer: source, now: now, stop: func() {}, done: make(chan struct{}), series: map[string]bool{}}
	var err error
	if p.user, p.password, p.token, err = destination.credentials(getenv); err != nil {
		return nil, err
	}
	p.externalLabels = []pair{{"job", "quorumbench"}, {"instance", label(instance)}, {"run", label(run)}}
	p.client = &http.Client{
		Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, MaxIdleConns: 1, MaxResponseHeaderBytes: 64 << 10},
		// No redirect is followed, so that credentials and metrics reach only the given server.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return p, nil
}

// run pushes until ctx is canceled.
func (p *Pusher) run(ctx context.Context) {
	defer close(p.done)
	ticks := time.NewTicker(pushInterval)
	defer ticks.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
			p.push(ctx)
		}
	}
}

// push sends the current values once. If ctx is canceled, the push is not counted.
func (p *Pusher) push(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, pushTimeout)
	defer cancel()
	err := p.send(limited)
	if ctx.Err() != nil {
		return
	}
	p.pushes++
	if err != nil {
		p.failed, p.lastError = p.failed+1, err
	}
}

func (p *Pusher) send(ctx context.Context) error {
	families, err := p.gatherer.Gather()
	if err != nil {
		return err
	}
	// Samples of a series must have increasing times, even if the system clock is set back.
	p.latestPush = max(p.now().UnixMilli(), p.latestPush+1)
	request, current := encodeWrite(families, p.externalLabels, p.series, p.latestPush)
	if err := p.post(ctx, s2.EncodeSnappy(nil, request)); err != nil {
		maps.Copy(p.series, current) // the server may have received the request
		return err
	}
	p.series = current
	return nil
}

// post sends a compressed request.
func (p *Pusher) post(ctx context.Context, body []byte) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.destination.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	r.Header.Set("Content-Encoding", "snappy")
	r.Header.Set("X-Prometheus-Remote-Write-Version", "0.1.0")
	r.Header.Set("User-Agent", "quorumbench")
	switch {
	case p.user != "":
		r.SetBasicAuth(p.user, p.password)
	case p.token != "":
		r.Header.Set("Authorization", "Bearer "+p.token)
	}
	reply, err := p.client.Do(r)
	if err != nil {
		return reason(err)
	}
	defer func() { _ = reply.Body.Close() }()
	words, _ := io.ReadAll(io.LimitReader(reply.Body, maxReply)) // after a complete read, the client can reuse the connection
	if reply.StatusCode/100 != 2 {
		if shown := text.Line(string(bytes.TrimSpace(words)), text.MaxServerText); shown != "" {
			return fmt.Errorf("HTTP status %d: %s", reply.StatusCode, shown)
		}
		return fmt.Errorf("HTTP status %d", reply.StatusCode)
	}
	return nil
}

// reason returns the cause of a failed request. It omits the URL, because the message about the
// failure already contains the URL.
func reason(err error) error {
	var failed *url.Error
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no reply within %v", pushTimeout)
	case errors.As(err, &failed):
		return failed.Err
	}
	return err
}

// Close pushes the last values and ends the pusher. It waits at most four seconds for the last
// push. If pushes failed, it returns one sentence about them, and otherwise an empty string.
func (p *Pusher) Close() (problem string) {
	p.stop()
	<-p.done
	p.push(context.Background())
	p.client.CloseIdleConnections()
	if p.failed == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %s to %s failed, most recently because of %q, so the series there have gaps; the run directory is complete",
		p.failed, text.CountNoun(uint64(p.pushes), "push", "pushes"), p.destination, text.Line(p.lastError.Error(), text.MaxServerText))
}

package metrics

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Limits of the server.
const (
	maxScrapes    = 4 // at the same time
	scrapeTimeout = 10 * time.Second
	closeTimeout  = time.Second // time in which a scrape must finish after the run has ended
)

// Server serves the metrics of a run to Prometheus until it is closed.
type Server struct {
	address string
	server  *http.Server
	done    chan struct{}
}

// Serve serves metrics to clients of a listener, at the path /metrics. Server.Close closes the
// listener. Serve negotiates the format: text, OpenMetrics, or protobuf, which native histograms
// need.
func Serve(l net.Listener, gatherer prometheus.Gatherer) *Server {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: maxScrapes}))
	s := &Server{address: l.Addr().String(), done: make(chan struct{}), server: &http.Server{
		Handler: mux, ReadHeaderTimeout: scrapeTimeout, ReadTimeout: scrapeTimeout, WriteTimeout: scrapeTimeout, IdleTimeout: time.Minute, MaxHeaderBytes: 64 << 10,
	}}
	go func() {
		defer close(s.done)
		_ = s.server.Serve(l) // returns only after Close, or if the listener fails; the run continues in both cases
	}()
	return s
}

// URL returns the URL of the metrics.
func (s *Server) URL() string { return "http://" + s.address + "/metrics" }

// Close ends the server. A scrape that is under way has one second to finish.
func (s *Server) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	if s.server.Shutdown(ctx) != nil {
		_ = s.server.Close()
	}
	<-s.done
}

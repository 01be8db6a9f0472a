package trial

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/results/record"
	"github.com/quorumbench/quorumbench/internal/run/signals"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Intervals at which each member is asked for its metrics. At most 1/scrapeShare of the time is
// spent waiting for a member's responses, so a member that responds slowly is asked less often. A
// member that has never responded is asked at the interval maxScrapeInterval, because it will
// probably never respond.
const (
	scrapeInterval    = time.Second
	scrapeShare       = 20
	maxScrapeInterval = 10 * time.Second
	// firstScrapeTimeout limits the time for which a load waits for the first responses.
	firstScrapeTimeout = time.Second
)

// metricsRecorder records the metrics that the members report during a load in stores.csv. It has
// one goroutine for each member. These goroutines have a lower priority than the generator's loops.
type metricsRecorder struct {
	members []*memberScraper
	quit    context.CancelFunc
	running sync.WaitGroup
}

// memberScraper is a member that is asked for metrics. It is not safe for concurrent use.
type memberScraper struct {
	member      store.Member
	worker      load.Worker
	access      store.Access
	out         *record.TrialWriter
	size        func(endpoint string) int64 // returns the database size in the member's last status; 0 if unknown
	scraper     *signals.Scraper            // nil if the store's members report no metrics
	connect     bool                        // whether to also time TCP connections to the member
	rowRequests chan struct{}               // receives a value when the window opens or closes
	// fastestResponse is the duration of the member's fastest response, or 0 before the first
	// response. It is an estimate of the time that the member needs for a response. Slower
	// responses are ignored, because the machine may be slow at the very times when samples matter
	// most.
	fastestResponse time.Duration
	last            record.StoreRow
	sizes           []sizeSample
}

// newMetricsRecorder returns a recorder for the members that report metrics and the members to
// which connections are timed.
func newMetricsRecorder(t *Trial, m *members, out *record.TrialWriter) *metricsRecorder {
	s := &metricsRecorder{quit: func() {}}
	for _, e := range m.scrapedMembers() {
		scraper := &memberScraper{
			member: e, worker: t.Worker, access: t.Cluster.Access(), out: out, size: m.size,
			// Only connections to members of a running cluster are timed. quorumbench already knows
			// the network of the members that it started. Connections that another host opens for
			// this process are not timed either.
			connect: t.Cluster.attached() && t.Cluster.Access().Dial == nil, rowRequests: make(chan struct{}, 1),
		}
		scraper.scraper, _ = signals.NewScraper(t.Cluster.Store, t.Cluster.Access(), e.Endpoint)
		if scraper.scraper != nil || scraper.connect {
			s.members = append(s.members, scraper)
		}
	}
	return s
}

// begin starts the goroutines that repeatedly ask the members for their metrics. They run until
// stop is called.
func (s *metricsRecorder) begin() {
	ctx, quit := context.WithCancel(context.Background())
	s.quit = quit
	for _, m := range s.members {
		s.running.Go(func() { m.run(ctx) })
	}
}

func (s *metricsRecorder) stop() {
	s.quit()
	s.running.Wait()
}

// close closes the connections.
func (s *metricsRecorder) close() {
	for _, m := range s.members {
		if m.scraper != nil {
			m.scraper.Close()
		}
	}
}

// scrapeAll asks all members concurrently, and records a row for each member.
func (s *metricsRecorder) scrapeAll(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var wg sync.WaitGroup
	for _, m := range s.members {
		wg.Go(func() { m.row(ctx) })
	}
	wg.Wait()
}

// edge requests a row from each member immediately. The load's loops call edge.
func (s *metricsRecorder) edge() {
	for _, m := range s.members {
		select {
		case m.rowRequests <- struct{}{}:
		default: // a row is already requested
		}
	}
}

func (m *memberScraper) run(ctx context.Context) {
	load.YieldTo(m.worker)
	timer := time.NewTimer(scrapeInterval)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.rowRequests:
			if m.scraper != nil && m.fastestResponse == 0 {
				continue
			}
		case <-timer.C:
		}
		began := measure.Now()
		asked, cancel := context.WithTimeout(ctx, statusTimeout)
		m.row(asked)
		cancel()
		timer.Reset(m.pause(time.Since(began)))
	}
}

// pause returns the time to wait before the next row. The parameter took is the time that was
// needed for the last row.
func (m *memberScraper) pause(took time.Duration) time.Duration {
	if m.scraper != nil && m.fastestResponse == 0 {
		return maxScrapeInterval
	}
	return max(scrapeInterval-took, (scrapeShare-1)*m.fastestResponse)
}

// row asks the member for its metrics, and records the response or the error.
func (m *memberScraper) row(ctx context.Context) {
	r := record.StoreRow{Name: cmp.Or(m.member.Name, m.member.Endpoint), Endpoint: m.member.Endpoint}
	if m.connect {
		took, err := signals.MeasureConnect(ctx, m.member.Endpoint, m.access.TLS)
		if r.ConnectTime = took; err != nil {
			r.ConnectFailure = err.Error()
		}
	}
	if m.scraper != nil {
		began := measure.Now()
		sample, err := m.scraper.Read(ctx)
		r.ResponseTime, r.Metrics = time.Since(began), sample
		if err != nil {
			r.Failure = err.Error()
		}
		if err == nil && (m.fastestResponse == 0 || r.ResponseTime < m.fastestResponse) {
			m.fastestResponse = r.ResponseTime
		}
	}
	if context.Cause(ctx) == context.Canceled {
		return // the request was canceled, so its error is not a failure
	}
	if size := m.size(m.member.Endpoint); size > 0 { // the size may be known even if the metrics are not
		if r.Metrics == nil {
			r.Metrics = store.Sample{}
		}
		if _, ok := r.Metrics[store.DatabaseBytes]; !ok {
			r.Metrics[store.DatabaseBytes] = store.Reading{Value: float64(size)}
		}
	}
	r.Time, m.last = measure.Now(), r
	if size, ok := r.Metrics[store.DatabaseBytes]; ok {
		m.sizes = append(m.sizes, sizeSample{r.Time, size.Value})
	}
	_ = m.out.Store(&r) // the writer remembers an error
}

// UnreadError reports that the memory usage of the first member is not available.
type UnreadError struct{ Reason string }

// Error returns a sentence.
func (e *UnreadError) Error() string { return e.Reason }

// scrapeBeforeLoad asks all members for their metrics before a load. It returns an error if the
// load measures memory but the memory usage of the first member is not available.
func (t *Trial) scrapeBeforeLoad(s *metricsRecorder) error {
	if !t.Spec.Load.RequireMemory {
		s.scrapeAll(firstScrapeTimeout)
		return nil
	}
	s.scrapeAll(statusTimeout)
	first := s.first(t.Cluster.Access().Endpoints)
	switch {
	case first == nil || first.scraper == nil:
		return &UnreadError{fmt.Sprintf("the members of %s report no metrics", t.Cluster.Store.Name())}
	case first.last.Failure != "":
		return &UnreadError{first.last.Failure}
	case first.last.Metrics[store.ResidentBytes].Value <= 0:
		return &UnreadError{fmt.Sprintf("the metrics of %s do not include memory usage", first.member.Endpoint)}
	}
	return nil
}

// first returns the member at the first given endpoint. If no member has this endpoint, first
// returns the first member, or nil if there are no members.
func (s *metricsRecorder) first(given []string) *memberScraper {
	for _, m := range s.members {
		if m.member.Endpoint == given[0] {
			return m
		}
	}
	if len(s.members) == 0 {
		return nil
	}
	return s.members[0]
}

// sizeSample is the size of a member's database at one point in time.
type sizeSample struct {
	at    time.Time
	bytes float64
}

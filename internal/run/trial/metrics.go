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

// How often each member is asked for its metrics. Waiting for answers takes at most one
// scrapeShare-th of the time, so members with long answers are asked less often. So is one
// that never answered, because it probably never will.
const (
	scrapeEvery  = time.Second
	scrapeShare  = 20
	scrapeSeldom = 10 * time.Second
	// scrapeFirst bounds how long a load waits for the first answers.
	scrapeFirst = time.Second
)

// scrapes reads the members' own metrics during a load into stores.csv. Each member has a
// goroutine that gives way to the generator's loops.
type scrapes struct {
	members []*scraped
	quit    context.CancelFunc
	running sync.WaitGroup
}

// scraped is one scraped member. Only one goroutine at a time uses it.
type scraped struct {
	member  store.Member
	worker  load.Worker
	access  store.Access
	out     *record.TrialWriter
	size    func(endpoint string) int64 // database size in its last status; 0: unknown
	scraper *signals.Scraper            // nil: the store's members report no metrics
	connect bool                        // also time TCP connections to it
	edges   chan struct{}               // the window opened or closed
	// quickest is the time of its quickest answer, which estimates what an answer costs the
	// member; 0 until there was one. A slow answer may be the machine's fault, and then the
	// next sample matters.
	quickest time.Duration
	last     record.StoreRow
	sizes    []sized
}

// newScrapes returns the scrapes of all members that can be scraped or connected to.
func newScrapes(t *Trial, m *members, out *record.TrialWriter) *scrapes {
	s := &scrapes{quit: func() {}}
	for _, e := range m.scraped() {
		one := &scraped{
			member: e, worker: t.Worker, access: t.Cluster.Access(), out: out, size: m.size,
			// Only connections to members of a running cluster are timed: the network to those
			// that quorumbench started is known. Connections that another host makes for us
			// are not timed either.
			connect: t.Cluster.attached() && t.Cluster.Access().Dial == nil, edges: make(chan struct{}, 1),
		}
		one.scraper, _ = signals.NewScraper(t.Cluster.Store, t.Cluster.Access(), e.Endpoint)
		if one.scraper != nil || one.connect {
			s.members = append(s.members, one)
		}
	}
	return s
}

// begin asks every member repeatedly until stop.
func (s *scrapes) begin() {
	ctx, quit := context.WithCancel(context.Background())
	s.quit = quit
	for _, m := range s.members {
		s.running.Go(func() { m.run(ctx) })
	}
}

func (s *scrapes) stop() {
	s.quit()
	s.running.Wait()
}

// close closes the connections.
func (s *scrapes) close() {
	for _, m := range s.members {
		if m.scraper != nil {
			m.scraper.Close()
		}
	}
}

// all asks all members at once and records a row for each.
func (s *scrapes) all(within time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), within)
	defer cancel()
	var wg sync.WaitGroup
	for _, m := range s.members {
		wg.Go(func() { m.row(ctx) })
	}
	wg.Wait()
}

// edge requests a row now. The load's loops call it.
func (s *scrapes) edge() {
	for _, m := range s.members {
		select {
		case m.edges <- struct{}{}:
		default: // one is already requested
		}
	}
}

func (m *scraped) run(ctx context.Context) {
	load.GiveWay(m.worker)
	timer := time.NewTimer(scrapeEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-m.edges:
			if m.scraper != nil && m.quickest == 0 {
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

// pause returns the time from a row that took the given time to the next one.
func (m *scraped) pause(took time.Duration) time.Duration {
	if m.scraper != nil && m.quickest == 0 {
		return scrapeSeldom
	}
	return max(scrapeEvery-took, (scrapeShare-1)*m.quickest)
}

// row asks the member and records its answer or its failure.
func (m *scraped) row(ctx context.Context) {
	r := record.StoreRow{Name: cmp.Or(m.member.Name, m.member.Endpoint), Endpoint: m.member.Endpoint}
	if m.connect {
		took, err := signals.Connect(ctx, m.member.Endpoint, m.access.TLS)
		if r.Connect = took; err != nil {
			r.ConnectFailure = err.Error()
		}
	}
	if m.scraper != nil {
		began := measure.Now()
		sample, err := m.scraper.Read(ctx)
		r.Answer, r.Metrics = time.Since(began), sample
		if err != nil {
			r.Failure = err.Error()
		}
		if err == nil && (m.quickest == 0 || r.Answer < m.quickest) {
			m.quickest = r.Answer
		}
	}
	if context.Cause(ctx) == context.Canceled {
		return // an unanswered request was cut short and is no failure
	}
	if size := m.size(m.member.Endpoint); size > 0 { // known even if its metrics are not
		if r.Metrics == nil {
			r.Metrics = store.Sample{}
		}
		if _, ok := r.Metrics[store.DatabaseBytes]; !ok {
			r.Metrics[store.DatabaseBytes] = store.Reading{Value: float64(size)}
		}
	}
	r.Time, m.last = measure.Now(), r
	if size, ok := r.Metrics[store.DatabaseBytes]; ok {
		m.sizes = append(m.sizes, sized{r.Time, size.Value})
	}
	_ = m.out.Store(&r) // the writer keeps an error
}

// UnreadError reports that the first member does not report its memory usage.
type UnreadError struct{ Why string }

// Error returns a sentence.
func (e *UnreadError) Error() string { return e.Why }

// weigh asks all members before a load. If the load is about the members' memory, the first
// member must answer.
func (t *Trial) weigh(s *scrapes) error {
	if !t.Spec.Load.RequireMemory {
		s.all(scrapeFirst)
		return nil
	}
	s.all(statusTimeout)
	first := s.first(t.Cluster.Access().Endpoints)
	switch {
	case first == nil || first.scraper == nil:
		return &UnreadError{fmt.Sprintf("the members of %s report no metrics", t.Cluster.Store.Name())}
	case first.last.Failure != "":
		return &UnreadError{first.last.Failure}
	case first.last.Metrics[store.ResidentBytes].Value <= 0:
		return &UnreadError{fmt.Sprintf("%s does not report its memory among its metrics", first.member.Endpoint)}
	}
	return nil
}

// first returns the member at the first given endpoint, or else the first member; nil if
// there is none.
func (s *scrapes) first(given []string) *scraped {
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

// sized is the size of a member's database at a time.
type sized struct {
	at    time.Time
	bytes float64
}

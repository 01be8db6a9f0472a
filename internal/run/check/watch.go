package check

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/load"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/store"
)

// watchEvery is how often each member is asked during the window, unless its
// answers take long: they are to take at most the watchShare-th part of the time.
const (
	watchEvery = time.Second
	watchShare = 20
)

// idleConnects is how many TCP connections are tried before the load.
const idleConnects = 3

// watcher asks the members beside a load, each in a goroutine that gives way to
// the generator's loops.
type watcher struct {
	members []*watched
	cancel  context.CancelFunc
	running sync.WaitGroup
}

// watched is one member. It belongs to its goroutine until that has ended.
type watched struct {
	name, endpoint string
	access         store.Access
	scraper        *probe.Scraper // nil: the store's members tell nothing
	first, last    store.Sample
	figures        MemberFigures
	rounds         []float64
}

func newWatcher(r *reached) *watcher {
	w := &watcher{}
	for _, endpoint := range r.asked {
		m := &watched{name: r.name(endpoint), endpoint: endpoint, access: r.Access}
		m.figures.Name = m.name
		m.scraper, _ = probe.NewScraper(r.Store, r.Access, endpoint)
		if m.scraper == nil {
			m.figures.Unread = r.Store.Name() + " at " + endpoint + " tells no metrics"
		}
		w.members = append(w.members, m)
	}
	return w
}

// before reads every member once; the first window's figures are from here.
func (w *watcher) before(ctx context.Context) {
	var wg sync.WaitGroup
	for _, m := range w.members {
		wg.Go(func() {
			for range idleConnects {
				m.connect(ctx)
			}
			m.first = m.scrape(ctx)
			m.last = m.first
		})
	}
	wg.Wait()
}

// begin watches until end.
func (w *watcher) begin() {
	ctx, cancel := context.WithCancel(context.Background())
	w.cancel = cancel
	for _, m := range w.members {
		w.running.Go(func() { m.watch(ctx) })
	}
}

// end stops watching and reads every member a last time.
func (w *watcher) end(ctx context.Context) {
	w.cancel()
	w.running.Wait()
	var wg sync.WaitGroup
	for _, m := range w.members {
		wg.Go(func() {
			if s := m.scrape(ctx); s != nil {
				m.last = s
			}
			if m.scraper != nil {
				m.scraper.Close()
			}
		})
	}
	wg.Wait()
}

func (m *watched) watch(ctx context.Context) {
	load.Background()
	m.figures.Asked, m.figures.Unanswered, m.figures.Slowest = 0, 0, 0 // what was before is not of the window
	timer := time.NewTimer(watchEvery)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		began := time.Now()
		m.connect(ctx)
		if s := m.scrape(ctx); s != nil {
			m.last = s
		}
		timer.Reset(max(watchEvery, watchShare*time.Since(began)) - time.Since(began))
	}
}

// connect tries a TCP connection and keeps how long it took.
func (m *watched) connect(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	took, err := probe.Connect(limited, m.endpoint, m.access.TLS)
	if ctx.Err() != nil {
		return
	}
	m.figures.Connects++
	if err != nil {
		m.figures.Refused++
		return
	}
	m.rounds = append(m.rounds, took.Seconds())
}

// scrape reads the member's metrics; nil when it does not tell them now.
func (m *watched) scrape(ctx context.Context) store.Sample {
	if m.scraper == nil {
		return nil
	}
	limited, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	began := time.Now()
	s, err := m.scraper.Read(limited)
	if ctx.Err() != nil {
		return nil
	}
	m.figures.Asked++
	m.figures.Slowest = max(m.figures.Slowest, time.Since(began).Seconds())
	if err != nil {
		m.figures.Unanswered++
		m.figures.Unread = err.Error()
		return nil
	}
	return s
}

// done puts a member's figures together.
func (m *watched) done() MemberFigures {
	f := m.figures
	if m.first != nil && m.last != nil {
		f.Metrics, f.Unread = between(m.first, m.last), ""
	}
	if len(m.rounds) > 0 {
		sorted := slices.Sorted(slices.Values(m.rounds))
		f.Round = RoundTrip{Min: sorted[0], Median: sorted[len(sorted)/2], Max: sorted[len(sorted)-1]}
	}
	return f
}

// between is what happened between two samples; gauges are the later ones.
func between(first, last store.Sample) store.Sample {
	d := store.Sample{}
	for metric, r := range last {
		switch metric {
		case store.Processors, store.ResidentBytes, store.DatabaseBytes:
			d[metric] = r
		default:
			d[metric] = r.Since(first[metric])
		}
	}
	return d
}

// testerFigures is what the generator and its machine used in the window.
func testerFigures(res *load.Result, asked []*watched) TesterFigures {
	t := res.Measured
	f := TesterFigures{
		Loops: res.Loops, LoopCPU: float64(t.LoopCPU) / 1e9, RunDelay: float64(t.RunDelay) / 1e9,
		LongestPause: float64(t.LongestPause) / 1e9, MachineBusy: -1, Processors: runtime.NumCPU(),
	}
	for _, u := range res.Used {
		if u.ThrottledNS != nil {
			f.Throttled = float64(*u.ThrottledNS) / 1e9
		}
		if spent := u.System; spent != nil && spent.Total() > 0 {
			f.MachineBusy = 1 - (spent.Idle+spent.IOWait)/spent.Total()
		}
	}
	for _, m := range asked {
		if local(m.endpoint) {
			f.Shared = append(f.Shared, m.name)
		}
	}
	return f
}

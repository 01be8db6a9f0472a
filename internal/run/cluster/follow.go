package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Intervals between the requests to a member. FastInterval is used in two cases: if the load's
// target is a role, and for a while after an event such as a lost connection. The load then follows
// an election within FastInterval.
const (
	FastInterval = 100 * time.Millisecond
	SlowInterval = time.Second
	// alertPeriod is the time after an event for which FastInterval is used.
	alertPeriod = 15 * time.Second
)

// requestTimeout is the time limit for one request to one member. It is long enough for a healthy
// member under load.
const requestTimeout = time.Second

// Config configures a Follower.
type Config struct {
	// Admin sends the requests to the members.
	Admin store.Admin
	// Members is the number of Admin's endpoints.
	Members int
	// Interval is FastInterval or SlowInterval.
	Interval time.Duration
	// CompletedOperations returns the number of operations that the load has completed. It may be
	// nil. If this number rises, the leader is serving. The Follower then sends requests at
	// SlowInterval, because ten requests per second to each member, as at FastInterval, would add
	// to the load.
	CompletedOperations func() uint64
	// OnResponse is called with each response. `i` is the index of the member. `asked` is the time
	// at which the request was sent, and `ended` the time at which it was answered. Calls of
	// OnResponse are not concurrent.
	OnResponse func(i int, asked, ended time.Time, m store.Member)
}

// Follower polls the members for their roles.
type Follower struct {
	cfg     Config
	pollers []*poller
	mu      sync.Mutex // held during OnResponse
}

// poller is the state of one goroutine that sends requests.
type poller struct {
	member        int // index of the member that it asks
	wakeups       chan struct{}
	lastCompleted uint64 // result of Config.CompletedOperations in the last call of canSkip
}

// canSkip reports whether the next request can be skipped because the load makes progress.
func (f *Follower) canSkip(l *poller, asked, often time.Time) bool {
	if f.cfg.CompletedOperations == nil {
		return false
	}
	before := l.lastCompleted
	l.lastCompleted = f.cfg.CompletedOperations()
	now := measure.Now()
	return l.lastCompleted > before && now.After(often) && now.Sub(asked) < SlowInterval
}

// NewFollower returns a Follower. Call Run to start it.
func NewFollower(cfg Config) *Follower {
	f := &Follower{cfg: cfg}
	for i := range cfg.Members {
		f.pollers = append(f.pollers, &poller{member: i, wakeups: make(chan struct{}, 1)})
	}
	return f
}

// Refresh makes the Follower poll the members immediately, and then at FastInterval for a while. It
// is called after an event such as a lost connection. It does not block.
func (f *Follower) Refresh() {
	for _, l := range f.pollers {
		select {
		case l.wakeups <- struct{}{}:
		default: // a wake-up is already pending
		}
	}
}

// Run polls the members for their roles until ctx is canceled. It returns when all requests have
// ended. Each goroutine that Run starts first calls the function `begin`, which may be nil.
func (f *Follower) Run(ctx context.Context, begin func()) {
	var running sync.WaitGroup
	for _, l := range f.pollers {
		running.Go(func() {
			if begin != nil {
				begin()
			}
			f.follow(ctx, l)
		})
	}
	running.Wait()
}

func (f *Follower) follow(ctx context.Context, l *poller) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var asked, often time.Time // time of the last request; time until which members are polled at FastInterval
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.wakeups:
			now := measure.Now()
			often = now.Add(alertPeriod)
			timer.Reset(max(0, FastInterval-now.Sub(asked))) // several wake-ups at once cause only one request
			continue
		case <-timer.C:
		}
		if f.canSkip(l, asked, often) {
			timer.Reset(f.cfg.Interval)
			continue
		}
		asked = measure.Now()
		f.round(ctx, l, asked)
		every := f.cfg.Interval
		if measure.Now().Before(often) {
			every = min(every, FastInterval)
		}
		timer.Reset(max(0, every-time.Since(asked)))
	}
}

// round sends one request and passes the response to OnResponse.
func (f *Follower) round(ctx context.Context, l *poller, asked time.Time) {
	limited, cancel := context.WithTimeout(ctx, requestTimeout)
	m := f.cfg.Admin.Role(limited, l.member)
	cancel()
	ended := measure.Now()
	if ctx.Err() != nil {
		return // the member did not have the full time to respond
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cfg.OnResponse(l.member, asked, ended, m.Sanitized())
}

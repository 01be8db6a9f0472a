package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// How often members are asked. The short pause is used for a load whose target is a role,
// and for a while after an event such as a lost connection, so that the load follows an
// election within that pause.
const (
	Often  = 100 * time.Millisecond
	Seldom = time.Second
	// alert is how long members are asked often after an event.
	alert = 15 * time.Second
)

// within bounds one request to one member. It is long enough for a healthy member that is
// busy.
const within = time.Second

// Config configures a Follower.
type Config struct {
	// Admin asks each member separately.
	Admin store.Admin
	// Members is the number of the Admin's endpoints.
	Members int
	// Every is Often or Seldom.
	Every time.Duration
	// Done returns the number of operations that the load has completed; it may be nil.
	// While it rises, the leader serves, and members are asked only Seldom: ten requests
	// per second to each of them would add to the load.
	Done func() uint64
	// Take receives each answer: that of member i to a request that was sent and answered at
	// the given times. It is called from one goroutine at a time.
	Take func(i int, asked, ended time.Time, m store.Member)
}

// Follower asks the members for their roles at intervals.
type Follower struct {
	cfg   Config
	lines []*line
	mu    sync.Mutex // held during Take
}

// line holds the requests of one goroutine.
type line struct {
	ask   func(ctx context.Context) []store.Member // returns the state of the members with index first and higher
	first int
	poked chan struct{}
	done  uint64 // Config.Done at its last look
}

// needless reports whether a due request can be skipped.
func (f *Follower) needless(l *line, asked, often time.Time) bool {
	if f.cfg.Done == nil {
		return false
	}
	before := l.done
	l.done = f.cfg.Done()
	now := measure.Now()
	return l.done > before && now.After(often) && now.Sub(asked) < Seldom
}

// NewFollower returns a Follower; Run starts it.
func NewFollower(cfg Config) *Follower {
	f := &Follower{cfg: cfg}
	add := func(first int, ask func(context.Context) []store.Member) {
		f.lines = append(f.lines, &line{ask: ask, first: first, poked: make(chan struct{}, 1)})
	}
	for i := range cfg.Members {
		add(i, func(ctx context.Context) []store.Member { return []store.Member{cfg.Admin.Role(ctx, i)} })
	}
	return f
}

// Poke makes the Follower ask the members now, and often for a while. It is called after an
// event such as a lost connection, and does not block.
func (f *Follower) Poke() {
	for _, l := range f.lines {
		select {
		case l.poked <- struct{}{}:
		default: // already poked
		}
	}
}

// Run asks until ctx ends, and returns when every request has ended. Each of its goroutines
// first calls begin, which may be nil.
func (f *Follower) Run(ctx context.Context, begin func()) {
	var running sync.WaitGroup
	for _, l := range f.lines {
		running.Go(func() {
			if begin != nil {
				begin()
			}
			f.follow(ctx, l)
		})
	}
	running.Wait()
}

func (f *Follower) follow(ctx context.Context, l *line) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	var asked, often time.Time // time of the last request; end of asking often
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.poked:
			now := measure.Now()
			often = now.Add(alert)
			timer.Reset(max(0, Often-now.Sub(asked))) // one request for a burst of pokes
			continue
		case <-timer.C:
		}
		if f.needless(l, asked, often) {
			timer.Reset(f.cfg.Every)
			continue
		}
		asked = measure.Now()
		f.round(ctx, l, asked)
		every := f.cfg.Every
		if measure.Now().Before(often) {
			every = min(every, Often)
		}
		timer.Reset(max(0, every-time.Since(asked)))
	}
}

// round sends one request.
func (f *Follower) round(ctx context.Context, l *line, asked time.Time) {
	limited, cancel := context.WithTimeout(ctx, within)
	members := l.ask(limited)
	cancel()
	ended := measure.Now()
	if ctx.Err() != nil {
		return // the members were not given the full time
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range members {
		members[i] = members[i].Bounded()
		f.cfg.Take(l.first+i, asked, ended, members[i])
	}
}

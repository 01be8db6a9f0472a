package cluster

import (
	"context"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/store"
)

// How often members are asked. The short pause is for a load whose target is a
// role, and for a while after an event such as a lost connection: an election that the load
// feels is followed within it.
const (
	Often  = 100 * time.Millisecond
	Seldom = time.Second
	// alert is how long members are asked often after an event.
	alert = 15 * time.Second
)

// within bounds one question to one member. A mute member is asked once in this
// time, and a healthy one that has much to do can answer in it.
const within = time.Second

// Config is what a Follower needs.
type Config struct {
	// Admin asks each member by itself.
	Admin store.Admin
	// Members is how many endpoints the Admin has.
	Members int
	// Every is Often or Seldom.
	Every time.Duration
	// Done counts what the load has completed; nil if nobody counts. While it
	// rises, who leads serves, and members are asked Seldom: ten questions a
	// second to each would be a part of the load's cost.
	Done func() uint64
	// Take takes each answer, in one goroutine at a time: member i's, to a
	// question that was asked at one time and ended at another.
	Take func(i int, asked, ended time.Time, m store.Member)
}

// Follower asks on a clock of its own.
type Follower struct {
	cfg   Config
	lines []*line
	mu    sync.Mutex // held while Take runs
}

// line is what one goroutine asks.
type line struct {
	ask   func(ctx context.Context) []store.Member // from the first-th member on
	first int
	poked chan struct{}
	done  uint64 // of Config.Done when it was looked at last
}

// needless reports whether a question that is due need not be asked.
func (f *Follower) needless(l *line, asked, often time.Time) bool {
	if f.cfg.Done == nil {
		return false
	}
	before := l.done
	l.done = f.cfg.Done()
	now := measure.Now()
	return l.done > before && now.After(often) && now.Sub(asked) < Seldom
}

// NewFollower returns a Follower that Run starts.
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

// Poke has the members asked now, and often for a while, after an event such as
// the loss of a connection. It does not block.
func (f *Follower) Poke() {
	for _, l := range f.lines {
		select {
		case l.poked <- struct{}{}:
		default: // it is known already
		}
	}
}

// Run asks until ctx ends, and returns when every question has ended. Each of
// its goroutines calls begin first, if that is not nil.
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
	var asked, often time.Time // when it was asked last; till when it is asked often
	for {
		select {
		case <-ctx.Done():
			return
		case <-l.poked:
			now := measure.Now()
			often = now.Add(alert)
			timer.Reset(max(0, Often-now.Sub(asked))) // one question for a burst of pokes
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

// round asks once.
func (f *Follower) round(ctx context.Context, l *line, asked time.Time) {
	limited, cancel := context.WithTimeout(ctx, within)
	members := l.ask(limited)
	cancel()
	ended := measure.Now()
	if ctx.Err() != nil {
		return // who has not answered was not given the time
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range members {
		members[i] = members[i].Bounded()
		f.cfg.Take(l.first+i, asked, ended, members[i])
	}
}

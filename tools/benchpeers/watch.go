package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/load"
	"github.com/quorumbench/quorumbench/internal/measure"
	"github.com/quorumbench/quorumbench/internal/run/probe"
	"github.com/quorumbench/quorumbench/internal/scenario"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
)

// watchWork describes the work of a process that measures watches. All its watchers share one
// connection and watch the same key. The process also puts this key at a fixed rate, on the same
// connection. Each put causes an event for each watcher.
type watchWork struct {
	Work
	warmup, puts int // numbers of puts in the warm-up and in the window
}

// The key and the size of the values to put. watchPatience limits the time to create all watchers,
// and the wait for the events of the last put.
const (
	watchKey       = "e0000000"
	watchValueSize = 32 // size in bytes
	watchPatience  = 15 * time.Second
)

// watch measures watches with the client that runWatchers uses. It rounds the lengths of the
// warm-up and the window down to whole numbers of puts, at least one.
func watch(ctx context.Context, w Work, runWatchers func(context.Context, watchWork) (watchResult, error)) (Figures, error) {
	puts := func(d time.Duration) int { return max(int(w.Rate*d.Seconds()), 1) }
	all := watchWork{Work: w, warmup: puts(w.Warmup), puts: puts(w.Window)}
	seen, err := runWatchers(ctx, all)
	if err != nil {
		return Figures{}, err
	}
	return seen.figures(all)
}

// watchResult contains the results for the puts in the window.
type watchResult struct {
	puts, events uint64
	began, ended moment
}

// moment is a point in time, and the resources that the process has used until then.
type moment struct {
	at   time.Time
	used probe.SelfUsage
}

func now() moment { return moment{time.Now(), probe.Self()} }

// figures returns the figures for the work. Each event counts as an operation. If a put failed or
// the number of events does not match the number of puts, figures returns an error.
func (s watchResult) figures(w watchWork) (Figures, error) {
	want := uint64(w.puts) * uint64(w.Clients)
	switch {
	case s.puts != uint64(w.puts):
		return Figures{}, fmt.Errorf("%d of %d puts succeeded", s.puts, w.puts)
	case s.events != want:
		return Figures{}, fmt.Errorf("%d watchers received %d events instead of %d for %d puts", w.Clients, s.events, want, w.puts)
	}
	took := s.ended.at.Sub(s.began.at).Seconds()
	return Figures{
		Operations: s.events, PerSecond: float64(s.events) / took, MaxRSS: s.ended.used.MaxRSS,
		CPUPerOp: 1e9 * (s.ended.used.CPUSeconds - s.began.used.CPUSeconds) / float64(s.events),
	}, nil
}

// watchWithClientV3 measures watches with etcd's official client. It uses one client and therefore
// one connection. Each stream has a Watcher, and each watcher has a goroutine that receives and
// counts events.
func watchWithClientV3(ctx context.Context, w watchWork) (watchResult, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.Endpoint}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
	if err != nil {
		return watchResult{}, fmt.Errorf("client/v3 cannot connect to %s: %w", w.Endpoint, err)
	}
	defer func() { _ = c.Close() }()
	all := &clientV3Watchers{watchWork: w, client: c, counts: make([]counter, w.Streams)}
	if err := all.create(ctx); err != nil {
		return watchResult{}, err
	}
	if _, err := all.put(ctx, w.warmup, 0); err != nil {
		return watchResult{}, err
	}
	began := now()
	seen, err := all.put(ctx, w.puts, w.warmup)
	seen.began, seen.ended = began, now()
	return seen, err
}

// clientV3Watchers contains all watchers in a process.
type clientV3Watchers struct {
	watchWork
	client  *clientv3.Client
	counts  []counter // number of events, by stream
	failure atomic.Pointer[error]
}

// create asks the member to create the watchers, on all streams concurrently, and waits until all
// watchers exist.
func (c *clientV3Watchers) create(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	var streams sync.WaitGroup
	for s := range c.Streams {
		streams.Go(func() {
			watcher := clientv3.NewWatcher(c.client)
			for i := s; i < c.Clients; i += c.Streams {
				// Watch returns once the member has created the watcher. All watchers on a stream
				// have the same context.
				go c.receive(ctx, watcher.Watch(ctx, watchKey), &c.counts[s].n)
			}
		})
	}
	created := make(chan struct{})
	go func() { streams.Wait(); close(created) }()
	select {
	case <-created:
		return nil
	case <-limited.Done():
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return fmt.Errorf("client/v3 could not create %d watchers within %v", c.Clients, watchPatience)
	}
}

// receive receives and counts the events for one watcher.
func (c *clientV3Watchers) receive(ctx context.Context, events clientv3.WatchChan, count *atomic.Uint64) {
	for answer := range events {
		if err := answer.Err(); err != nil {
			c.failure.CompareAndSwap(nil, &err)
			return
		}
		count.Add(uint64(len(answer.Events)))
	}
	if ctx.Err() == nil {
		err := errors.New("a watch ended")
		c.failure.CompareAndSwap(nil, &err)
	}
}

// poll is the interval at which events are counted after the last put.
const poll = 2 * time.Millisecond

// put executes n puts at the given rate and waits for the events. The parameter `before` is the
// number of earlier puts. If a put is late, the next puts follow without a delay until the puts are
// on schedule again.
func (c *clientV3Watchers) put(ctx context.Context, n, before int) (watchResult, error) {
	value := strings.Repeat("v", watchValueSize)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(n)/c.Rate*float64(time.Second))+watchPatience)
	defer cancel()
	began := time.Now()
	timer := time.NewTimer(0)
	defer timer.Stop()
	wait := func(d time.Duration) error {
		timer.Reset(d)
		select {
		case <-timer.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	earlierEvents := uint64(before) * uint64(c.Clients)
	for i := range n {
		if err := wait(time.Until(began.Add(time.Duration(float64(i) / c.Rate * float64(time.Second))))); err != nil {
			return watchResult{}, err
		}
		if _, err := c.client.Put(ctx, watchKey, value); err != nil {
			return watchResult{}, fmt.Errorf("a put failed: %w", err)
		}
	}
	want := earlierEvents + uint64(n)*uint64(c.Clients)
	for c.events() < want && c.failure.Load() == nil {
		if err := wait(poll); err != nil {
			return watchResult{}, fmt.Errorf("only %d of %d events arrived: %w", c.events(), want, err)
		}
	}
	if err := c.failure.Load(); err != nil {
		return watchResult{}, fmt.Errorf("a watcher failed: %w", *err)
	}
	return watchResult{puts: uint64(n), events: c.events() - earlierEvents}, nil
}

func (c *clientV3Watchers) events() (sum uint64) {
	for i := range c.counts {
		sum += c.counts[i].n.Load()
	}
	return sum
}

// watchWithQuorumbench measures watches with quorumbench's generator. Unlike client/v3, the
// generator also measures the time of each event, and checks whether events are lost, duplicated,
// out of order or damaged.
func watchWithQuorumbench(ctx context.Context, w watchWork) (seen watchResult, err error) {
	worker := load.Local{Stores: func(string) (store.Store, error) { return etcd.New(), nil }}
	a := &load.Assignment{Load: watchLoad(w), Endpoints: []string{w.Endpoint}}
	a.Load.Watch = &scenario.Watch{Watchers: w.Clients, Streams: w.Streams}
	// The generator calls OnPhaseChange in its only event loop, before load.Run returns.
	res, err := load.Run(ctx, &worker, a, load.Reports{OnPhaseChange: func(m load.PhaseChange) {
		if m.Phase == measure.Measured && !m.Ended {
			seen.began = now()
		}
	}})
	seen.ended = now()
	switch {
	case err != nil:
		return seen, err
	case res.Interrupted:
		return seen, context.Cause(ctx)
	case res.Loops != 1:
		return seen, fmt.Errorf("%d event loops share one connection", res.Loops)
	}
	m, all := res.Measured, res.Measured.Watching
	if m.Failed() > 0 {
		return seen, fmt.Errorf("%d puts failed", m.Failed())
	}
	if all.Expected != all.Delivered || all.Lost+all.Duplicated+all.Reordered+all.Wrong+all.Ended+all.Foreign > 0 {
		return seen, fmt.Errorf("%d events were expected and %d arrived: %d lost, %d duplicated, %d out of order, %d wrong, %d watchers ended",
			all.Expected, all.Delivered, all.Lost, all.Duplicated, all.Reordered, all.Wrong+all.Foreign, all.Ended)
	}
	if seen.began.at.IsZero() {
		return seen, errors.New("the window did not open")
	}
	// Because no put failed, this counts all puts that became due in the window, even if they ended
	// after the window.
	seen.puts, seen.events = m.Due, m.Watch.Delivered
	return seen, nil
}

// watchLoad returns the load: puts to one key, on one connection that the puts share with the
// watchers.
func watchLoad(w watchWork) scenario.Load {
	l := scenario.DefaultLoad()
	l.Mix = []scenario.Operation{{Kind: kv.Put, Weight: 1}}
	l.Connections, l.Clients = 1, 1
	l.Prefix, l.KeySize, l.KeySpace = watchKey[:1], len(watchKey)-1, 1
	l.Distribution = scenario.Distribution{Name: scenario.Sequential}
	l.ValueSize = watchValueSize
	l.Arrival, l.Rate.PerSecond = scenario.Constant, w.Rate
	l.Duration, l.Total = 0, uint64(w.puts)
	l.Warmup = time.Duration(float64(w.warmup) / w.Rate * float64(time.Second))
	l.Seed = scenario.DefaultSeed
	return l
}

package peer

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
)

// watchWithClientV3 watches with etcd's official client: one client, which is
// one connection, with a Watcher for each stream and a goroutine for each
// watcher that receives and counts.
func watchWithClientV3(ctx context.Context, w watched) (watchSeen, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{w.endpoint}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
	if err != nil {
		return watchSeen{}, fmt.Errorf("client/v3 cannot connect to %s: %w", w.endpoint, err)
	}
	defer func() { _ = c.Close() }()
	all := &clientV3Watchers{watched: w, client: c, counts: make([]counter, w.streams)}
	if err := all.create(ctx); err != nil {
		return watchSeen{}, err
	}
	if _, err := all.put(ctx, w.warmup, 0); err != nil {
		return watchSeen{}, err
	}
	began := now()
	seen, err := all.put(ctx, w.puts, w.warmup)
	seen.began, seen.ended = began, now()
	return seen, err
}

// clientV3Watchers are all watchers of a process.
type clientV3Watchers struct {
	watched
	client  *clientv3.Client
	counts  []counter // of events, by stream
	failure atomic.Pointer[error]
}

// create returns when the member has all watchers, which it is asked for on all
// streams at once.
func (c *clientV3Watchers) create(ctx context.Context) error {
	limited, cancel := context.WithTimeout(ctx, watchPatience)
	defer cancel()
	var streams sync.WaitGroup
	for s := range c.streams {
		streams.Go(func() {
			watcher := clientv3.NewWatcher(c.client)
			for i := s; i < c.watchers; i += c.streams {
				// It returns when the member has it; its context is the stream's.
				go c.receive(ctx, watcher.Watch(ctx, c.key), &c.counts[s].n)
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
		return fmt.Errorf("client/v3 could not create %d watchers within %v", c.watchers, watchPatience)
	}
}

// receive is one watcher.
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

// poll is how often the events are counted when all puts are done.
const poll = 2 * time.Millisecond

// put puts n times at the rate, after before puts, and waits for their events.
// Should one be put late, the next are put at once.
func (c *clientV3Watchers) put(ctx context.Context, n, before int) (watchSeen, error) {
	value := strings.Repeat("v", c.valueSize)
	ctx, cancel := context.WithTimeout(ctx, time.Duration(float64(n)/c.rate*float64(time.Second))+watchPatience)
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
	from := uint64(before) * uint64(c.watchers)
	for i := range n {
		if err := wait(time.Until(began.Add(time.Duration(float64(i) / c.rate * float64(time.Second))))); err != nil {
			return watchSeen{}, err
		}
		if _, err := c.client.Put(ctx, c.key, value); err != nil {
			return watchSeen{}, fmt.Errorf("a put failed: %w", err)
		}
	}
	want := from + uint64(n)*uint64(c.watchers)
	for c.events() < want && c.failure.Load() == nil {
		if err := wait(poll); err != nil {
			return watchSeen{}, fmt.Errorf("%d of %d events came: %w", c.events(), want, err)
		}
	}
	if err := c.failure.Load(); err != nil {
		return watchSeen{}, fmt.Errorf("a watcher failed: %w", *err)
	}
	return watchSeen{puts: uint64(n), events: c.events() - from}, nil
}

func (c *clientV3Watchers) events() (sum uint64) {
	for i := range c.counts {
		sum += c.counts[i].n.Load()
	}
	return sum
}

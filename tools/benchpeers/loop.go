package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// loop is a closed loop that uses a client library. It only calls the library and counts
// operations, so that the library uses almost all of the CPU time. The loop runs in a separate
// process, so that this CPU time can be measured.
type loop struct {
	Work
	counts  []counter
	failure atomic.Pointer[error]
}

// library is the client library that a loop calls.
type library interface {
	// connect establishes all connections before it returns, and finds the keys to write.
	connect(context.Context, Work) error
	// caller returns the function that executes one operation of client i. Only one goroutine may
	// call this function.
	caller(w Work, i int) func(context.Context) error
	close()
}

// counter is used by one goroutine only. It fills a cache line, so that goroutines do not slow each
// other down.
type counter struct {
	n atomic.Uint64
	_ [56]byte
}

// dialTimeout limits the time to connect and the time of each call that is made before the loop
// starts.
const dialTimeout = 10 * time.Second

// If the first argument is one of these values, this binary acts as a generator. These are the
// generators that have no separate program.
const (
	clientV3Command      = "client-v3"
	goZooKeeperCommand   = "go-zookeeper"
	clientV3WatchCommand = "client-v3-watch"
	ourWatchCommand      = "our-watch"
)

// LoopMain runs a loop if args (the command line without the program's name) request one, and
// prints the figures as JSON. Otherwise LoopMain returns ok = false.
func LoopMain(ctx context.Context, args []string, stdout io.Writer) (ok bool, err error) {
	if len(args) != 2 {
		return false, nil
	}
	var w Work
	if err := json.Unmarshal([]byte(args[1]), &w); err != nil {
		return false, nil
	}
	var f Figures
	switch args[0] {
	case clientV3Command:
		f, err = (&loop{Work: w}).run(ctx, &clientV3Library{})
	case goZooKeeperCommand:
		f, err = (&loop{Work: w}).run(ctx, &goZooKeeperLibrary{})
	case clientV3WatchCommand:
		f, err = watch(ctx, w, watchWithClientV3)
	case ourWatchCommand:
		f, err = watch(ctx, w, watchWithQuorumbench)
	default:
		return false, nil
	}
	if err != nil {
		return true, err
	}
	return true, json.NewEncoder(stdout).Encode(f)
}

// runLoop runs a loop in a separate process. self is the path of the binary that calls LoopMain.
func runLoop(ctx context.Context, self, name, command string, w Work) (Figures, error) {
	work, err := json.Marshal(w)
	if err != nil {
		return Figures{}, err
	}
	return runProgram(ctx, self, []string{command, string(work)}, false, func(text string) (f Figures, err error) {
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			return f, fmt.Errorf("the loop over %s printed no result: %w", name, err)
		}
		return f, nil
	})
}

func (l *loop) run(ctx context.Context, lib library) (Figures, error) {
	defer lib.close()
	if err := lib.connect(ctx, l.Work); err != nil {
		return Figures{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.counts = make([]counter, l.Clients)
	var all sync.WaitGroup
	for i := range l.Clients {
		all.Go(func() { l.drive(ctx, stop, lib.caller(l.Work, i), &l.counts[i].n) })
	}
	f := l.measure(ctx)
	interrupted := ctx.Err()
	stop()
	all.Wait()
	switch err := l.failure.Load(); {
	case err != nil:
		return Figures{}, fmt.Errorf("an operation failed: %w", *err)
	case interrupted != nil:
		return Figures{}, interrupted
	case f.Operations == 0:
		return Figures{}, errNothingDone
	}
	return f, nil
}

// drive runs one client, which repeats its call until ctx ends.
func (l *loop) drive(ctx context.Context, stop func(), call func(context.Context) error, count *atomic.Uint64) {
	for {
		err := call(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			l.failure.CompareAndSwap(nil, &err)
			stop()
			return
		}
		count.Add(1)
	}
}

// measure waits for the end of the warm-up, and then returns the figures of the window.
func (l *loop) measure(ctx context.Context) Figures {
	timer := time.NewTimer(l.Warmup)
	defer timer.Stop()
	wait := func() {
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	wait()
	opened, before, from := time.Now(), probe.Self(), l.done()
	timer.Reset(l.Window)
	wait()
	closed, after, to := time.Now(), probe.Self(), l.done()
	f := Figures{Operations: to - from, PerSecond: float64(to-from) / closed.Sub(opened).Seconds(), MaxRSS: after.MaxRSS}
	if f.Operations > 0 {
		f.CPUPerOp = 1e9 * (after.CPUSeconds - before.CPUSeconds) / float64(f.Operations)
	}
	return f
}

func (l *loop) done() (sum uint64) {
	for i := range l.counts {
		sum += l.counts[i].n.Load()
	}
	return sum
}

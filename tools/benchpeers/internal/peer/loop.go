package peer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// loop is a closed loop over a client library: nothing but the calls and a
// count, so that what it costs is the library's. It runs in a process of its
// own, so that its processor time is its own.
type loop struct {
	endpoint       string
	conns, clients int
	warmup, window time.Duration
	key            string // read, unless putPrefix says to put
	putPrefix      string // puts go to the keys that exist below it
	valueSize      int

	counts  []counter
	failure atomic.Pointer[error]
}

// library is what a loop calls.
type library interface {
	// flags are those that the library has beyond the loop's.
	flags(*flag.FlagSet)
	// connect opens the connections, which answer when it returns, and finds
	// the keys that are put.
	connect(context.Context, *loop) error
	// caller returns client i's operation, which belongs to one goroutine.
	caller(l *loop, i int) func(context.Context) error
	close()
}

// counter is one goroutine's, on a cache line of its own.
type counter struct {
	n atomic.Uint64
	_ [56]byte
}

// dialTimeout bounds connecting, and what is called before the loop.
const dialTimeout = 10 * time.Second

// LoopMain is the process of a loop: args are those that follow the program's
// name. It is not ok if they are not those of a loop. The figures are printed
// as JSON.
func LoopMain(ctx context.Context, args []string, stdout io.Writer) (ok bool, err error) {
	if len(args) == 0 {
		return false, nil
	}
	switch args[0] {
	case clientV3Command:
		return true, loopMain(ctx, &clientV3Library{}, args, stdout)
	case goZooKeeperCommand:
		return true, loopMain(ctx, &goZooKeeperLibrary{}, args, stdout)
	case clientV3WatchCommand:
		return true, watchMain(ctx, watchWithClientV3, args, stdout)
	case ourWatchCommand:
		return true, watchMain(ctx, watchWithOurs, args, stdout)
	}
	return false, nil
}

func loopMain(ctx context.Context, lib library, args []string, stdout io.Writer) error {
	l := &loop{}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.StringVar(&l.endpoint, "endpoint", "", "HOST:PORT")
	flags.IntVar(&l.conns, "conns", 1, "connections")
	flags.IntVar(&l.clients, "clients", 1, "goroutines")
	flags.DurationVar(&l.warmup, "warmup", 0, "before the window")
	flags.DurationVar(&l.window, "window", time.Second, "measured")
	flags.StringVar(&l.key, "key", "", "read")
	flags.StringVar(&l.putPrefix, "put-prefix", "", "put to the keys below it instead of reading")
	flags.IntVar(&l.valueSize, "val-size", 256, "bytes of a put's value")
	lib.flags(flags)
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if l.conns < 1 || l.clients < 1 || l.window <= 0 {
		return errors.New("connections, clients and window must be above 0")
	}
	f, err := l.run(ctx, lib)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(f)
}

// loopArguments are those of a process that runs a loop.
func (w Work) loopArguments(command string) []string {
	args := []string{
		command, "--endpoint", w.Endpoint,
		"--conns", strconv.Itoa(w.Connections), "--clients", strconv.Itoa(w.Clients),
		"--warmup", w.Warmup.String(), "--window", w.Window.String(),
	}
	if w.Kind == kv.Put {
		return append(args, "--put-prefix", w.PutSpace.Prefix, "--val-size", strconv.Itoa(w.ValueSize))
	}
	return append(args, "--key", w.Key)
}

// runLoop runs a loop in a process of its own. self is the binary that calls
// LoopMain.
func runLoop(ctx context.Context, self, name string, args []string) (Figures, error) {
	f := runProcess(ctx, self, args...)
	if f.err != nil {
		return Figures{}, f.err
	}
	var figures Figures
	if err := json.Unmarshal(f.stdout, &figures); err != nil {
		return Figures{}, fmt.Errorf("the loop over %s printed no result: %w", name, err)
	}
	return figures, nil
}

func (l *loop) run(ctx context.Context, lib library) (Figures, error) {
	defer lib.close()
	if err := lib.connect(ctx, l); err != nil {
		return Figures{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.counts = make([]counter, l.clients)
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() { l.drive(ctx, stop, lib.caller(l, i), &l.counts[i].n) })
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

// drive is one client: it calls until ctx ends.
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

// measure waits for the warm-up and takes the window's figures.
func (l *loop) measure(ctx context.Context) Figures {
	timer := time.NewTimer(l.warmup)
	defer timer.Stop()
	wait := func() {
		select {
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	wait()
	opened, before, from := time.Now(), usage(), l.done()
	timer.Reset(l.window)
	wait()
	closed, after, to := time.Now(), usage(), l.done()
	f := Figures{Operations: to - from, PerSecond: float64(to-from) / closed.Sub(opened).Seconds(), MaxRSS: after.MaxRSS}
	if f.Operations > 0 {
		f.CPUPerOp = 1e9 * after.Sub(before).CPUSeconds() / float64(f.Operations)
	}
	return f
}

func usage() probe.SelfUsage {
	u, _ := probe.Self()
	return u
}

func (l *loop) done() (sum uint64) {
	for i := range l.counts {
		sum += l.counts[i].n.Load()
	}
	return sum
}

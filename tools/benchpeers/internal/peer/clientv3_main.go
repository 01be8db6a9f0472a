package peer

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/quorumbench/quorumbench/internal/run/probe"
)

// clientLoop is a closed loop over the official client: nothing but the calls
// and a count, so that what it costs is the client's.
type clientLoop struct {
	endpoint       string
	conns, clients int
	warmup, window time.Duration
	key            string // read, unless putPrefix says to put
	serializable   bool
	putPrefix      string // puts go to the keys that exist below it
	valueSize      int

	connections []*clientv3.Client
	keys        []string
	counts      []counter
	failure     atomic.Pointer[error]
}

// counter is one goroutine's, on a cache line of its own.
type counter struct {
	n atomic.Uint64
	_ [56]byte
}

// dialTimeout bounds connecting, and each call before the loop.
const dialTimeout = 10 * time.Second

// ClientV3Main is that process. args is what follows ClientV3Command.
func ClientV3Main(ctx context.Context, args []string, stdout io.Writer) error {
	l := &clientLoop{}
	flags := flag.NewFlagSet(ClientV3Command, flag.ContinueOnError)
	flags.SetOutput(os.Stderr)
	flags.StringVar(&l.endpoint, "endpoint", "", "HOST:PORT")
	flags.IntVar(&l.conns, "conns", 1, "connections")
	flags.IntVar(&l.clients, "clients", 1, "goroutines")
	flags.DurationVar(&l.warmup, "warmup", 0, "before the window")
	flags.DurationVar(&l.window, "window", time.Second, "measured")
	flags.StringVar(&l.key, "key", "", "read")
	flags.BoolVar(&l.serializable, "serializable", false, "read the member's own data")
	flags.StringVar(&l.putPrefix, "put-prefix", "", "put to the keys below it instead of reading")
	flags.IntVar(&l.valueSize, "val-size", 256, "bytes of a put's value")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if l.conns < 1 || l.clients < 1 || l.window <= 0 {
		return errors.New("connections, clients and window must be above 0")
	}
	f, err := l.run(ctx)
	if err != nil {
		return err
	}
	return json.NewEncoder(stdout).Encode(f)
}

func (l *clientLoop) run(ctx context.Context) (Figures, error) {
	defer l.close()
	if err := l.connect(ctx); err != nil {
		return Figures{}, err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	l.counts = make([]counter, l.clients)
	var all sync.WaitGroup
	for i := range l.clients {
		all.Go(func() { l.drive(ctx, stop, i) })
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

// connect opens the connections and finds the keys.
func (l *clientLoop) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	for range l.conns {
		c, err := clientv3.New(clientv3.Config{Endpoints: []string{l.endpoint}, DialTimeout: dialTimeout, Logger: zap.NewNop()})
		if err != nil {
			return fmt.Errorf("client/v3 cannot connect to %s: %w", l.endpoint, err)
		}
		l.connections = append(l.connections, c)
		// The first call is what connects.
		if _, err := c.Get(ctx, "connect", clientv3.WithSerializable()); err != nil {
			return fmt.Errorf("client/v3 gets no answer from %s: %w", l.endpoint, err)
		}
	}
	if l.putPrefix == "" {
		return nil
	}
	answer, err := l.connections[0].Get(ctx, l.putPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return fmt.Errorf("the keys below %q cannot be listed: %w", l.putPrefix, err)
	}
	for _, pair := range answer.Kvs {
		l.keys = append(l.keys, string(pair.Key))
	}
	if len(l.keys) == 0 {
		return fmt.Errorf("there is no key below %q", l.putPrefix)
	}
	return nil
}

func (l *clientLoop) close() {
	for _, c := range l.connections {
		_ = c.Close()
	}
}

// drive is one client: it calls until ctx ends.
func (l *clientLoop) drive(ctx context.Context, stop func(), i int) {
	c, count := l.connections[i%l.conns], &l.counts[i].n
	random := rand.New(rand.NewPCG(1, uint64(i)))
	value := strings.Repeat("v", l.valueSize)
	var options []clientv3.OpOption
	if l.serializable {
		options = append(options, clientv3.WithSerializable())
	}
	for {
		var err error
		if l.putPrefix != "" {
			_, err = c.Put(ctx, l.keys[random.IntN(len(l.keys))], value)
		} else {
			err = l.get(ctx, c, options)
		}
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

func (l *clientLoop) get(ctx context.Context, c *clientv3.Client, options []clientv3.OpOption) error {
	answer, err := c.Get(ctx, l.key, options...)
	if err == nil && len(answer.Kvs) != 1 {
		err = fmt.Errorf("the key %q is not there", l.key)
	}
	return err
}

// measure waits for the warm-up and takes the window's figures.
func (l *clientLoop) measure(ctx context.Context) Figures {
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

func (l *clientLoop) done() (sum uint64) {
	for i := range l.counts {
		sum += l.counts[i].n.Load()
	}
	return sum
}

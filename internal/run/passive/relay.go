package passive

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/call"
)

// RelayConfig is what a relay needs to know.
type RelayConfig struct {
	To string // the member's HOST:PORT
	// Listen, if not nil, is with what clients are served over TLS, and Dial, if not
	// nil, with what the member is spoken to.
	Listen, Dial *tls.Config
	ALPN         []string // what the store's protocol agrees upon over TLS
	Tap          TapConfig
	// Now is the recording's clock, in nanoseconds since it began.
	Now func() int64
	// Say takes a sentence about a connection that could not be passed on.
	Say func(string)
}

const dialTimeout = 5 * time.Second

// Relay is a relay at work.
type Relay struct {
	cfg   RelayConfig
	lanes []lane
	held  atomic.Int64 // bytes that wait to be understood
	bufs  [2]sync.Pool
	conns atomic.Uint32
	open  atomic.Int64
	parks atomic.Int64 // of loops that had nothing to do, for tests
	wg    sync.WaitGroup
}

// lane is one of the parts among which connections are divided.
type lane struct {
	queue *queue
	loop  *loop // nil: goroutines pass its connections on
}

// buffer is memory that is read into.
type buffer struct{ b []byte }

// NewRelay returns a relay.
func NewRelay(cfg RelayConfig) *Relay {
	r := &Relay{cfg: cfg}
	for i, size := range [...]int{chunkSize, relayBlock} {
		r.bufs[i].New = func() any { return &buffer{b: make([]byte, size)} }
	}
	return r
}

// buffer returns one of chunkSize or blockSize.
func (r *Relay) buffer(size int) *buffer {
	if size == chunkSize {
		return r.bufs[0].Get().(*buffer)
	}
	return r.bufs[1].Get().(*buffer)
}

// free takes a buffer back.
func (r *Relay) free(b *buffer) {
	if len(b.b) == chunkSize {
		r.bufs[0].Put(b)
	} else {
		r.bufs[1].Put(b)
	}
}

// Connections is how many there were, and how many are open.
func (r *Relay) Connections() (all uint32, open int64) { return r.conns.Load(), r.open.Load() }

// Serve passes on what comes until ctx ends; then it closes all connections and
// returns when all that passed was understood.
func (r *Relay) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	r.begin()
	// It stands until all has ended: ctx says that it has ended before it calls whom it is
	// to call, and who withdraws then is not called.
	stopLoops := context.AfterFunc(ctx, r.stopLoops)
	defer stopLoops()
	defer r.end()
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close() // it came too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("the relay's listener was closed: %w", err)
		case err != nil: // too many open files, say: it may pass
			r.cfg.Say(fmt.Sprintf("a connection could not be accepted: %v", err))
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		r.wg.Add(1)
		go func() {
			defer r.wg.Done()
			r.pass(ctx, c)
		}()
	}
}

// begin starts what connections are passed on with.
func (r *Relay) begin() {
	r.lanes = make([]lane, (runtime.GOMAXPROCS(0)+3)/4)
	for i := range r.lanes {
		r.lanes[i].queue = newQueue()
		go r.lanes[i].queue.run()
	}
	if r.cfg.Listen == nil && r.cfg.Dial == nil {
		r.beginLoops()
	}
}

// end returns when all connections have ended, and what they said is understood.
func (r *Relay) end() {
	r.wg.Wait()
	for _, l := range r.lanes {
		if l.loop != nil {
			l.loop.close()
		}
		l.queue.close()
	}
}

// stopLoops ends the connections that loops pass on.
func (r *Relay) stopLoops() {
	for _, l := range r.lanes {
		if l.loop != nil {
			l.loop.stop()
		}
	}
}

// pass passes one connection on.
func (r *Relay) pass(ctx context.Context, client net.Conn) {
	n := r.conns.Add(1)
	r.open.Add(1)
	defer r.open.Add(-1)
	defer func() { _ = client.Close() }()
	client, server, err := r.connect(ctx, client)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Say(err.Error())
			r.cfg.Tap.Sink.Gap(call.Gap{At: r.cfg.Now(), Conn: n, Why: err.Error()})
		}
		return
	}
	defer func() { _ = server.Close() }()
	lane := &r.lanes[int(n)%len(r.lanes)]
	t := r.tap(n, lane.queue)
	if lane.loop == nil || !lane.loop.pass(t, client, server) {
		t.forwardBoth(ctx, client, server)
	}
	lane.queue.give(piece{of: t, at: r.cfg.Now(), what: over})
}

// connect opens the way to the member. Over TLS, what the client agreed upon is what
// the member is asked for.
func (r *Relay) connect(ctx context.Context, client net.Conn) (net.Conn, net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	alpn := r.cfg.ALPN
	if r.cfg.Listen != nil {
		config := r.cfg.Listen.Clone()
		config.NextProtos = alpn
		secure := tls.Server(client, config)
		if err := secure.HandshakeContext(ctx); err != nil {
			return client, nil, fmt.Errorf("a client at %s could not be served over TLS: %w", client.RemoteAddr(), err)
		}
		if agreed := secure.ConnectionState().NegotiatedProtocol; agreed != "" {
			alpn = []string{agreed}
		}
		client = secure
	}
	server, err := new(net.Dialer).DialContext(ctx, "tcp", r.cfg.To)
	if err != nil {
		return client, nil, fmt.Errorf("the member at %s could not be reached: %w", r.cfg.To, err)
	}
	if r.cfg.Dial == nil {
		return client, server, nil
	}
	config := r.cfg.Dial.Clone()
	config.NextProtos = alpn
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(r.cfg.To)
	}
	secure := tls.Client(server, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = server.Close() // the error that matters is that one
		return client, nil, fmt.Errorf("the member at %s could not be spoken to over TLS: %w", r.cfg.To, err)
	}
	return client, secure, nil
}

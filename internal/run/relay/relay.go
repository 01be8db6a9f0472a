// Package relay stands between clients and a member of a store: it passes bytes on as
// they are, both ways, and gives a copy to what understands them (store.Tap). What is
// understood of a connection never holds it up: where that cannot keep up, the
// connection goes on without, and the recording says so.
package relay

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/quorumbench/quorumbench/internal/recording"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Config is what a relay needs to know.
type Config struct {
	To string // the member's HOST:PORT
	// Listen, if not nil, is with what clients are served over TLS, and Dial, if not
	// nil, with what the member is spoken to.
	Listen, Dial *tls.Config
	ALPN         []string // what the store's protocol agrees upon over TLS
	Tapped       store.Tapped
	Veil         *recording.Veil
	Sink         Sink
	// Now is the recording's clock, in nanoseconds since it began.
	Now func() int64
	// Say takes a sentence about a connection that could not be passed on.
	Say func(string)
}

// Sink takes what was understood; recording.Writer is one.
type Sink interface {
	Call(*recording.Call)
	Gap(recording.Gap)
}

const (
	chunkSize   = 16 << 10
	queued      = 1024 // chunks of one connection that wait to be understood
	heldAtMost  = 4096 // chunks of all
	dialTimeout = 5 * time.Second
)

// Relay is a relay at work.
type Relay struct {
	cfg   Config
	held  atomic.Int64 // chunks that wait to be understood
	bufs  sync.Pool
	conns atomic.Uint32
	open  atomic.Int64
	wg    sync.WaitGroup
}

// New returns a relay.
func New(cfg Config) *Relay {
	r := &Relay{cfg: cfg}
	r.bufs.New = func() any { return new([chunkSize]byte) }
	return r
}

// Connections is how many there were, and how many are open.
func (r *Relay) Connections() (all uint32, open int64) { return r.conns.Load(), r.open.Load() }

// Serve passes on what comes until ctx ends; then it closes all connections and
// returns when all that passed was understood.
func (r *Relay) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	defer r.wg.Wait()
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
			r.cfg.Sink.Gap(recording.Gap{At: r.cfg.Now(), Conn: n, Why: err.Error()})
		}
		return
	}
	defer func() { _ = server.Close() }()
	stop := context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })
	defer stop()

	h := &hearing{relay: r, conn: n, chunks: make(chan chunk, queued)}
	h.tap = r.cfg.Tapped.Tap(store.TapConfig{Conn: n, Veil: r.cfg.Veil, Call: r.cfg.Sink.Call, Gap: r.cfg.Sink.Gap})
	understood := make(chan struct{})
	go func() {
		defer close(understood)
		h.run()
	}()
	var both sync.WaitGroup
	both.Add(2)
	go func() {
		defer both.Done()
		h.forward(server, client, true)
	}()
	go func() {
		defer both.Done()
		h.forward(client, server, false)
	}()
	both.Wait()
	close(h.chunks)
	<-understood
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

// hearing is one connection's copy on its way to the tap. Chunks have numbers, taken
// before they are written: an answer's is higher than that of what it answers, so
// that the tap hears them in an order that can be.
type hearing struct {
	relay  *Relay
	conn   uint32
	tap    store.Tap
	next   atomic.Uint64
	chunks chan chunk
	deaf   atomic.Bool // nothing more is understood
	late   atomic.Bool // because it did not keep up
}

// chunk is what one read brought; without a buffer it is only a number.
type chunk struct {
	number   uint64
	ofClient bool
	at       int64
	buf      *[chunkSize]byte
	n        int
}

// forward passes one direction on, until its end.
func (h *hearing) forward(to, from net.Conn, ofClient bool) {
	r := h.relay
	for {
		buf := r.bufs.Get().(*[chunkSize]byte)
		n, err := from.Read(buf[:])
		at := r.cfg.Now()
		if n > 0 {
			number := h.next.Add(1)
			if _, failed := to.Write(buf[:n]); failed != nil && err == nil {
				err = failed
			}
			h.hear(chunk{number: number, ofClient: ofClient, at: at, buf: buf, n: n})
		} else {
			r.bufs.Put(buf)
		}
		if err == nil {
			continue
		}
		half, ok := to.(interface{ CloseWrite() error })
		if !errors.Is(err, io.EOF) || !ok || half.CloseWrite() != nil {
			_, _ = to.Close(), from.Close() // both ways are over
		}
		return
	}
}

// hear gives a chunk to the tap, or does without if that is behind.
func (h *hearing) hear(c chunk) {
	if !h.deaf.Load() {
		if h.relay.held.Add(1) <= heldAtMost {
			select {
			case h.chunks <- c:
				return
			default:
			}
		}
		h.relay.held.Add(-1)
		h.late.Store(true)
		h.deaf.Store(true)
	}
	h.relay.bufs.Put(c.buf)
}

// run understands chunks in the order of their numbers.
func (h *hearing) run() {
	r := h.relay
	early := map[uint64]chunk{} // those that came before others
	told := false
	tell := func(why string) {
		if !told {
			told = true
			h.deaf.Store(true)
			r.cfg.Sink.Gap(recording.Gap{At: r.cfg.Now(), Conn: h.conn, Calls: 0, Why: why})
			h.tap.End(r.cfg.Now())
		}
	}
	want := uint64(1)
	for c := range h.chunks {
		early[c.number] = c
		for {
			c, ok := early[want]
			if !ok {
				break
			}
			delete(early, want)
			want++
			if !told {
				if err := h.tap.Feed(c.ofClient, c.at, c.buf[:c.n]); err != nil {
					tell(fmt.Sprintf("the connection is not understood from here on: %v", err))
				}
			}
			r.bufs.Put(c.buf)
			r.held.Add(-1)
		}
		if h.late.Load() && len(h.chunks) == 0 {
			tell("the connection's bytes came faster than they could be read: from here on it is not recorded")
		}
	}
	if h.late.Load() {
		tell("the connection's bytes came faster than they could be read: from here on it is not recorded")
	}
	for _, c := range early {
		r.bufs.Put(c.buf)
		r.held.Add(-1)
	}
	if !told {
		h.tap.End(r.cfg.Now())
	}
}

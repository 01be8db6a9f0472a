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

// RelayConfig configures a relay.
type RelayConfig struct {
	MemberAddress string // HOST:PORT of the member
	// If Listen is set, clients connect to the relay over TLS. If Dial is set, the relay connects
	// to the member over TLS.
	Listen, Dial *tls.Config
	ALPN         []string // the store's protocols, for negotiation over TLS
	Tap          TapConfig
	// Now returns the time on the recording's clock, in nanoseconds since the recording began.
	Now func() int64
	// Notify receives a sentence about a connection that could not be forwarded.
	Notify func(string)
}

const dialTimeout = 5 * time.Second

// Relay forwards connections to a member and decodes copies of their bytes.
type Relay struct {
	cfg     RelayConfig
	queues  []*queue     // each queue decodes some of the connections
	waiting atomic.Int64 // memory of all pieces that are waiting to be decoded
	conns   atomic.Uint32
	wg      sync.WaitGroup
}

// NewRelay returns a relay.
func NewRelay(cfg RelayConfig) *Relay { return &Relay{cfg: cfg} }

// Connections returns the number of connections that the relay has accepted so far.
func (r *Relay) Connections() uint32 { return r.conns.Load() }

// Serve forwards the connections that l accepts until ctx is canceled. Then Serve closes the
// connections, and returns when all forwarded bytes are decoded.
func (r *Relay) Serve(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	defer stop()
	r.queues = make([]*queue, (runtime.GOMAXPROCS(0)+3)/4)
	for i := range r.queues {
		r.queues[i] = newQueue()
		go r.queues[i].run()
	}
	defer r.wait()
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				_ = c.Close() // the connection arrived too late
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("the relay's listener was closed: %w", err)
		case err != nil: // for example, too many open files, which may be a temporary condition
			r.cfg.Notify(fmt.Sprintf("a connection could not be accepted: %v", err))
			select {
			case <-ctx.Done():
			case <-time.After(100 * time.Millisecond):
			}
			continue
		}
		r.wg.Go(func() { r.relay(ctx, c) })
	}
}

// wait waits until all connections have ended and all their bytes are decoded.
func (r *Relay) wait() {
	r.wg.Wait()
	for _, q := range r.queues {
		q.close()
	}
}

// relay forwards one connection until it ends.
func (r *Relay) relay(ctx context.Context, client net.Conn) {
	n := r.conns.Add(1)
	defer func() { _ = client.Close() }()
	client, server, err := r.connect(ctx, client)
	if err != nil {
		if ctx.Err() == nil {
			r.cfg.Notify(err.Error())
			r.cfg.Tap.Sink.Gap(call.Gap{At: r.cfg.Now(), Conn: n, Reason: err.Error()})
		}
		return
	}
	defer func() { _ = server.Close() }()
	b := r.newBacklog(n, r.queues[int(n)%len(r.queues)])
	b.forward(ctx, client, server)
	b.end(r.cfg.Now())
}

// connect performs the client's TLS handshake and connects to the member. Both connections use the
// protocol that the client negotiated.
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
	server, err := new(net.Dialer).DialContext(ctx, "tcp", r.cfg.MemberAddress)
	if err != nil {
		return client, nil, fmt.Errorf("the member at %s could not be reached: %w", r.cfg.MemberAddress, err)
	}
	if r.cfg.Dial == nil {
		return client, server, nil
	}
	config := r.cfg.Dial.Clone()
	config.NextProtos = alpn
	if config.ServerName == "" {
		config.ServerName, _, _ = net.SplitHostPort(r.cfg.MemberAddress)
	}
	secure := tls.Client(server, config)
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = server.Close() // err is more important
		return client, nil, fmt.Errorf("the TLS handshake with the member at %s failed: %w", r.cfg.MemberAddress, err)
	}
	return client, secure, nil
}

package etcd

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// Limits of the bytes that all administration connections together read: a burst,
// then a rate per second. A status response has a few hundred bytes. Excess data
// stays on the server's side; without the limit, gRPC reads every frame of a
// flood and uses a whole CPU.
const (
	readBurst     = 4 << 20
	readPerSecond = 1 << 20
)

// readPace limits reads to readBurst and readPerSecond.
type readPace struct {
	connect store.Dial
	burst   float64 // bytes

	mu   sync.Mutex
	left float64 // bytes; negative: the bytes read ahead of the rate
	at   time.Time
}

func newReadPace(connect store.Dial) *readPace { return newBurstPace(connect, readBurst) }

// newBurstPace returns a readPace with the given burst in bytes.
func newBurstPace(connect store.Dial, burst float64) *readPace {
	return &readPace{connect: connect, burst: burst, left: burst}
}

// recordRead records that n bytes were read and returns how long the next read must
// wait.
func (p *readPace) recordRead(n int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.at.IsZero() {
		p.left = min(p.left+now.Sub(p.at).Seconds()*readPerSecond, p.burst)
	}
	p.at = now
	if p.left -= float64(n); p.left >= 0 {
		return 0
	}
	return time.Duration(-p.left / readPerSecond * float64(time.Second))
}

// credit returns n bytes to the burst: those of a response that was requested, and is
// not part of a flood.
func (p *readPace) credit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left = min(p.left+float64(n), p.burst)
}

// dial opens a connection whose reads are paced.
func (p *readPace) dial(ctx context.Context, endpoint string) (net.Conn, error) {
	conn, err := p.connect(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	return &pacedConn{Conn: conn, pace: p, closed: make(chan struct{})}, nil
}

type pacedConn struct {
	net.Conn
	pace   *readPace
	once   sync.Once
	closed chan struct{}
}

// Read implements net.Conn.
func (c *pacedConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if wait := c.pace.recordRead(n, time.Now()); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-c.closed:
		}
	}
	return n, err
}

// Close implements net.Conn.
func (c *pacedConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

package etcd

import (
	"context"
	"net"
	"sync"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
)

// readBurst and readPerSecond limit how fast all administration connections together read. They may
// read readBurst bytes without a delay, and after that readPerSecond bytes per second. For
// comparison, a status response has a few hundred bytes. If a server sends data faster than that,
// the data waits on the server's side. Without these limits, gRPC would read all of the data and
// use a whole CPU.
const (
	readBurst     = 4 << 20
	readPerSecond = 1 << 20
)

// readPace limits the rate of reads. It allows a first burst without a delay, and after that
// readPerSecond bytes per second.
type readPace struct {
	connect store.Dial
	burst   float64 // bytes

	mu        sync.Mutex
	bytesLeft float64 // bytes that may be read now; negative if too many bytes were read
	updatedAt time.Time
}

func newReadPace(connect store.Dial) *readPace { return newBurstPace(connect, readBurst) }

// newBurstPace returns a readPace with the given burst in bytes.
func newBurstPace(connect store.Dial, burst float64) *readPace {
	return &readPace{connect: connect, burst: burst, bytesLeft: burst}
}

// recordRead records that n bytes were read. It returns how long the caller must wait before it
// reads again.
func (p *readPace) recordRead(n int, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.updatedAt.IsZero() {
		p.bytesLeft = min(p.bytesLeft+now.Sub(p.updatedAt).Seconds()*readPerSecond, p.burst)
	}
	p.updatedAt = now
	if p.bytesLeft -= float64(n); p.bytesLeft >= 0 {
		return 0
	}
	return time.Duration(-p.bytesLeft / readPerSecond * float64(time.Second))
}

// credit allows the connections to read n additional bytes. It is called with the size of a
// requested response, so that only unrequested data uses up the limit.
func (p *readPace) credit(n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bytesLeft = min(p.bytesLeft+float64(n), p.burst)
}

// dial opens a connection whose reads are limited by the readPace.
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

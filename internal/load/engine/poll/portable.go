package poll

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// portable is a Poller over net.Conn for systems without epoll. Each connection has a goroutine
// that reads and a goroutine that writes. Bytes count as written when the loop passes them to the
// writer goroutine.
//
// Invariant: mu protects conns, ready and all fields of a portableConn.
type portable struct {
	base   time.Time
	dialer Dialer
	wakeup chan struct{}
	timer  *time.Timer

	mu    sync.Mutex
	conns []*portableConn
	ready []Ready
}

type portableConn struct {
	gen        int
	socket     net.Conn
	cancel     context.CancelFunc
	in         []byte // read from the socket, but not yet by the loop
	err        error
	out        []byte     // passed to the writer, but not yet written
	refused    bool       // a call of Write refused bytes; since then, the writer took none
	bytesTaken *sync.Cond // signals that the loop took bytes from `in`
	bytesAdded *sync.Cond // signals that the loop added bytes to `out`
}

// portableBuffer is the size limit of a connection's two buffers. One holds the bytes that were
// read before the loop asked for them, the other the bytes that wait to be written to the socket.
const portableBuffer = 256 << 10

// NewPortable returns a Poller over net.Conn. The poller's clock shows the time since base.
func NewPortable(conns int, base time.Time, dialer Dialer) Poller {
	p := &portable{base: base, dialer: dialer, wakeup: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	p.grow(conns)
	return p
}

// grow makes space for conns connections.
func (p *portable) grow(conns int) {
	for len(p.conns) < conns {
		p.conns = append(p.conns, &portableConn{bytesTaken: sync.NewCond(&p.mu), bytesAdded: sync.NewCond(&p.mu)})
	}
}

// Now implements Poller.
func (p *portable) Now() int64 { return int64(time.Since(p.base)) }

// Attach implements Poller. The loop has no fixed thread.
func (p *portable) Attach() int { return 0 }

// Wake implements Poller.
func (p *portable) Wake() {
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

// markReady adds a ready connection and ends the current Wait. The lock must be held.
func (p *portable) markReady(r Ready) {
	p.ready = append(p.ready, r)
	p.Wake()
}

// Wait implements Poller.
func (p *portable) Wait(until int64, ready []Ready) []Ready {
	if ready = p.takeReady(ready); len(ready) > 0 {
		return ready
	}
	if wait := time.Duration(until - p.Now()); wait > 0 {
		p.timer.Reset(wait)
		select {
		case <-p.wakeup:
		case <-p.timer.C:
		}
	}
	return p.takeReady(ready)
}

// takeReady appends to `ready` those connections in p.ready that are still open.
func (p *portable) takeReady(ready []Ready) []Ready {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.ready {
		if r.Reason == Dialed || p.conns[r.Conn].socket != nil {
			ready = append(ready, r)
		}
	}
	p.ready = p.ready[:0]
	return ready
}

// Dial implements Poller.
func (p *portable) Dial(i int, endpoint string) {
	ctx, cancel := context.WithTimeout(context.Background(), p.dialer.Timeout)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.grow(i + 1)
	c := p.conns[i]
	c.gen++
	c.cancel = cancel
	gen := c.gen
	go func() {
		defer cancel()
		socket, s, err := p.dialer.dial(ctx, endpoint)
		if s != nil {
			s.handshaken = false // crypto/tls continues to use the socket directly
			socket = s.tls
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if c.gen != gen {
			if err == nil {
				_ = socket.Close()
			}
			return
		}
		if err == nil {
			c.socket, c.in, c.out, c.err, c.refused = socket, nil, nil, nil, false
			go p.readAhead(i, gen, c, socket)
			go p.writeOut(i, gen, c, socket)
		}
		p.markReady(Ready{Conn: i, Reason: Dialed, Err: err})
	}()
}

// readAhead reads from the socket before the loop asks for the bytes, until the connection ends.
func (p *portable) readAhead(i, gen int, c *portableConn, socket net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := socket.Read(buf)
		p.mu.Lock()
		for c.gen == gen && len(c.in) > portableBuffer {
			c.bytesTaken.Wait()
		}
		if c.gen != gen {
			p.mu.Unlock()
			return
		}
		if len(c.in) == 0 && c.err == nil {
			p.markReady(Ready{Conn: i, Reason: Readable})
		}
		c.in = append(c.in, buf[:n]...)
		c.err = err
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// writeOut writes the loop's output until the connection ends. If a write fails, it closes the
// socket, so that the next read returns an error.
func (p *portable) writeOut(i, gen int, c *portableConn, socket net.Conn) {
	var buf []byte
	for {
		p.mu.Lock()
		for c.gen == gen && len(c.out) == 0 {
			c.bytesAdded.Wait()
		}
		if c.gen != gen {
			p.mu.Unlock()
			return
		}
		buf, c.out = c.out, buf[:0]
		if c.refused {
			c.refused = false
			p.markReady(Ready{Conn: i, Reason: Writable})
		}
		p.mu.Unlock()
		if _, err := socket.Write(buf); err != nil {
			_ = socket.Close()
			return
		}
	}
}

// Read implements Poller.
func (p *portable) Read(i int, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.conns[i]
	if len(c.in) == 0 {
		if c.err != nil {
			return 0, c.err
		}
		return 0, ErrAgain
	}
	n := copy(b, c.in)
	c.in = c.in[:copy(c.in, c.in[n:])]
	c.bytesTaken.Signal()
	if len(c.in) > 0 || c.err != nil {
		p.markReady(Ready{Conn: i, Reason: Readable})
	}
	return n, nil
}

// Write implements Poller.
func (p *portable) Write(i int, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.conns[i]
	if c.err != nil {
		return 0, c.err
	}
	n := min(len(b), max(portableBuffer-len(c.out), 0))
	c.out = append(c.out, b[:n]...)
	c.refused = n < len(b)
	c.bytesAdded.Signal()
	return n, nil
}

// Close implements Poller.
func (p *portable) Close(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.conns[i]
	c.gen++
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
	if c.socket != nil {
		_ = c.socket.Close()
		c.socket = nil
	}
	c.in, c.out, c.err, c.refused = nil, nil, nil, false
	p.ready = slices.DeleteFunc(p.ready, func(r Ready) bool { return r.Conn == i })
	c.bytesTaken.Broadcast()
	c.bytesAdded.Broadcast()
}

// Release implements Poller.
func (p *portable) Release() {
	for i := range p.conns {
		p.Close(i)
	}
	p.timer.Stop()
}

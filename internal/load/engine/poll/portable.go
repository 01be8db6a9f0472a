package poll

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"
)

// portable is the Poller over net.Conn, for systems without epoll: one
// goroutine reads and one writes for each connection. A time read before a
// write is that of handing the bytes to the writer.
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
	gen    int
	socket net.Conn
	cancel context.CancelFunc
	in     []byte // read, not yet taken
	err    error
	out    []byte // handed over, not yet written
	full   bool   // Write refused something since
	taken  *sync.Cond
	given  *sync.Cond
}

// portableBuffer is how much is read ahead of the loop and how much waits for
// a socket, in bytes.
const portableBuffer = 256 << 10

// NewPortable returns a Poller over net.Conn; its clock is the time since base.
func NewPortable(conns int, base time.Time, dialer Dialer) Poller {
	p := &portable{base: base, dialer: dialer, wakeup: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
	p.grow(conns)
	return p
}

// grow makes space for so many connections.
func (p *portable) grow(conns int) {
	for len(p.conns) < conns {
		p.conns = append(p.conns, &portableConn{taken: sync.NewCond(&p.mu), given: sync.NewCond(&p.mu)})
	}
}

func (p *portable) Now() int64  { return int64(time.Since(p.base)) }
func (p *portable) Attach() int { return 0 }

func (p *portable) Wake() {
	select {
	case p.wakeup <- struct{}{}:
	default:
	}
}

// markReady adds to what is ready; the lock is held.
func (p *portable) markReady(r Ready) {
	p.ready = append(p.ready, r)
	p.Wake()
}

func (p *portable) Wait(until int64, ready []Ready) []Ready {
	if ready = p.take(ready); len(ready) > 0 {
		return ready
	}
	if wait := time.Duration(until - p.Now()); wait > 0 {
		p.timer.Reset(wait)
		select {
		case <-p.wakeup:
		case <-p.timer.C:
		}
	}
	return p.take(ready)
}

func (p *portable) take(ready []Ready) []Ready {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, r := range p.ready {
		if r.What == Dialed || p.conns[r.Conn].socket != nil {
			ready = append(ready, r)
		}
	}
	p.ready = p.ready[:0]
	return ready
}

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
			s.shaken = false // crypto/tls keeps the socket
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
			c.socket, c.in, c.out, c.err, c.full = socket, nil, nil, nil, false
			go p.reads(i, gen, c, socket)
			go p.writes(i, gen, c, socket)
		}
		p.markReady(Ready{Conn: i, What: Dialed, Err: err})
	}()
}

// reads reads ahead until the connection ends.
func (p *portable) reads(i, gen int, c *portableConn, socket net.Conn) {
	buf := make([]byte, 64<<10)
	for {
		n, err := socket.Read(buf)
		p.mu.Lock()
		for c.gen == gen && len(c.in) > portableBuffer {
			c.taken.Wait()
		}
		if c.gen != gen {
			p.mu.Unlock()
			return
		}
		if len(c.in) == 0 && c.err == nil {
			p.markReady(Ready{Conn: i, What: Readable})
		}
		c.in = append(c.in, buf[:n]...)
		c.err = err
		p.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// writes writes what the loop hands over until the connection ends. An error
// shows at the next read.
func (p *portable) writes(i, gen int, c *portableConn, socket net.Conn) {
	var buf []byte
	for {
		p.mu.Lock()
		for c.gen == gen && len(c.out) == 0 {
			c.given.Wait()
		}
		if c.gen != gen {
			p.mu.Unlock()
			return
		}
		buf, c.out = c.out, buf[:0]
		if c.full {
			c.full = false
			p.markReady(Ready{Conn: i, What: Writable})
		}
		p.mu.Unlock()
		if _, err := socket.Write(buf); err != nil {
			_ = socket.Close()
			return
		}
	}
}

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
	c.taken.Signal()
	if len(c.in) > 0 || c.err != nil {
		p.markReady(Ready{Conn: i, What: Readable})
	}
	return n, nil
}

func (p *portable) Write(i int, b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := p.conns[i]
	if c.err != nil {
		return 0, c.err
	}
	n := min(len(b), max(portableBuffer-len(c.out), 0))
	c.out = append(c.out, b[:n]...)
	c.full = n < len(b)
	c.given.Signal()
	return n, nil
}

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
	c.in, c.out, c.err, c.full = nil, nil, nil, false
	p.ready = slices.DeleteFunc(p.ready, func(r Ready) bool { return r.Conn == i })
	c.taken.Broadcast()
	c.given.Broadcast()
}

func (p *portable) Release() {
	for i := range p.conns {
		p.Close(i)
	}
	p.timer.Stop()
}

package poll

import (
	"context"
	"net"

	"golang.org/x/sys/unix"
)

// Dial implements Poller.
func (p *epoll) Dial(i int, endpoint string) {
	for len(p.conns) <= i {
		p.conns = append(p.conns, epollConn{fd: -1})
	}
	if p.dialer.SingleUse && p.dialer.TLS == nil {
		if at := p.address(endpoint); at != nil {
			p.connect(i, endpoint, at)
			return
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), p.dialer.Timeout)
	c := &p.conns[i]
	c.gen++
	c.cancel = cancel
	gen := c.gen
	go func() {
		defer cancel()
		d := dialResult{conn: i, gen: gen, fd: -1, endpoint: endpoint}
		var socket net.Conn
		if socket, d.secured, d.err = p.dialer.dial(ctx, endpoint); d.err == nil {
			d.remote = socket.RemoteAddr()
			d.fd, d.err = takeFD(socket)
		}
		p.deliver(d)
	}()
}

// deliver passes the result of a dial to the loop.
func (p *epoll) deliver(d dialResult) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.epollFD < 0 { // the poller was released in the meantime
		if d.err == nil {
			_ = unix.Close(d.fd)
		}
		return
	}
	p.dialed = append(p.dialed, d)
	p.wake()
}

// takeDialed registers the sockets of completed dials with epoll, and appends the results to
// `ready`.
func (p *epoll) takeDialed(ready []Ready) []Ready {
	p.mu.Lock()
	results := p.dialed
	p.dialed = nil
	p.mu.Unlock()
	for _, d := range results {
		p.storeAddress(d.endpoint, d.remote)
		c := &p.conns[d.conn]
		if c.gen != d.gen {
			if d.err == nil {
				_ = unix.Close(d.fd)
			}
			continue
		}
		c.cancel = nil
		if d.err == nil {
			c.fd, c.secured, c.hasTimestamps = d.fd, d.secured, enableTimestamps(d.fd)
			d.err = p.control(unix.EPOLL_CTL_ADD, c.fd, unix.EPOLLIN, d.conn, c.gen)
			if d.err != nil {
				_ = unix.Close(c.fd)
				c.fd, c.secured, c.hasTimestamps = -1, nil, false
			}
		}
		ready = append(ready, Ready{Conn: d.conn, Reason: Dialed, Err: d.err})
		if d.secured != nil && d.err == nil {
			fd := d.fd
			d.secured.fetch = func(b []byte) (int, error) { return p.fetch(fd, b) }
			// The TLS handshake may also have read data that follows the handshake.
			p.ready = append(p.ready, Ready{Conn: d.conn, Reason: Readable})
		}
	}
	return ready
}

package poll

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// This file opens connections that carry a single operation. It uses a non-blocking connect instead
// of a goroutine because a load may open and close thousands of these connections per second.

// address returns an endpoint's address in the form that system calls need, or nil if the
// endpoint's host name has not been resolved yet. The first connection to the host name resolves it
// (storeAddress).
func (p *epoll) address(endpoint string) unix.Sockaddr {
	if at, ok := p.addresses[endpoint]; ok {
		return at
	}
	if a, err := netip.ParseAddrPort(endpoint); err == nil && a.Addr().Zone() == "" {
		p.addresses[endpoint] = sockaddr(a)
	}
	return p.addresses[endpoint]
}

// storeAddress stores the address to which an endpoint's host name was resolved.
func (p *epoll) storeAddress(endpoint string, remote net.Addr) {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok || !p.dialer.SingleUse || tcp.Zone != "" {
		return
	}
	p.addresses[endpoint] = sockaddr(tcp.AddrPort())
}

// sockaddr converts an address to the form that system calls need.
func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// connect starts a non-blocking connect. finishConnect later returns the result. The operation's
// timeout also limits the time to connect.
func (p *epoll) connect(i int, endpoint string, address unix.Sockaddr) {
	c := &p.conns[i]
	c.gen++
	fd, err := p.socket(address)
	if err == nil {
		if err = p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLOUT, i, c.gen); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		err = p.dialer.describeError(endpoint, &net.OpError{Op: "dial", Err: err})
		p.deliver(dialResult{conn: i, gen: c.gen, fd: -1, err: err})
		return
	}
	c.fd, c.connecting, c.endpoint = fd, true, endpoint
}

// socket returns a new socket and starts to connect it to an address.
func (p *epoll) socket(address unix.Sockaddr) (int, error) {
	family := unix.AF_INET
	if _, ok := address.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	if err := unix.Connect(fd, address); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	return fd, nil
}

// finishConnect returns the result of a connect.
func (p *epoll) finishConnect(i int) Ready {
	c := &p.conns[i]
	c.connecting = false
	failed, err := unix.GetsockoptInt(c.fd, unix.SOL_SOCKET, unix.SO_ERROR)
	if err == nil && failed != 0 {
		err = unix.Errno(failed)
	}
	if err == nil {
		err = p.control(unix.EPOLL_CTL_MOD, c.fd, unix.EPOLLIN, i, c.gen)
	}
	if err != nil {
		_ = unix.Close(c.fd)
		c.fd = -1
		err = p.dialer.describeError(c.endpoint, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)})
	}
	return Ready{Conn: i, Reason: Dialed, Err: err}
}

package poll

import (
	"net"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"
)

// Connections of one operation each are made here, by a non-blocking connect
// and no goroutine: thousands a second come and go.

// address is an endpoint's address as the system wants it, nil while it is not
// known: a name is resolved by the first connection to it.
func (p *epoll) address(endpoint string) unix.Sockaddr {
	if at, ok := p.known[endpoint]; ok {
		return at
	}
	if a, err := netip.ParseAddrPort(endpoint); err == nil && a.Addr().Zone() == "" {
		p.known[endpoint] = sockaddr(a)
	}
	return p.known[endpoint]
}

// learn keeps where a connection that was made by name went.
func (p *epoll) learn(endpoint string, remote net.Addr) {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok || !p.dialer.Brief || tcp.Zone != "" {
		return
	}
	p.known[endpoint] = sockaddr(tcp.AddrPort())
}

func sockaddr(a netip.AddrPort) unix.Sockaddr {
	if ip := a.Addr().Unmap(); ip.Is4() {
		return &unix.SockaddrInet4{Port: int(a.Port()), Addr: ip.As4()}
	}
	return &unix.SockaddrInet6{Port: int(a.Port()), Addr: a.Addr().As16()}
}

// connect begins to connect; came returns how it ended. How long that may take
// is the operation's timeout.
func (p *epoll) connect(i int, endpoint string, at unix.Sockaddr) {
	c := &p.conns[i]
	c.gen++
	fd, err := p.socket(at)
	if err == nil {
		if err = p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN|unix.EPOLLOUT, i, c.gen); err != nil {
			_ = unix.Close(fd)
		}
	}
	if err != nil {
		err = p.dialer.sentence(endpoint, &net.OpError{Op: "dial", Err: err})
		p.deliver(dialResult{conn: i, gen: c.gen, fd: -1, err: err})
		return
	}
	c.fd, c.coming, c.at = fd, true, endpoint
}

// socket returns a socket on its way to an address.
func (p *epoll) socket(to unix.Sockaddr) (int, error) {
	family := unix.AF_INET
	if _, ok := to.(*unix.SockaddrInet6); ok {
		family = unix.AF_INET6
	}
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, unix.IPPROTO_TCP)
	if err != nil {
		return -1, os.NewSyscallError("socket", err)
	}
	_ = unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1)
	_ = unix.SetsockoptLinger(fd, unix.SOL_SOCKET, unix.SO_LINGER, &unix.Linger{Onoff: 1})
	if err := unix.Connect(fd, to); err != nil && err != unix.EINPROGRESS {
		_ = unix.Close(fd)
		return -1, os.NewSyscallError("connect", err)
	}
	return fd, nil
}

// came returns how connecting ended.
func (p *epoll) came(i int) Ready {
	c := &p.conns[i]
	c.coming = false
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
		err = p.dialer.sentence(c.at, &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", err)})
	}
	return Ready{Conn: i, What: Dialed, Err: err}
}

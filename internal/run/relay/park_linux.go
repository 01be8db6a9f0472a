package relay

import (
	"errors"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// parked is an epoll instance that Go's scheduler watches and that has the loop's own in
// it only while the loop is parked: events of a busy loop wake nobody else. The
// generator's loops park so, too (decision 0032).
type parked struct {
	file  *os.File
	fd    int // the file's; its Fd might have reads wait in the system
	raw   syscall.RawConn
	ready func(fd uintptr) bool
	event unix.EpollEvent
	none  bool          // the system gives none
	times *atomic.Int64 // counts waits
}

// wait returns when the loop's epoll instance has something, as any goroutine waits.
func (p *parked) wait(ep int) {
	if p.none || p.file == nil && !p.make() {
		return
	}
	if unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, ep, &unix.EpollEvent{Events: unix.EPOLLIN}) != nil {
		return
	}
	p.times.Add(1)
	if p.raw.Read(p.ready) != nil {
		p.end() // Go's scheduler does not take it
		return
	}
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, ep, nil)
}

func (p *parked) make() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		p.none = true
		return false
	}
	_ = unix.SetNonblock(fd, true) // else os takes it for a file that is never waited for
	p.fd, p.file = fd, os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.end()
		return false
	}
	p.ready = func(fd uintptr) bool {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&p.event)), 1, 0, 0, 0)
		return errno != 0 && errno != unix.EINTR || errno == 0 && n > 0
	}
	return true
}

// end closes it for good.
func (p *parked) end() {
	if p.file != nil {
		_ = p.file.Close()
	}
	p.file, p.none = nil, true
}

// socketOf returns the socket of a connection, as a file descriptor of its own.
func socketOf(c net.Conn) (int, error) {
	s, ok := c.(*net.TCPConn)
	if !ok {
		return -1, errors.New("the connection has no socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	if e := raw.Control(func(from uintptr) { fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	return fd, err
}

package sockets

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Park is where a loop waits as any goroutine does. It is an epoll instance that Go's
// scheduler watches, and that has the loop's own in it only while the loop is parked:
// events of a busy loop wake nobody else. The zero value is one that is not made yet.
type Park struct {
	file  *os.File
	fd    int // the file's; its Fd might have reads wait in the system
	raw   syscall.RawConn
	ready func(fd uintptr) bool
	event unix.EpollEvent
	none  bool
}

// Ready makes it, if it is not, and reports whether there is one: the system may have none
// to give.
func (p *Park) Ready() bool { return !p.none && (p.file != nil || p.make()) }

// Wait returns when an epoll instance has something. It reports false, at once, where
// nothing was waited for.
func (p *Park) Wait(ep int) bool {
	if !p.Ready() || unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, ep, &unix.EpollEvent{Events: unix.EPOLLIN}) != nil {
		return false
	}
	if p.raw.Read(p.ready) != nil {
		p.End() // Go's scheduler does not take it
		return false
	}
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, ep, nil)
	return true
}

func (p *Park) make() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		p.none = true
		return false
	}
	_ = unix.SetNonblock(fd, true) // else os takes it for a file that is never waited for
	p.fd, p.file = fd, os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.End()
		return false
	}
	p.ready = func(fd uintptr) bool {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&p.event)), 1, 0, 0, 0)
		return errno != 0 && errno != unix.EINTR || errno == 0 && n > 0
	}
	return true
}

// End closes it for good.
func (p *Park) End() {
	if p.file != nil {
		_ = p.file.Close()
	}
	p.file, p.none = nil, true
}

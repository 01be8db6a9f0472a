package sockets

import (
	"errors"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Of returns a connection's socket, as a file descriptor of its own that does not wait: the
// connection may be closed, so that Go's poller is not woken for it.
func Of(c net.Conn) (int, error) {
	s, ok := c.(syscall.Conn)
	if !ok {
		return -1, errors.New("the connection has no socket")
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	if e := raw.Control(func(from uintptr) {
		fd, err = unix.FcntlInt(from, unix.F_DUPFD_CLOEXEC, 0)
	}); e != nil {
		return -1, e
	}
	if err != nil {
		return -1, err
	}
	return fd, unix.SetNonblock(fd, true)
}

// Read reads a socket into b, which has room. n is 0 at its end, and where errno is not 0:
// EAGAIN where there is nothing yet. recv and send reach a socket without what read and
// write do for files first, some 5 % of an operation's system time.
func Read(fd int, b []byte) (n int, errno unix.Errno) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
		switch errno {
		case 0:
			return int(n), 0
		case unix.EINTR:
		default:
			return 0, errno
		}
	}
}

// Write writes what the system takes of b at once, and returns how much that is. errno is 0
// where that is less than all because the socket takes no more now.
func Write(fd int, b []byte) (done int, errno unix.Errno) {
	for done < len(b) {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[done])), uintptr(len(b)-done), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			done += int(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return done, 0
		default:
			return done, errno
		}
	}
	return done, 0
}

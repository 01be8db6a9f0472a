package poll

import (
	"errors"
	"io"
	"net"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// takeFD returns a connection's socket as a file descriptor of its own, which does not block,
// and closes the connection: Go's poller would otherwise be woken for every packet, too.
func takeFD(c net.Conn) (int, error) {
	defer func() { _ = c.Close() }()
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

// readFD reads a socket into b, which has room, as Poller.Read does. The system call is made
// without Go's scheduler (decision 0001). recv and send reach a socket without what read and
// write do for files first, some 5 % of an operation's system time.
func readFD(fd int, b []byte) (int, error) {
	for {
		n, _, errno := unix.RawSyscall6(unix.SYS_RECVFROM, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, 0, 0)
		switch {
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return 0, ErrAgain
		case errno != 0:
			return 0, errno
		case n == 0:
			return 0, io.EOF
		default:
			return int(n), nil
		}
	}
}

// writeFD writes what the system takes of b at once, and returns how much that is.
func writeFD(fd int, b []byte) (done int, err error) {
	for done < len(b) {
		n, _, errno := unix.RawSyscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[done])), uintptr(len(b)-done), unix.MSG_NOSIGNAL, 0, 0)
		switch errno {
		case 0:
			done += int(n)
		case unix.EINTR:
		case unix.EAGAIN:
			return done, nil
		default:
			return done, errno
		}
	}
	return done, nil
}

package poll

import (
	"io"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The kernel stamps data when the network stack receives it, which is before the loop's thread gets
// a CPU. The generator, and not the store, causes the delay between the stamp and the read.

// stamps holds the buffers for reading a stamp, so that a read allocates no memory.
type stamps struct {
	message unix.Msghdr
	vector  unix.Iovec
	control [64]byte
	needed  bool  // reads of a TLS connection must currently return stamps
	lag     int64 // lag found by the last such read
}

// enableTimestamps turns on time stamps for a socket. It reports whether the system supports them.
func enableTimestamps(fd int) bool {
	return unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TIMESTAMPNS, 1) == nil
}

// ReadStamped implements TimestampPoller. The lag is -1 if it is unknown.
func (p *epoll) ReadStamped(i int, b []byte) (n int, lag int64, err error) {
	c := &p.conns[i]
	switch {
	case !c.hasTimestamps:
		n, err = p.Read(i, b)
		return n, -1, err
	case c.secured != nil:
		p.stamps.needed, p.stamps.lag = true, -1
		n, err = p.Read(i, b)
		p.stamps.needed = false
		return n, p.stamps.lag, err
	}
	return p.readStamped(c.fd, b)
}

// fetch reads encrypted bytes from the socket of a TLS connection.
func (p *epoll) fetch(fd int, b []byte) (int, error) {
	if !p.stamps.needed {
		return readFD(fd, b)
	}
	n, lag, err := p.readStamped(fd, b)
	if n > 0 {
		p.stamps.lag = lag
	}
	return n, err
}

// readStamped reads from a socket, and returns how long ago the bytes arrived, or -1 if that is
// unknown.
func (p *epoll) readStamped(fd int, b []byte) (int, int64, error) {
	s := &p.stamps
	for {
		s.vector.Base = &b[0]
		s.vector.SetLen(len(b))
		s.message = unix.Msghdr{Iov: &s.vector, Control: &s.control[0]}
		s.message.SetIovlen(1)
		s.message.SetControllen(len(s.control))
		n, _, errno := unix.RawSyscall(unix.SYS_RECVMSG, uintptr(fd), uintptr(unsafe.Pointer(&s.message)), 0)
		switch {
		case errno == 0 && n > 0:
			return int(n), s.computeLag(time.Now().UnixNano()), nil
		case errno == 0:
			return 0, -1, io.EOF
		case errno == unix.EINTR:
		case errno == unix.EAGAIN:
			return 0, -1, ErrAgain
		default:
			return 0, -1, errno
		}
	}
}

// computeLag returns how long before `now`, a time on the wall clock, the bytes of the last read
// arrived. It returns -1 if the system supplied no stamp or the wall clock was set back.
func (s *stamps) computeLag(now int64) int64 {
	const length = unix.SizeofCmsghdr + int(unsafe.Sizeof(unix.Timespec{}))
	if s.message.Flags&unix.MSG_CTRUNC != 0 || int(s.message.Controllen) < length {
		return -1
	}
	head := (*unix.Cmsghdr)(unsafe.Pointer(&s.control[0]))
	if head.Level != unix.SOL_SOCKET || head.Type != unix.SO_TIMESTAMPNS {
		return -1
	}
	at := (*unix.Timespec)(unsafe.Pointer(&s.control[unix.SizeofCmsghdr]))
	if at.Sec == 0 {
		return -1
	}
	return max(now-at.Nano(), -1)
}

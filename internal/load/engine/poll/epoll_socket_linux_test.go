package poll

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// socketPair returns both ends of a connection: a file descriptor and a net.Conn.
func socketPair(t *testing.T) (fd int, other *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	served, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = served.Close() })
	if fd, err = takeFD(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := c.Close(); err == nil {
		t.Error("Go's connection is still open")
	}
	return fd, served.(*net.TCPConn)
}

// No call blocks. A read from an empty socket returns ErrAgain, a write to a socket with little
// buffer space writes a part, and a read at the end returns io.EOF.
func TestSocketCallsDoNotBlock(t *testing.T) {
	fd, other := socketPair(t)
	b := make([]byte, 1<<20)
	if n, err := readFD(fd, b); n != 0 || err != ErrAgain {
		t.Errorf("%d bytes are read from an empty socket: %v", n, err)
	}
	all := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	wrote, err := writeFD(fd, all)
	if wrote == 0 || wrote == len(all) || err != nil {
		t.Fatalf("%d of %d bytes are written: %v", wrote, len(all), err)
	}
	got := make([]byte, wrote)
	for n := 0; n < wrote; {
		more, err := other.Read(got[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += more
	}
	if !bytes.Equal(got, all[:wrote]) {
		t.Error("the bytes received differ from those written")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	ep := epollWith(t, fd)
	var park parker
	defer park.close()
	if !park.wait(ep) {
		t.Skip("this system does not support parking")
	}
	if n, err := readFD(fd, b); n != 0 || err != io.EOF {
		t.Errorf("at the end %d bytes are read: %v", n, err)
	}
}

// epollWith returns an epoll instance that watches fd.
func epollWith(t *testing.T, fd int) int {
	t.Helper()
	ep, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(ep) })
	if err := unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN}); err != nil {
		t.Fatal(err)
	}
	return ep
}

// A closed parker is not opened again.
func TestClosedParkerStaysClosed(t *testing.T) {
	fd, _ := socketPair(t)
	var park parker
	if !park.available() {
		t.Skip("this system does not support parking")
	}
	park.close()
	if park.available() || park.wait(epollWith(t, fd)) {
		t.Error("a closed parker waits")
	}
}

func TestTakeFDRefusesAPipe(t *testing.T) {
	c, _ := net.Pipe()
	if fd, err := takeFD(c); err == nil || fd != -1 {
		t.Errorf("the file descriptor is %d", fd)
	}
}

// If a socket cannot be added to the epoll instance, the poller closes it and reports the error.
func TestFailedRegistrationClosesTheSocket(t *testing.T) {
	made, err := NewPoller(1, time.Now(), Dialer{})
	if err != nil {
		t.Fatal(err)
	}
	defer made.Release()
	p := made.(*epoll)
	fd, err := unix.Open(t.TempDir(), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0) // epoll refuses folders
	if err != nil {
		t.Fatal(err)
	}
	p.dialed = []dialResult{{conn: 0, gen: p.conns[0].gen, fd: fd}}
	ready := p.takeDialed(nil)
	if len(ready) != 1 || ready[0].Err == nil {
		t.Fatalf("the results are %+v, want one error", ready)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF || p.conns[0].fd != -1 {
		t.Errorf("the descriptor of the connection is %d, and the state of the socket is %v; want -1 and %v", p.conns[0].fd, err, unix.EBADF)
	}
}

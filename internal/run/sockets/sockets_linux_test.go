package sockets_test

import (
	"bytes"
	"net"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/sockets"
)

// pair is a connection's two ends: a socket, and Go's.
func pair(t *testing.T) (fd int, other *net.TCPConn) {
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
	if fd, err = sockets.Of(c); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if err := c.Close(); err != nil { // the socket stays
		t.Fatal(err)
	}
	return fd, served.(*net.TCPConn)
}

// Nothing waits: a socket that is empty says so, one that is full takes a part, and the end
// is an empty read.
func TestNothingWaits(t *testing.T) {
	fd, other := pair(t)
	b := make([]byte, 1<<20)
	if n, errno := sockets.Read(fd, b); n != 0 || errno != unix.EAGAIN {
		t.Errorf("of an empty socket %d bytes are read: %v", n, errno)
	}
	all := bytes.Repeat([]byte("0123456789abcdef"), 4<<20)
	wrote, errno := sockets.Write(fd, all)
	if wrote == 0 || wrote == len(all) || errno != 0 {
		t.Fatalf("%d of %d bytes are written: %v", wrote, len(all), errno)
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
		t.Error("other bytes come than were written")
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	ep := watch(t, fd)
	var park sockets.Park
	defer park.End()
	if !park.Wait(ep) {
		t.Skip("this system has none to wait with")
	}
	if n, errno := sockets.Read(fd, b); n != 0 || errno != 0 {
		t.Errorf("at the end %d bytes are read: %v", n, errno)
	}
}

func watch(t *testing.T, fd int) int {
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

// What is ended is not made again.
func TestAParkThatHasEnded(t *testing.T) {
	fd, _ := pair(t)
	var park sockets.Park
	if !park.Ready() {
		t.Skip("this system has none")
	}
	park.End()
	if park.Ready() || park.Wait(watch(t, fd)) {
		t.Error("it is waited with after its end")
	}
}

func TestWhatHasNoSocket(t *testing.T) {
	c, _ := net.Pipe()
	if fd, err := sockets.Of(c); err == nil || fd != -1 {
		t.Errorf("it is %d", fd)
	}
}

package poll

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewPoller returns a poller that uses epoll, for the given number of connections. The poller's
// clock shows the time since base.
func NewPoller(conns int, base time.Time, dialer Dialer) (Poller, error) {
	p := &epoll{base: base, dialer: dialer, conns: make([]epollConn, conns), addresses: map[string]unix.Sockaddr{}, events: make([]unix.EpollEvent, 256)}
	for i := range p.conns {
		p.conns[i].fd = -1
	}
	var err error
	if p.epollFD, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("cannot create an epoll instance: %w", err)
	}
	if p.eventFD, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		_ = unix.Close(p.epollFD)
		return nil, fmt.Errorf("cannot create an eventfd: %w", err)
	}
	if err = p.control(unix.EPOLL_CTL_ADD, p.eventFD, unix.EPOLLIN, wakeConn, 0); err != nil {
		p.Release()
		return nil, fmt.Errorf("cannot add an eventfd to epoll: %w", err)
	}
	return p, nil
}

// Attach locks the loop's goroutine to its thread, and turns off the 50 µs slack of the thread's
// timers.
func (p *epoll) Attach() int {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	p.delays.openStatistics()
	return unix.Gettid()
}

// Wait implements Poller.
func (p *epoll) Wait(until int64, ready []Ready) []Ready {
	ready = append(ready, p.ready...)
	if len(p.ready) > 0 {
		until, p.ready = 0, p.ready[:0]
	}
	wait := max(until-p.Now(), 0)
	p.timeout = unix.NsecToTimespec(wait)
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.epollFD), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.timeout)), 0, 0)
	if errno != 0 {
		n = 0
		if errno == unix.ENOSYS {
			n = p.waitMillis(wait)
		}
	}
	for _, e := range p.events[:n] {
		ready = p.appendReady(e, ready)
	}
	return ready
}

// waitMillis replaces epoll_pwait2 on kernels before 5.11, which do not have it. The timeout is
// rounded down to whole milliseconds.
func (p *epoll) waitMillis(wait int64) uintptr {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.epollFD), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(wait/millisecond), 0, 0)
	if errno != 0 {
		return 0
	}
	return n
}

// appendReady appends to `ready` the states of connections that an epoll event reports, if any.
func (p *epoll) appendReady(e unix.EpollEvent, ready []Ready) []Ready {
	switch e.Fd {
	case beatConn:
		p.readCount(p.beatFD) // reading the counter rearms the timer
		return ready
	case wakeConn:
		p.readCount(p.eventFD)
		return p.takeDialed(ready)
	}
	i := int(e.Fd)
	if p.conns[i].gen != e.Pad || p.conns[i].fd < 0 {
		return ready // this event belongs to a connection that has been closed
	}
	if p.conns[i].connecting {
		return append(ready, p.finishConnect(i))
	}
	if e.Events&unix.EPOLLOUT != 0 {
		if s := p.conns[i].secured; s == nil || p.resumeSealed(i) {
			p.notifyWritable(i, false)
			ready = append(ready, Ready{Conn: i, Reason: Writable})
		}
	}
	if e.Events&^unix.EPOLLOUT != 0 {
		ready = append(ready, Ready{Conn: i, Reason: Readable})
	}
	return ready
}

// notifyWritable turns on or off the events by which epoll reports that a socket is writable.
func (p *epoll) notifyWritable(i int, out bool) {
	c := &p.conns[i]
	if c.notifiesWritable == out {
		return
	}
	c.notifiesWritable = out
	events := uint32(unix.EPOLLIN)
	if out {
		events |= unix.EPOLLOUT
	}
	_ = p.control(unix.EPOLL_CTL_MOD, c.fd, events, i, c.gen)
}

// Read implements Poller.
func (p *epoll) Read(i int, b []byte) (int, error) {
	if s := p.conns[i].secured; s != nil {
		n, err := s.read(b)
		// Reading can also produce encrypted output, for example for a key update.
		if e := p.writeSealed(i); err == nil {
			err = e
		}
		return n, err
	}
	return readFD(p.conns[i].fd, b)
}

// Write implements Poller.
func (p *epoll) Write(i int, b []byte) (int, error) {
	c := &p.conns[i]
	if c.secured == nil {
		n, err := writeFD(c.fd, b)
		if err == nil && n < len(b) {
			p.notifyWritable(i, true)
		}
		return n, err
	}
	if len(c.secured.out) > 0 {
		return 0, nil // Wait returns Writable after the earlier output has been written
	}
	n, err := c.secured.write(b)
	if err != nil {
		return n, err
	}
	return n, p.writeSealed(i)
}

// writeSealed writes as much of a TLS connection's encrypted output as the socket accepts.
func (p *epoll) writeSealed(i int) error {
	c := &p.conns[i]
	if len(c.secured.out) == 0 {
		return nil
	}
	n, err := writeFD(c.fd, c.secured.out)
	c.secured.discardOutput(n)
	if err == nil && len(c.secured.out) > 0 {
		p.notifyWritable(i, true)
	}
	return err
}

// resumeSealed calls writeSealed after EPOLLOUT, and reports whether all output has been written or
// writing failed. If it failed, the next read returns the error.
func (p *epoll) resumeSealed(i int) bool {
	return p.writeSealed(i) != nil || len(p.conns[i].secured.out) == 0
}

// Close implements Poller.
func (p *epoll) Close(i int) {
	c := &p.conns[i]
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
	}
	c.fd, c.notifiesWritable, c.connecting, c.hasTimestamps, c.secured = -1, false, false, false, nil
	c.gen++
}

// Wake implements Poller.
func (p *epoll) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// wake is Wake for callers that hold the lock. After Release, wake does nothing because the
// descriptor's number may already belong to another file.
func (p *epoll) wake() {
	if p.epollFD < 0 {
		return
	}
	increment := [8]byte{0: 1}
	_, _ = unix.Write(p.eventFD, increment[:])
}

// Release implements Poller.
func (p *epoll) Release() {
	for i := range p.conns {
		p.Close(i)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, d := range p.dialed {
		if d.err == nil {
			_ = unix.Close(d.fd)
		}
	}
	p.dialed = nil
	p.endBeat()
	p.parker.close()
	p.delays.close()
	_ = unix.Close(p.epollFD)
	_ = unix.Close(p.eventFD)
	p.epollFD = -1
}

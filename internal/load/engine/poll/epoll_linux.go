package poll

import (
	"fmt"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// NewPoller returns the system's poller for the given number of connections.
// Its clock is the time since base.
func NewPoller(conns int, base time.Time, dialer Dialer) (Poller, error) {
	p := &epoll{base: base, dialer: dialer, conns: make([]epollConn, conns), known: map[string]unix.Sockaddr{}, events: make([]unix.EpollEvent, 256)}
	for i := range p.conns {
		p.conns[i].fd = -1
	}
	var err error
	if p.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("this system gives no epoll instance: %w", err)
	}
	if p.ev, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		_ = unix.Close(p.ep)
		return nil, fmt.Errorf("this system gives no eventfd: %w", err)
	}
	if err = p.control(unix.EPOLL_CTL_ADD, p.ev, unix.EPOLLIN, wakeConn, 0); err != nil {
		p.Release()
		return nil, fmt.Errorf("epoll does not take an eventfd: %w", err)
	}
	return p, nil
}

// Attach binds the loop to its thread, whose timers then end without the
// system's usual 50 µs of slack.
func (p *epoll) Attach() int {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	p.delays.open()
	return unix.Gettid()
}

func (p *epoll) Wait(until int64, ready []Ready) []Ready {
	ready = append(ready, p.ready...)
	if len(p.ready) > 0 {
		until, p.ready = 0, p.ready[:0]
	}
	wait := max(until-p.Now(), 0)
	p.timeout = unix.NsecToTimespec(wait)
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(p.ep), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(unsafe.Pointer(&p.timeout)), 0, 0)
	if errno != 0 {
		n = 0
		if errno == unix.ENOSYS {
			n = p.waitMillis(wait)
		}
	}
	for _, e := range p.events[:n] {
		ready = p.take(e, ready)
	}
	return ready
}

// waitMillis is for kernels before 5.11.
func (p *epoll) waitMillis(wait int64) uintptr {
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(p.ep), uintptr(unsafe.Pointer(&p.events[0])),
		uintptr(len(p.events)), uintptr(wait/millisecond), 0, 0)
	if errno != 0 {
		return 0
	}
	return n
}

func (p *epoll) take(e unix.EpollEvent, ready []Ready) []Ready {
	switch e.Fd {
	case beatConn:
		p.readCount(p.beat) // the system sets the timer again when it is read
		return ready
	case wakeConn:
		p.readCount(p.ev)
		return p.takeDialed(ready)
	}
	i := int(e.Fd)
	if p.conns[i].gen != e.Pad || p.conns[i].fd < 0 {
		return ready // of a connection that was closed meanwhile
	}
	if p.conns[i].coming {
		return append(ready, p.came(i))
	}
	if e.Events&unix.EPOLLOUT != 0 {
		if s := p.conns[i].secured; s == nil || p.push(i) {
			p.want(i, false)
			ready = append(ready, Ready{Conn: i, What: Writable})
		}
	}
	if e.Events&^unix.EPOLLOUT != 0 {
		ready = append(ready, Ready{Conn: i, What: Readable})
	}
	return ready
}

// want asks for EPOLLOUT, or no longer.
func (p *epoll) want(i int, out bool) {
	c := &p.conns[i]
	if c.asked == out {
		return
	}
	c.asked = out
	events := uint32(unix.EPOLLIN)
	if out {
		events |= unix.EPOLLOUT
	}
	_ = p.control(unix.EPOLL_CTL_MOD, c.fd, events, i, c.gen)
}

func (p *epoll) Read(i int, b []byte) (int, error) {
	if s := p.conns[i].secured; s != nil {
		n, err := s.read(b)
		// Reading may have sealed something, such as a key update.
		if e := p.pushed(i); err == nil {
			err = e
		}
		return n, err
	}
	return readFD(p.conns[i].fd, b)
}

func (p *epoll) Write(i int, b []byte) (int, error) {
	c := &p.conns[i]
	if c.secured == nil {
		n, err := writeFD(c.fd, b)
		if err == nil && n < len(b) {
			p.want(i, true)
		}
		return n, err
	}
	if len(c.secured.out) > 0 {
		return 0, nil // Writable follows when what was sealed before is gone
	}
	n, err := c.secured.write(b)
	if err != nil {
		return n, err
	}
	return n, p.pushed(i)
}

// pushed writes what a secured connection has sealed.
func (p *epoll) pushed(i int) error {
	c := &p.conns[i]
	if len(c.secured.out) == 0 {
		return nil
	}
	n, err := writeFD(c.fd, c.secured.out)
	c.secured.wrote(n)
	if err == nil && len(c.secured.out) > 0 {
		p.want(i, true)
	}
	return err
}

// push is pushed after EPOLLOUT; it reports whether all is written. An error
// shows at the next read.
func (p *epoll) push(i int) bool {
	return p.pushed(i) != nil || len(p.conns[i].secured.out) == 0
}

func (p *epoll) Close(i int) {
	c := &p.conns[i]
	if c.cancel != nil {
		c.cancel()
		c.cancel = nil
	}
	if c.fd >= 0 {
		_ = unix.Close(c.fd)
	}
	c.fd, c.asked, c.coming, c.stamped, c.secured = -1, false, false, false, nil
	c.gen++
}

func (p *epoll) Wake() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.wake()
}

// wake is Wake with the lock held: after Release the number may be another
// file's.
func (p *epoll) wake() {
	if p.ep < 0 {
		return
	}
	one := [8]byte{0: 1}
	_, _ = unix.Write(p.ev, one[:])
}

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
	p.park.close()
	p.delays.close()
	_ = unix.Close(p.ep)
	_ = unix.Close(p.ev)
	p.ep = -1
}

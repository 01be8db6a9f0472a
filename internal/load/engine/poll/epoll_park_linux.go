package poll

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Park implements ParkPoller. Park sets the beat's timer to end the park at `until`, and afterwards
// restores the beat.
func (p *epoll) Park(until int64) {
	wait := until - p.Now()
	if wait <= 0 || len(p.ready) > 0 || !p.canPark() {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(wait)}
	if unix.TimerfdSettime(p.beatFD, 0, &spec, nil) != nil {
		return
	}
	p.parker.wait(p.epollFD)
	p.SetBeat(p.period)
}

// canPark creates the timer and the epoll instance that Park needs, and reports whether both exist.
// Without the timer, nothing would end a park at the requested time.
func (p *epoll) canPark() bool {
	if p.beatFD < 0 || p.beatFD == 0 && !p.makeBeat() {
		p.parker.close()
	}
	return p.parker.available()
}

// parker lets a loop wait without occupying one of Go's processors, in the same way as a goroutine
// that waits for the network. A parker is a second epoll instance, which Go's scheduler watches. It
// contains the loop's own epoll instance only while the loop is parked, so that events for a busy
// loop do not wake another thread. The zero value is ready for use.
type parker struct {
	file        *os.File
	fd          int // descriptor of `file` (file.Fd must not be called: it could make reads block)
	raw         syscall.RawConn
	ready       func(fd uintptr) bool
	event       unix.EpollEvent
	unavailable bool // the system does not support parking
}

// available creates the parker's epoll instance if needed, and reports whether the instance exists.
// The system may refuse to create it.
func (p *parker) available() bool { return !p.unavailable && (p.file != nil || p.open()) }

// wait returns when the epoll instance ep has an event. If it cannot wait, it returns false
// immediately.
func (p *parker) wait(ep int) bool {
	if !p.available() || unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, ep, &unix.EpollEvent{Events: unix.EPOLLIN}) != nil {
		return false
	}
	if p.raw.Read(p.ready) != nil {
		p.close() // Go's scheduler does not accept the epoll instance
		return false
	}
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, ep, nil)
	return true
}

// open creates the epoll instance and registers it with Go's scheduler.
func (p *parker) open() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		p.unavailable = true
		return false
	}
	_ = unix.SetNonblock(fd, true) // otherwise package os assumes that reads block a thread
	p.fd, p.file = fd, os.NewFile(uintptr(fd), "epoll")
	if p.raw, err = p.file.SyscallConn(); err != nil {
		p.close()
		return false
	}
	p.ready = func(fd uintptr) bool {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&p.event)), 1, 0, 0, 0)
		return errno != 0 && errno != unix.EINTR || errno == 0 && n > 0
	}
	return true
}

// close closes the parker's epoll instance, which is not opened again.
func (p *parker) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	p.file, p.unavailable = nil, true
}

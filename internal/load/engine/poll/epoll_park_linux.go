package poll

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Park implements Parking. The timer of the beat ends it, and beats again afterwards.
func (p *epoll) Park(until int64) {
	wait := until - p.Now()
	if wait <= 0 || len(p.ready) > 0 || !p.mayPark() {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(wait)}
	if unix.TimerfdSettime(p.beat, 0, &spec, nil) != nil {
		return
	}
	p.park.wait(p.ep)
	p.SetBeat(p.period)
}

// mayPark creates what Park needs, and reports whether it succeeded. Without the timer
// nothing would end a park.
func (p *epoll) mayPark() bool {
	if p.beat < 0 || p.beat == 0 && !p.makeBeat() {
		p.park.close()
	}
	return p.park.available()
}

// parker waits as any other goroutine does. It is an epoll instance that Go's scheduler
// watches. It contains the loop's own epoll instance only while the loop is parked, so that
// the events of a busy loop wake no other thread. The zero value is ready for use.
type parker struct {
	file        *os.File
	fd          int // of file; calling file.Fd could make reads block
	raw         syscall.RawConn
	ready       func(fd uintptr) bool
	event       unix.EpollEvent
	unavailable bool // the system does not support parking
}

// available creates the epoll instance if needed, and reports whether there is one. The
// system may refuse it.
func (p *parker) available() bool { return !p.unavailable && (p.file != nil || p.open()) }

// wait returns when the epoll instance ep has an event. It returns false at once if it
// cannot wait.
func (p *parker) wait(ep int) bool {
	if !p.available() || unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, ep, &unix.EpollEvent{Events: unix.EPOLLIN}) != nil {
		return false
	}
	if p.raw.Read(p.ready) != nil {
		p.close() // Go's scheduler does not accept it
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
	_ = unix.SetNonblock(fd, true) // otherwise package os treats it as a file that never blocks
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

// close closes the instance, which is not opened again.
func (p *parker) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	p.file, p.unavailable = nil, true
}

package poll

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Park implements Parking. The beat's timer ends the wait, and beats again after it.
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

// mayPark makes what parking needs: a timer ends it.
func (p *epoll) mayPark() bool {
	if p.beat < 0 || p.beat == 0 && !p.makeBeat() {
		p.park.close()
	}
	return p.park.available()
}

// parker waits as any goroutine does. It is an epoll instance that Go's scheduler watches and
// that holds the loop's own one only while the loop is parked, so that events of a busy loop
// wake no other thread. The zero value is made when it is first needed.
type parker struct {
	file  *os.File
	fd    int // the file's; its Fd might have reads wait in the system
	raw   syscall.RawConn
	ready func(fd uintptr) bool
	event unix.EpollEvent
	none  bool
}

// available makes the epoll instance if need be, and reports whether there is one: the system
// may refuse it.
func (p *parker) available() bool { return !p.none && (p.file != nil || p.open()) }

// wait returns when the epoll instance ep has an event. It reports false, at once, if it
// cannot wait.
func (p *parker) wait(ep int) bool {
	if !p.available() || unix.EpollCtl(p.fd, unix.EPOLL_CTL_ADD, ep, &unix.EpollEvent{Events: unix.EPOLLIN}) != nil {
		return false
	}
	if p.raw.Read(p.ready) != nil {
		p.close() // Go's scheduler refuses it
		return false
	}
	_ = unix.EpollCtl(p.fd, unix.EPOLL_CTL_DEL, ep, nil)
	return true
}

func (p *parker) open() bool {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		p.none = true
		return false
	}
	_ = unix.SetNonblock(fd, true) // otherwise os treats it as a file that is never waited for
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

// close closes the instance for good.
func (p *parker) close() {
	if p.file != nil {
		_ = p.file.Close()
	}
	p.file, p.none = nil, true
}

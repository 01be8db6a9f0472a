package engine

import (
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Go's scheduler watches one more epoll instance, which has the loop's own in it only
// while the loop is parked: events of a busy loop wake nobody else.

// parked is that instance.
type parked struct {
	file  *os.File
	fd    int // the file's; its Fd might have reads wait in the system
	raw   syscall.RawConn
	ready func(fd uintptr) bool
	event unix.EpollEvent
	none  bool // the system gives none
}

// makePark makes it, and the timer that ends a wait.
func (p *epoll) makePark() bool {
	if p.park.none || p.beat < 0 || p.beat == 0 && !p.makeBeat() {
		p.park.none = true
		return false
	}
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		p.park.none = true
		return false
	}
	_ = unix.SetNonblock(fd, true) // else os takes it for a file that is never waited for
	p.park.fd, p.park.file = fd, os.NewFile(uintptr(fd), "epoll")
	if p.park.raw, err = p.park.file.SyscallConn(); err != nil {
		p.endPark()
		return false
	}
	p.park.ready = func(fd uintptr) bool {
		n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, fd, uintptr(unsafe.Pointer(&p.park.event)), 1, 0, 0, 0)
		return errno != 0 && errno != unix.EINTR || errno == 0 && n > 0
	}
	return true
}

// Park implements Parking. The beat's timer ends the wait, and beats again after it.
func (p *epoll) Park(until int64) {
	wait := until - p.Now()
	if wait <= 0 || len(p.ready) > 0 || p.park.file == nil && !p.makePark() {
		return
	}
	spec := unix.ItimerSpec{Value: unix.NsecToTimespec(wait)}
	if unix.TimerfdSettime(p.beat, 0, &spec, nil) != nil {
		return
	}
	if unix.EpollCtl(p.park.fd, unix.EPOLL_CTL_ADD, p.ep, &unix.EpollEvent{Events: unix.EPOLLIN}) == nil {
		if p.park.raw.Read(p.park.ready) != nil {
			p.endPark() // Go's scheduler does not take it
		} else {
			_ = unix.EpollCtl(p.park.fd, unix.EPOLL_CTL_DEL, p.ep, nil)
		}
	}
	p.SetBeat(p.period)
}

// endPark closes it for good.
func (p *epoll) endPark() {
	if p.park.file != nil {
		_ = p.park.file.Close()
	}
	p.park.file, p.park.none = nil, true
}

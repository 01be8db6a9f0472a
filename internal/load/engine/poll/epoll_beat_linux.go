package poll

import (
	"golang.org/x/sys/unix"
)

// A timer of the loop's own wakes it at each beat. A timeout of each wait that
// is as short would be set and cancelled with each of them, which costs 4 µs of
// processor time on a virtual machine, for which that leaves the machine.

// beatConn marks the timer among the events.
const beatConn = -2

// SetBeat makes Wait end at each multiple of period on the clock, too; 0 ends
// that. It reports whether the system does it.
func (p *epoll) SetBeat(period int64) bool {
	if p.beat < 0 {
		return false
	}
	if p.beat == 0 && !p.makeBeat() {
		p.beat = -1
		return false
	}
	p.period = period
	var spec unix.ItimerSpec
	if period > 0 {
		spec.Interval = unix.NsecToTimespec(period)
		spec.Value = unix.NsecToTimespec(period - p.Now()%period)
	}
	return unix.TimerfdSettime(p.beat, 0, &spec, nil) == nil
}

// makeBeat makes the timer.
func (p *epoll) makeBeat() bool {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false
	}
	if err := p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, beatConn, 0); err != nil {
		_ = unix.Close(fd)
		return false
	}
	p.beat = fd
	return true
}

// endBeat closes the timer.
func (p *epoll) endBeat() {
	if p.beat > 0 {
		_ = unix.Close(p.beat)
	}
	p.beat = -1
}

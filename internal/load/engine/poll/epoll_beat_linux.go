package poll

import (
	"golang.org/x/sys/unix"
)

// A timerfd wakes the loop at each beat. The alternative is to give each wait a short timeout. The
// kernel would then set and cancel a timer in every wait. On a virtual machine, this costs 4 µs of
// CPU time because the hypervisor manages the timer.

// beatConn identifies the beat's timer in epoll events.
const beatConn = -2

// SetBeat implements BeatPoller.
func (p *epoll) SetBeat(period int64) bool {
	if p.beatFD < 0 {
		return false
	}
	if p.beatFD == 0 && !p.makeBeat() {
		p.beatFD = -1
		return false
	}
	p.period = period
	var spec unix.ItimerSpec
	if period > 0 {
		spec.Interval = unix.NsecToTimespec(period)
		spec.Value = unix.NsecToTimespec(period - p.Now()%period)
	}
	return unix.TimerfdSettime(p.beatFD, 0, &spec, nil) == nil
}

// makeBeat creates the timer, and reports whether it succeeded.
func (p *epoll) makeBeat() bool {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_NONBLOCK|unix.TFD_CLOEXEC)
	if err != nil {
		return false
	}
	if err := p.control(unix.EPOLL_CTL_ADD, fd, unix.EPOLLIN, beatConn, 0); err != nil {
		_ = unix.Close(fd)
		return false
	}
	p.beatFD = fd
	return true
}

// endBeat closes the timer.
func (p *epoll) endBeat() {
	if p.beatFD > 0 {
		_ = unix.Close(p.beatFD)
	}
	p.beatFD = -1
}

package null

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

// systemClock waits on a timerfd, which the kernel signals within about 50 us. A timer in Go would
// be rounded up to a millisecond while the process is otherwise idle.
type systemClock struct {
	start time.Time
	fd    int
}

// NewClock returns a clock whose time is now 0. It fails if the process has no free file
// descriptor.
func NewClock() (Clock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("null server: cannot create a timer for the script's delays: %w", err)
	}
	return &systemClock{start: time.Now(), fd: fd}, nil
}

func (c *systemClock) Now() int64 { return int64(time.Since(c.start)) }

func (c *systemClock) Arm(at int64) {
	var spec unix.ItimerSpec
	spec.Value = unix.NsecToTimespec(max(at-c.Now(), 1)) // 0 would stop the timer
	_ = unix.TimerfdSettime(c.fd, 0, &spec, nil)         // cannot fail with a timer and a valid spec
}

// Wait blocks its OS thread in the kernel until the timer fires.
func (c *systemClock) Wait() {
	var expirations [8]byte
	for {
		if _, err := unix.Read(c.fd, expirations[:]); err != unix.EINTR {
			return
		}
	}
}

func (c *systemClock) Close() { _ = unix.Close(c.fd) }

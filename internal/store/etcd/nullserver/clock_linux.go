package nullserver

import (
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// systemClock waits on a timerfd, whose expiry the kernel delivers within some
// 50 µs. Go's own timers are rounded up to a millisecond when the process is
// otherwise idle.
type systemClock struct {
	start time.Time
	fd    int
	f *os.File
	b [8]byte
}

func newClock() (clock, error) {
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC|unix.TFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("null server: no timer for the script's delays: %w", err)
	}
	return &systemClock{start: time.Now(), fd: fd, f: os.NewFile(uintptr(fd), "timer")}, nil
}

func (c *systemClock) now() int64 { return int64(time.Since(c.start)) }

func (c *systemClock) arm(at int64) {
	var spec unix.ItimerSpec
	spec.Value = unix.NsecToTimespec(max(at-c.now(), 1)) // 0 would disarm it
	_ = unix.TimerfdSettime(c.fd, 0, &spec, nil)         // cannot fail: fd is a timer, spec in range
}

// wait blocks a thread of its own in the kernel.
func (c *systemClock) wait() {
	_, _ = c.f.Read(c.b[:])
}

func (c *systemClock) close() { _ = c.f.Close() }

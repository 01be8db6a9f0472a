package poll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// A delays value reads the kernel's scheduler statistics of the loop's thread. The statistics
// consist of three numbers; the second is the time that the thread waited for a CPU (see
// sched-stats in the kernel's documentation). The file stays open because it is read a thousand
// times per second, and on a busy machine more often.
type delays struct {
	fd   int // 0: not open
	text [96]byte
}

// openStatistics opens the statistics file of the calling thread. The calling goroutine must be
// locked to its thread.
func (d *delays) openStatistics() {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		d.fd = fd
	}
}

// close closes the file.
func (d *delays) close() {
	if d.fd > 0 {
		_ = unix.Close(d.fd)
	}
	d.fd = 0
}

// RunDelay implements RunDelayPoller.
func (p *epoll) RunDelay() (ns int64, ok bool) {
	d := &p.delays
	if d.fd <= 0 {
		return 0, false
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_PREAD64, uintptr(d.fd), uintptr(unsafe.Pointer(&d.text[0])), unsafe.Sizeof(d.text), 0, 0, 0)
	if errno != 0 {
		return 0, false
	}
	return secondNumber(d.text[:n])
}

// secondNumber returns the second of the decimal numbers at the beginning of text. The numbers are
// separated by spaces.
func secondNumber(text []byte) (n int64, ok bool) {
	blanks := 0
	for _, c := range text {
		switch {
		case c == ' ' && blanks == 1:
			return n, ok
		case c == ' ':
			blanks++
		case c < '0' || c > '9':
			return 0, false
		case blanks == 1:
			n, ok = 10*n+int64(c-'0'), true
		}
	}
	return 0, false
}

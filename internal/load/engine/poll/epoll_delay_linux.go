package poll

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// delays reads the file in which the kernel counts what the scheduler did with the
// loop's thread: three numbers, of which the second is how long it waited for a
// processor (sched-stats in the kernel's documentation). It stays open, because it is
// read a thousand times a second and more where the machine is full.
type delays struct {
	fd   int // 0: not opened, or there is none
	text [96]byte
}

// open opens that of the calling thread, which keeps its goroutine.
func (d *delays) open() {
	fd, err := unix.Open("/proc/thread-self/schedstat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		d.fd = fd
	}
}

func (d *delays) close() {
	if d.fd > 0 {
		_ = unix.Close(d.fd)
	}
	d.fd = 0
}

// RunDelay implements Scheduled.
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

// secondNumber is the second of the numbers in decimal digits that a text begins with.
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

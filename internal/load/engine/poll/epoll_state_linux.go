package poll

import (
	"context"
	"net"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll is the Poller for Linux: non-blocking sockets, level-triggered epoll,
// and epoll_pwait2's nanosecond timeout in place of a timerfd, which would cost
// a system call to set and an event to read for each wake-up.
//
// System calls are made without informing Go's scheduler. Informed, it takes the
// loop's processor away after 20 µs in epoll_wait, and its monitor thread
// polls every 20 µs to do so: 2.8 µs of processor time an operation in place of
// 1.9 at 52,000 a second.
// Otherwise the monitor interrupts the wait with a signal every 10 ms, and at
// once when the garbage collector wants the loop to stop, which is all that
// the runtime needs.
type epoll struct {
	base    time.Time
	dialer  Dialer
	ep, ev  int   // epoll and eventfd
	beat    int   // the timer of SetBeat; 0: not made, -1: none
	period  int64 // of the beat; 0: there is none
	park    parker
	conns   []epollConn
	known   map[string]unix.Sockaddr // addresses of endpoints
	events  []unix.EpollEvent
	ready   []Ready // found while doing something else
	timeout unix.Timespec
	count   uint64 // what readCount read
	stamps  stamps
	delays  delays

	mu     sync.Mutex
	dialed []dialResult
}

type epollConn struct {
	fd      int // -1: none
	gen     int32
	asked   bool   // EPOLLOUT is asked for
	stamped bool   // the system says when bytes arrived
	coming  bool   // connecting; EPOLLOUT says how that ended
	at      string // the endpoint of a brief connection
	cancel  context.CancelFunc
	secured *secured
}

// wakeConn marks the eventfd among the events.
const wakeConn = -1

func (p *epoll) Now() int64 { return int64(time.Since(p.base)) }

type dialResult struct {
	conn    int
	gen     int32
	fd      int
	secured *secured
	err     error

	endpoint string
	remote   net.Addr
}

func (p *epoll) control(op, fd int, events uint32, conn int, gen int32) error {
	return unix.EpollCtl(p.ep, op, fd, &unix.EpollEvent{Events: events, Fd: int32(conn), Pad: gen})
}

// readCount reads the counter of a timer or an eventfd. Neither waits: it is
// read when it is ready.
func (p *epoll) readCount(fd int) {
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p.count)), unsafe.Sizeof(p.count))
}

package poll

import (
	"context"
	"net"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// epoll implements Poller for Linux with non-blocking sockets and level-triggered epoll. A wait
// ends at the nanosecond timeout of epoll_pwait2. With a timerfd, each wake-up would need one more
// system call to set the timer and one more event to read.
//
// System calls bypass Go's scheduler. If the scheduler knew of them, its monitor thread would poll
// every 20 µs, and would take the loop's processor away whenever the loop is in epoll_wait for more
// than 20 µs. An operation would then cost 2.8 µs of CPU time instead of 1.9 µs, at 52,000
// operations per second. Because the scheduler does not know of the wait, the monitor thread only
// interrupts it with a signal: every 10 ms, and immediately when the garbage collector needs the
// loop to stop. This is enough for the Go runtime.
type epoll struct {
	base             time.Time
	dialer           Dialer
	epollFD, eventFD int   // file descriptors of epoll and eventfd
	beatFD           int   // file descriptor of SetBeat's timer; 0: not created, -1: not available
	period           int64 // beat's period in nanoseconds; 0: no beat
	parker           parker
	conns            []epollConn
	addresses        map[string]unix.Sockaddr // address of each endpoint whose address is known
	events           []unix.EpollEvent
	ready            []Ready // results that the next Wait must return first
	timeout          unix.Timespec
	count            uint64 // buffer of readCount
	stamps           stamps
	delays           delays

	mu     sync.Mutex
	dialed []dialResult
}

type epollConn struct {
	fd int // -1: not connected
	// gen changes with each connection, so that late events for an earlier connection are
	// recognized.
	gen              int32
	notifiesWritable bool   // epoll reports when the socket is writable
	hasTimestamps    bool   // the system reports when bytes arrived
	connecting       bool   // connect is in progress; EPOLLOUT will report its end
	endpoint         string // endpoint to which the method `connect` is connecting
	cancel           context.CancelFunc
	secured          *secured
}

// wakeConn identifies the eventfd in epoll events.
const wakeConn = -1

// Now implements Poller.
func (p *epoll) Now() int64 { return int64(time.Since(p.base)) }

// dialResult is the result of a dial that ran in its own goroutine.
type dialResult struct {
	conn    int
	gen     int32
	fd      int
	secured *secured
	err     error

	endpoint string
	remote   net.Addr
}

// control adds or changes a file descriptor in the epoll instance.
func (p *epoll) control(op, fd int, events uint32, conn int, gen int32) error {
	return unix.EpollCtl(p.epollFD, op, fd, &unix.EpollEvent{Events: events, Fd: int32(conn), Pad: gen})
}

// readCount reads the counter of a timerfd or an eventfd. An epoll event must have reported that
// the descriptor is readable, because otherwise the read would block.
func (p *epoll) readCount(fd int) {
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(fd), uintptr(unsafe.Pointer(&p.count)), unsafe.Sizeof(p.count))
}

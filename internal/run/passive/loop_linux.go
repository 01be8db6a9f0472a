package passive

import (
	"net"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/quorumbench/quorumbench/internal/run/sockets"
)

const (
	// relayBlock is how much memory a loop takes at a time to read into, and leastRoom how
	// much of it must be left for a read.
	relayBlock = 128 << 10
	leastRoom  = 16 << 10
	// quietWait is how long a loop waits in the system, in milliseconds, and quietWaits
	// how many such waits in which nothing comes it takes until it parks.
	quietWait  = 10
	quietWaits = 2
	// spareOuts is how many buffers for what cannot be written yet are kept.
	spareOuts = 16
)

// wakeSlot marks the eventfd among the events.
const wakeSlot = -1

// loop passes connections on in one thread: where one call's bytes wake one goroutine
// for each direction, waking them takes more time than all the rest (decision 0073).
// Like the generator's loops (decision 0001) it makes system calls that Go's scheduler
// does not hear of, and it parks when nothing comes.
//
// It gives copies of what it read to the queue after all that was ready was written, so
// that its thread does nothing else while bytes wait.
type loop struct {
	relay *Relay
	queue *queue
	ep    int
	ev    int // an eventfd, which wakes it
	park  sockets.Park
	quiet int // waits in a row in which nothing came
	count uint64

	events [256]unix.EpollEvent
	links  []*link // by slot
	slots  []int32 // those that are free
	freed  []int32 // those that are when the events at hand are done
	pieces []piece // for the queue
	block  *buffer
	used   int // of block
	spare  [][]byte

	mu      sync.Mutex
	coming  []*link
	stopped bool // no connection goes on
	closed  bool // none comes
	done    chan struct{}
}

// link is one connection that is passed on.
type link struct {
	of    *tapped
	sides [2]side // the client's, and the member's
	slot  int32
	ended chan struct{}
}

// side is one of its sockets. What is read from it is written to the other.
type side struct {
	fd    int
	asked uint32 // what epoll is to tell of it; 0: it is not in it
	over  bool   // it says nothing more
	out   []byte // what could not be written to it yet, from sent on
	sent  int
}

// beginLoops gives each lane a loop. Where the system has none to give, goroutines pass
// its connections on.
func (r *Relay) beginLoops() {
	for i := range r.lanes {
		r.lanes[i].loop = newLoop(r, r.lanes[i].queue)
	}
	// Each keeps its processor in Go's scheduler, and others must run too.
	if least := len(r.lanes) + 1; runtime.GOMAXPROCS(0) < least {
		runtime.GOMAXPROCS(least)
	}
}

func newLoop(r *Relay, q *queue) *loop {
	l := &loop{relay: r, queue: q, ep: -1, done: make(chan struct{})}
	var err error
	if l.ev, err = unix.Eventfd(0, unix.EFD_NONBLOCK|unix.EFD_CLOEXEC); err != nil {
		return nil
	}
	if l.ep, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err == nil {
		err = unix.EpollCtl(l.ep, unix.EPOLL_CTL_ADD, l.ev, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: wakeSlot})
	}
	if err != nil {
		l.release()
		return nil
	}
	l.block = r.buffer(relayBlock)
	go l.run()
	return l
}

func (l *loop) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fd := range [...]int{l.ep, l.ev} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
	l.ep, l.ev = -1, -1
	l.park.End()
}

// pass passes a connection on, and returns when it has ended; it reports false where the
// sockets cannot be had.
func (l *loop) pass(t *tapped, client, server net.Conn) bool {
	a, err := sockets.Of(client)
	if err != nil {
		return false
	}
	b, err := sockets.Of(server)
	if err != nil {
		_ = unix.Close(a)
		return false
	}
	_, _ = client.Close(), server.Close() // Go's scheduler need not watch them
	k := &link{of: t, sides: [2]side{{fd: a}, {fd: b}}, ended: make(chan struct{})}
	l.mu.Lock()
	l.coming = append(l.coming, k)
	l.wake()
	l.mu.Unlock()
	<-k.ended
	return true
}

// stop ends all connections.
func (l *loop) stop() {
	l.mu.Lock()
	l.stopped = true
	l.wake()
	l.mu.Unlock()
}

// close ends the loop, when no connection comes any more and all have ended.
func (l *loop) close() {
	l.mu.Lock()
	l.closed = true
	l.wake()
	l.mu.Unlock()
	<-l.done
	l.release()
}

// wake wakes the loop; the lock is held.
func (l *loop) wake() {
	if l.ev < 0 {
		return // it has ended, and the number may be another file's
	}
	one := [8]byte{0: 1}
	_, _ = unix.Write(l.ev, one[:])
}

func (l *loop) run() {
	defer close(l.done)
	runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
	for {
		awoken := false
		for _, e := range l.wait() {
			if e.Fd == wakeSlot {
				awoken = true
			} else if k := l.links[e.Fd>>1]; k != nil { // else it ended a moment ago
				l.ready(k, int(e.Fd&1), e.Events)
			}
		}
		if awoken && l.control() {
			return
		}
		l.slots, l.freed = append(l.slots, l.freed...), l.freed[:0]
		if len(l.pieces) > 0 {
			l.queue.give(l.pieces...)
			clear(l.pieces)
			l.pieces = l.pieces[:0]
		}
	}
}

// wait returns what is ready.
func (l *loop) wait() []unix.EpollEvent {
	if l.quiet >= quietWaits && l.park.Ready() {
		l.relay.parks.Add(1)
		l.park.Wait(l.ep)
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(l.ep), uintptr(unsafe.Pointer(&l.events[0])), uintptr(len(l.events)), quietWait, 0, 0)
	if errno != 0 {
		n = 0 // Go's monitor interrupts it every 10 ms
	}
	if l.quiet++; n > 0 {
		l.quiet = 0
	}
	return l.events[:n]
}

// control takes what others want of the loop, and reports whether that is its end.
func (l *loop) control() bool {
	_, _, _ = unix.RawSyscall(unix.SYS_READ, uintptr(l.ev), uintptr(unsafe.Pointer(&l.count)), unsafe.Sizeof(l.count))
	l.mu.Lock()
	coming, stopped, closed := l.coming, l.stopped, l.closed
	l.coming = nil
	l.mu.Unlock()
	for _, k := range coming {
		l.add(k)
	}
	if stopped {
		for _, k := range l.links {
			if k != nil {
				l.end(k)
			}
		}
	}
	return closed
}

func (l *loop) add(k *link) {
	if n := len(l.slots); n > 0 {
		k.slot, l.slots = l.slots[n-1], l.slots[:n-1]
		l.links[k.slot] = k
	} else {
		k.slot = int32(len(l.links))
		l.links = append(l.links, k)
	}
	l.ask(k, 0)
	l.ask(k, 1)
}

// ask asks for what is to be known of a socket now: that it can be read unless what it
// said before is yet to be written, and that it can be written if something is.
func (l *loop) ask(k *link, i int) {
	if l.links[k.slot] != k {
		return // it has ended
	}
	s := &k.sides[i]
	var events uint32
	if !s.over && len(k.sides[1-i].out) == 0 {
		events |= unix.EPOLLIN
	}
	if len(s.out) > 0 {
		events |= unix.EPOLLOUT
	}
	op := unix.EPOLL_CTL_MOD
	switch {
	case events == s.asked:
		return
	case events == 0: // else epoll would go on telling of its end
		op = unix.EPOLL_CTL_DEL
	case s.asked == 0:
		op = unix.EPOLL_CTL_ADD
	}
	s.asked = events
	if unix.EpollCtl(l.ep, op, s.fd, &unix.EpollEvent{Events: events, Fd: k.slot<<1 | int32(i)}) != nil {
		l.end(k) // no memory, or too many are watched
	}
}

// ready does what can be done with a socket.
func (l *loop) ready(k *link, i int, events uint32) {
	s := &k.sides[i]
	if len(s.out) > 0 && events&^unix.EPOLLIN != 0 {
		l.flush(k, i)
	}
	if l.links[k.slot] == k && !s.over && len(k.sides[1-i].out) == 0 && events&^unix.EPOLLOUT != 0 {
		l.read(k, i)
	}
}

// read passes on what a socket has.
func (l *loop) read(k *link, i int) {
	from, to := &k.sides[i], &k.sides[1-i]
	b := l.block.b[l.used:]
	n, errno := sockets.Read(from.fd, b)
	switch {
	case errno == unix.EAGAIN:
		return
	case errno != 0:
		l.end(k)
		return
	case n == 0:
		from.over = true
		if to.over || unix.Shutdown(to.fd, unix.SHUT_WR) != nil {
			l.end(k)
			return
		}
		l.ask(k, i)
		return
	}
	b = b[:n:n]
	at := l.relay.cfg.Now()
	number := k.of.next.Add(1)
	wrote, failed := sockets.Write(to.fd, b)
	l.give(piece{of: k.of, b: b, number: number, at: at, size: len(b), what: what(1 - i)})
	switch {
	case failed != 0:
		l.end(k)
	case wrote < len(b):
		l.keep(to, b[wrote:])
		l.ask(k, i) // which may end it
		l.ask(k, 1-i)
	}
}

// give takes a copy of what was read for the queue.
func (l *loop) give(p piece) {
	p, any := p.of.admit(p)
	if !any {
		return
	}
	if p.what != late {
		if l.used += len(p.b); len(l.block.b)-l.used < leastRoom {
			p.buf, l.block, l.used = l.block, l.relay.buffer(relayBlock), 0
		}
	}
	l.pieces = append(l.pieces, p)
}

// keep keeps what could not be written. Nothing more is read until it is, so that this
// is no more than one read's.
func (l *loop) keep(s *side, b []byte) {
	if n := len(l.spare); n > 0 {
		s.out, l.spare = l.spare[n-1], l.spare[:n-1]
	}
	s.out, s.sent = append(s.out[:0], b...), 0
}

// flush goes on with that.
func (l *loop) flush(k *link, i int) {
	s := &k.sides[i]
	n, failed := sockets.Write(s.fd, s.out[s.sent:])
	if s.sent += n; failed != 0 {
		l.end(k)
	}
	if s.sent < len(s.out) {
		return
	}
	if len(l.spare) < spareOuts {
		l.spare = append(l.spare, s.out)
	}
	s.out = nil
	l.ask(k, i)
	l.ask(k, 1-i)
}

// end ends a connection, both ways.
func (l *loop) end(k *link) {
	if l.links[k.slot] != k {
		return
	}
	l.links[k.slot] = nil
	l.freed = append(l.freed, k.slot)
	for i := range k.sides {
		_ = unix.Close(k.sides[i].fd) // epoll forgets it
	}
	l.queue.give(l.pieces...) // before what pass says behind them
	clear(l.pieces)
	l.pieces = l.pieces[:0]
	close(k.ended)
}

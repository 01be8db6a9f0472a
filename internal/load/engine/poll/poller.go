// Package poll provides an event loop with a clock, sockets and waiting. Linux uses epoll;
// a portable poller over net.Conn serves other systems.
package poll

import "errors"

const (
	millisecond = 1_000_000
	secondNS    = 1_000_000_000
)

// DefaultMaxHeld is the default limit, in bytes, for the incomplete replies that a load
// buffers if its replies are short.
const DefaultMaxHeld = 8 << 20

// ErrAgain is returned by Poller.Read if a connection has nothing to read now.
var ErrAgain = errors.New("nothing to read now")

// Ready reports what a connection is ready for.
type Ready struct {
	Conn int
	What ReadyFor
	Err  error // of Dialed: why dialling failed, or nil
}

// ReadyFor is a kind of readiness.
type ReadyFor uint8

// The kinds of readiness.
const (
	Readable ReadyFor = iota // Read returns bytes, or the end of the connection
	Writable                 // Write accepts bytes again, after it had accepted only a part
	Dialed                   // Dial has ended; Ready.Err is its error
)

// Poller provides a loop with its clock, its sockets and a way to wait for them. Only Wake
// may be called from another goroutine than the loop's. Times are in nanoseconds on one
// monotonic clock that all loops share.
//
// A loop uses it like this:
//
//	p.Dial(0, "10.0.0.1:2379")
//	ready = p.Wait(until, ready[:0]) // {Conn: 0, What: Dialed}
//	p.Write(0, request)
//	ready = p.Wait(until, ready[:0]) // {Conn: 0, What: Readable}
//	n, err := p.Read(0, buf)
//
// Wait may still return an event of a connection that was just closed.
type Poller interface {
	// Now returns the current time.
	Now() int64
	// Wait waits until a connection is ready, Wake is called, or the clock reaches until. It
	// appends the ready connections to ready and returns the result.
	Wait(until int64, ready []Ready) []Ready
	// Dial connects in the background. A Ready with Dialed reports the result. Connections are
	// numbered from 0 without gaps; a new number may be added at any time.
	Dial(conn int, endpoint string)
	// Read reads the bytes that have arrived, or returns ErrAgain if there are none. After any
	// other error the connection has ended.
	Read(conn int, p []byte) (int, error)
	// Write writes the part of p that the connection accepts now, possibly nothing, and
	// returns its length. After a partial write a Ready with Writable follows. After an error
	// the connection has ended.
	Write(conn int, p []byte) (int, error)
	// Close closes the connection, or cancels its dial.
	Close(conn int)
	// Wake ends the current or the next Wait. Any goroutine may call it.
	Wake()
	// Attach prepares the calling goroutine, which runs the loop afterwards. It returns the
	// operating system's ID of its thread, or 0.
	Attach() int
	// Release closes all connections and frees all other resources of the poller.
	Release()
}

// Beating is an optional interface of a Poller that can end a Wait at regular times without
// a system call for each.
type Beating interface {
	// SetBeat makes Wait also end at each multiple of period on the clock, in nanoseconds; 0
	// stops this. It reports whether the system supports it.
	SetBeat(period int64) bool
}

// Stamped is an optional interface of a Poller that knows when the bytes it reads arrived
// at this machine.
type Stamped interface {
	// ReadStamped does what Read does, and returns how many nanoseconds ago the last of the
	// bytes arrived; lag is negative if that is unknown.
	ReadStamped(conn int, p []byte) (n int, lag int64, err error)
}

// Scheduled is an optional interface of a Poller whose system measures how long the thread
// that called Attach was ready to run without having a CPU.
type Scheduled interface {
	// RunDelay returns this time since the thread started, in nanoseconds. ok is false if the
	// system does not provide it.
	RunDelay() (ns int64, ok bool)
}

// Parking is an optional interface of a Poller that can wait without occupying one of Go's
// processors.
type Parking interface {
	// Park waits until a connection is ready, Wake is called, or the clock reaches until. It
	// may return somewhat later than Wait would. The next Wait returns what is ready.
	Park(until int64)
}

// Package poll provides an event loop with a clock, sockets, and a way to wait for them. On Linux
// it uses epoll. On other systems it uses a portable poller over net.Conn.
package poll

import "errors"

const (
	millisecond = 1_000_000
	secondNS    = 1_000_000_000
)

// DefaultMaxBuffered is the default limit for the incomplete replies that a load buffers, in bytes.
// It suits loads with short replies.
const DefaultMaxBuffered = 8 << 20

// ErrAgain is the error that Poller.Read returns if a connection has nothing to read now.
var ErrAgain = errors.New("nothing to read now")

// Ready identifies a connection that is ready, and the reason.
type Ready struct {
	Conn   int
	Reason ReadyReason
	Err    error // if Reason is Dialed: why dialing failed, or nil
}

// ReadyReason is the reason why a connection is ready.
type ReadyReason uint8

// The kinds of readiness.
const (
	Readable ReadyReason = iota // Read returns bytes, or reports the end of the connection
	Writable                    // Write accepts more bytes, after a partial Write
	Dialed                      // Dial has ended; Ready.Err is nil if it succeeded
)

// Poller provides a loop with a clock, with sockets, and with a way to wait for them. Any goroutine
// may call Wake. Only the loop's goroutine may call the other methods. Times are in nanoseconds on
// a monotonic clock that all loops share.
//
// A loop uses it like this:
//
//	p.Dial(0, "10.0.0.1:2379")
//	ready = p.Wait(until, ready[:0]) // {Conn: 0, Reason: Dialed}
//	p.Write(0, request)
//	ready = p.Wait(until, ready[:0]) // {Conn: 0, Reason: Readable}
//	n, err := p.Read(0, buf)
//
// Wait may still return an event for a connection that was just closed.
type Poller interface {
	// Now returns the current time.
	Now() int64
	// Wait waits until a connection is ready, Wake is called, or the clock reaches `until`. It
	// appends the ready connections to `ready` and returns the result.
	Wait(until int64, ready []Ready) []Ready
	// Dial connects in the background. A Ready with Dialed reports the result. Connections are
	// numbered from 0 without gaps; a new number may be added at any time.
	Dial(conn int, endpoint string)
	// Read reads the bytes that have arrived, or returns ErrAgain if there are none. Any other
	// error means that the connection has ended.
	Read(conn int, p []byte) (int, error)
	// Write writes as much of p as the connection accepts now, which may be nothing, and returns
	// the number of bytes. After a partial write, Wait returns a Ready with Writable when the
	// connection accepts more. After an error the connection has ended.
	Write(conn int, p []byte) (int, error)
	// Close closes the connection, or cancels its dial.
	Close(conn int)
	// Wake ends the current or the next Wait. Any goroutine may call it.
	Wake()
	// Attach prepares the calling goroutine, which will run the loop. It returns the operating
	// system's ID for the goroutine's thread, or 0 if the goroutine has no fixed thread.
	Attach() int
	// Release closes all connections and frees all other resources of the poller.
	Release()
}

// BeatPoller is an optional interface of a Poller that can end Wait at regular intervals without a
// system call per interval.
type BeatPoller interface {
	// SetBeat makes Wait return also at each multiple of `period` (in nanoseconds). A period of 0
	// turns the beat off. SetBeat reports whether the system supports beats.
	SetBeat(period int64) bool
}

// TimestampPoller is an optional interface of a Poller that knows when bytes arrived at this
// machine.
type TimestampPoller interface {
	// ReadStamped reads like Read. It also returns how many nanoseconds ago the last of the bytes
	// arrived, or a negative lag if that is unknown.
	ReadStamped(conn int, p []byte) (n int, lag int64, err error)
}

// RunDelayPoller is an optional interface of a Poller whose system measures how long a thread was
// ready to run but had no CPU.
type RunDelayPoller interface {
	// RunDelay returns the total time, since the thread started, for which the thread that called
	// Attach was ready to run but had no CPU. The time is in nanoseconds. ok is false if the system
	// does not provide this time.
	RunDelay() (ns int64, ok bool)
}

// ParkPoller is an optional interface of a Poller that can wait without occupying one of Go's
// processors.
type ParkPoller interface {
	// Park waits until a connection is ready, Wake is called, or the clock reaches `until`. It may
	// return somewhat later than Wait would. It does not return the ready connections; the next
	// Wait does.
	Park(until int64)
}

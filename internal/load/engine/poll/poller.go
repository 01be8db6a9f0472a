// Package poll is an event loop's view of the world: clock, sockets and waiting. Linux has
// epoll; a portable poller over net.Conn serves other systems.
package poll

import "errors"

const (
	millisecond = 1_000_000
	secondNS    = 1_000_000_000
)

// DefaultMaxHeld is how much a load keeps at most of answers that are not whole, where they
// are short, in bytes.
const DefaultMaxHeld = 8 << 20

// ErrAgain is a Poller's answer when a connection has nothing to read now.
var ErrAgain = errors.New("nothing to read now")

// Ready says what a connection is ready for.
type Ready struct {
	Conn int
	What ReadyFor
	Err  error // of Dialed: why there is no connection
}

// ReadyFor is what happened to a connection.
type ReadyFor uint8

// What a connection can be ready for.
const (
	Readable ReadyFor = iota // Read has bytes, or the connection's end
	Writable                 // Write takes bytes again after it took fewer
	Dialed                   // Dial has ended, with Err or without
)

// Poller is a loop's view of the world. It belongs to one goroutine, but for
// Wake. Times are nanoseconds of one monotonic clock that all loops share.
type Poller interface {
	// Now reads the clock.
	Now() int64
	// Wait waits until a connection is ready, Wake is called or the clock
	// reaches until; it appends what is ready.
	Wait(until int64, ready []Ready) []Ready
	// Dial connects in the background; a Ready with Dialed says how it ended.
	// The numbers of connections have no gaps, and may grow.
	Dial(conn int, endpoint string)
	// Read reads what is there; ErrAgain when that is nothing. Any other error
	// is the connection's end.
	Read(conn int, p []byte) (int, error)
	// Write writes what the connection takes now, which may be less than p, or
	// nothing; then Writable follows. An error is the connection's end.
	Write(conn int, p []byte) (int, error)
	// Close ends the connection, or its dialling.
	Close(conn int)
	// Wake ends a Wait from another goroutine, now or the next one.
	Wake()
	// Attach prepares the calling goroutine, which runs the loop from now on,
	// and returns the system's number of its thread, or 0.
	Attach() int
	// Release gives up everything the poller holds.
	Release()
}

// Beating is an optional interface of a Poller that can end a Wait at regular times
// without a call for each.
type Beating interface {
	// SetBeat makes Wait end at each multiple of period on the clock, too, in
	// nanoseconds; 0 ends that. It reports whether the system does it.
	SetBeat(period int64) bool
}

// Stamped is an optional interface of a Poller that knows when the bytes that it reads
// arrived at this machine.
type Stamped interface {
	// ReadStamped reads as Read does and says how long ago, in nanoseconds, the
	// last of the bytes arrived; below 0: that is not known.
	ReadStamped(conn int, p []byte) (n int, lag int64, err error)
}

// Scheduled is an optional interface of a Poller whose system counts for how long the
// thread that Attach was called from was ready to run and had no processor.
type Scheduled interface {
	// RunDelay is that since the thread began, in nanoseconds; ok is false where the
	// system does not say.
	RunDelay() (ns int64, ok bool)
}

// Parking is an optional interface of a Poller that can wait without keeping one of
// Go's processors.
type Parking interface {
	// Park waits until a connection is ready, Wake is called, or the clock reaches
	// until, and some time longer. What is ready the next Wait says.
	Park(until int64)
}

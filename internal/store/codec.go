package store

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Codecs makes the codec of one new connection.
type Codecs func(Dialed) Codec

// Dialed says for which connection a codec is wanted.
type Dialed struct {
	Endpoint string // HOST:PORT
	Now      int64  // the loop's clock in nanoseconds
	// Previous is the codec that had this connection's place before, after its
	// Lost; nil the first time. A session can live on in the next connection.
	Previous Codec
	// Parts is what all connections of the loop keep of answers that are not
	// whole: how many a server begins before it ends any is not ours to decide.
	// A codec takes its buffers from there, and gives them back at its Lost. Nil
	// is a budget of the connection's own.
	Parts *parts.Budget
}

// Codec is a store's protocol on one connection, without I/O, clock, goroutine
// or lock: operations in, bytes out; bytes in, events out. A connection's end
// is the codec's end: a new connection gets a new codec. In the steady state no
// method allocates.
type Codec interface {
	// Room is how many more operations may be submitted now; 0 while the
	// connection is not ready (settings or authentication are awaited) or the
	// protocol's limit is reached.
	Room() int
	// Submit encodes the operation into the output. It keeps none of op's
	// memory. The caller has asked Room.
	Submit(op *Op)
	// Cancel gives up an operation after its timeout. It reports whether its
	// place is free: if not, its late answer must still be awaited, and will
	// come as an Event with What == Late.
	Cancel(tag uint32) (free bool)
	// Feed takes what was read and appends the events it completes. The bytes
	// that events carry are valid until the next Feed of any codec, and until
	// `in` is reused. An error ends the connection: it is one sentence, such as
	// "the server answered with HTTP/1.1, not HTTP/2".
	Feed(in []byte, to []Event) ([]Event, error)
	// Lost informs the codec that its connection ended. It appends one event for
	// every operation still open: what was certainly never written in full, or
	// certainly not processed (a GOAWAY said so), is NotSent; the rest is
	// ConnectionLost.
	Lost(to []Event) []Event
	// Tick lets the codec act on time (pings, token renewal) and returns when
	// it wants to be called next, in the same clock; 0 for never.
	Tick(now int64) (next int64)
	// Out is what is to be written, valid until the next call of any method.
	Out() []byte
	// Wrote says that the first n bytes of Out were written.
	Wrote(n int)
	// Draining reports that the connection takes no new operations (GOAWAY,
	// stream ids used up, connection: close): the engine replaces it when the
	// open operations are done.
	Draining() bool
}

// SessionCodec is an optional interface of a Codec whose session lives on at the server when the
// connection ends.
type SessionCodec interface {
	Codec
	// Close asks the server to end the session, as the last thing on this
	// connection. The answer is a Closed.
	Close()
	// Session is the number by which the server knows the session; 0 before it has one.
	Session() int64
	// Mute returns, in one sentence, why the codec gives up a connection on which nothing
	// is received any more, with the operations that are open on it; nil: it does not.
	// It is called after Tick.
	Mute() error
}

// What says what an Event is.
type What uint8

// The events.
const (
	Done    What = iota // an operation ended, with Outcome
	Late                // the answer to a cancelled operation came: its place is free now
	Held                // the operation has its lock, and Revision is the fencing token (STMOp.Told)
	Freed               // it is about to give it back
	Closed              // the session has ended, as it was asked to: at revision At, if the server says so
	Notify              // a watch event: a key was written, or deleted
	Seen                // a watcher has seen all up to Revision: a progress notification
	Ended               // a watcher has ended, with Outcome: the server said so, or its stream ended
	Expired             // the session that the connection was to take up again has ended at the server
)

// Event is something that the server said.
type Event struct {
	Tag      uint32
	What     What
	Outcome  kv.Outcome
	Member   uint64 // who answered; 0 if the protocol does not say
	Term     uint64 // at which term; 0 if the protocol does not say
	Revision int64  // the key's version (its mod revision), for a CAS to come; Seen: all up to it was told
	Mod      int64  // Done of a read, or of a Watch: the revision that made the key's version, where Revision is another number; 0: Revision is it. Notify: -1 if Revision is only known not to be before the event
	At       int64  // the revision of the whole store at which it was served, a write's own; 0: not told (kv.Order)
	Count    int64  // keys read, counted, removed, or written by a Txn; -1 if the protocol does not say. Notify: its place in its message, from 0
	Extra    uint32 // requests that it took beyond the first
	Retries  uint32 // STM: how often a conflict made it begin again
	Watcher  uint32 // Notify, Seen, Ended: whose
	Version  int64  // Notify, and an Op.Call that reads: how often the key was written since it was created; 0: it was deleted, or is not there, -1: it was written, and that is not told. Done of a Watch: likewise, of what it begins behind
	Key      []byte // the key read, if the answer carries it
	Value    []byte // the value read
	Text     []byte // of an error, as the store said it; else empty
	// Before and BeforeRevision are, of a Notify, the value and the version that the
	// key had before, as far as they are told; 0: they are not. Of a watcher that asks who
	// has the lock of its key, and of an Op.Call that reads a key, they are that
	// (WatchOp.Holder).
	Before         []byte
	BeforeRevision int64
}

// Made is the revision that made the key's version which a read returned; 0: not told.
func (e *Event) Made() int64 {
	if e.Mod > 0 {
		return e.Mod
	}
	return max(e.Revision, 0)
}

package store

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Codecs returns a codec for a new connection.
type Codecs func(Dialed) Codec

// Dialed describes the connection that a codec is for.
type Dialed struct {
	Endpoint string // HOST:PORT
	Now      int64  // the loop's clock in nanoseconds
	// Previous is the codec of the connection that this one replaces, after its
	// Lost; nil for the first connection. A session can continue on the new
	// connection.
	Previous Codec
	// Parts limits the memory that all connections of the loop use for incomplete
	// responses, because a server can begin any number of them. A codec takes its
	// buffers from Parts and returns them in Lost. Nil means a separate budget
	// for this connection.
	Parts *parts.Budget
}

// Codec implements a store's protocol on one connection without I/O, clock,
// goroutine or lock. It turns operations into output bytes and input bytes into
// events. A codec serves one connection; a new connection gets a new codec. In
// the steady state no method allocates.
//
// The engine drives a codec like this:
//
//	if c.Room() > 0 {
//		c.Submit(op)
//	}
//	n, _ := conn.Write(c.Out())
//	c.Wrote(n)
//	n, _ = conn.Read(in)
//	events, err = c.Feed(in[:n], events[:0])
type Codec interface {
	// Room returns how many operations may be submitted now. It is 0 while the
	// connection is not ready (it waits for settings or authentication) or the
	// protocol's limit is reached.
	Room() int
	// Submit encodes the operation into the output. It retains none of op's
	// memory. The caller must have checked Room.
	Submit(op *Op)
	// Cancel abandons an operation after its timeout. It reports whether the
	// operation's slot is free now. If not, the late response will free the slot
	// and produce an Event with What == Late.
	Cancel(tag uint32) (free bool)
	// Feed parses received bytes and appends the events that they complete. The
	// bytes in events are valid until the next Feed of any codec and while in is
	// unchanged. After an error the connection must be closed; its text is one
	// sentence, such as "the server answered with HTTP/1.1, not HTTP/2".
	Feed(in []byte, to []Event) ([]Event, error)
	// Lost reports to the codec that its connection ended. It appends one event
	// for every open operation: NotSent if the request was certainly not written
	// completely or not processed (for example after GOAWAY), and ConnectionLost
	// otherwise.
	Lost(to []Event) []Event
	// Tick performs timed work (pings, token renewal) and returns when it must be
	// called again, on the same clock; 0 means never.
	Tick(now int64) (next int64)
	// Out returns the bytes to write. They are valid until the next call of any
	// method.
	Out() []byte
	// Wrote records that the first n bytes of Out were written.
	Wrote(n int)
	// Draining reports that the connection accepts no new operations (GOAWAY,
	// stream IDs used up, connection: close). The engine replaces it once its
	// open operations have ended.
	Draining() bool
}

// SessionCodec is an optional interface of a Codec whose session outlives the
// connection on the server.
type SessionCodec interface {
	Codec
	// Close requests the end of the session, as the last request on the
	// connection. The response becomes a Closed event.
	Close()
	// Session returns the session's number on the server; 0 before it has one.
	Session() int64
	// Mute returns, in one sentence, why the codec gives up a connection that
	// receives nothing any more, with its open operations; nil if it does not. It
	// is called after Tick.
	Mute() error
}

// What identifies the type of an Event.
type What uint8

// Types of events.
const (
	Done    What = iota // an operation ended with Outcome
	Late                // the response to a cancelled operation arrived: its slot is free
	Held                // the operation has acquired its lock; Revision is the fencing token (STMOp.Observer)
	Freed               // the operation is about to release its lock
	Closed              // the session has ended as requested, at revision At if the server reports it
	Notify              // a watch event: a key was written or deleted
	Seen                // a progress notification: the watcher has received all events up to Revision
	Ended               // a watcher ended with Outcome: the server ended it, or its stream ended
	Expired             // the session that the connection was to continue has expired on the server
)

// Event is a result that the codec has parsed.
type Event struct {
	Tag      uint32
	What     What
	Outcome  kv.Outcome
	Member   uint64 // the member that responded; 0 if the protocol does not contain it
	Term     uint64 // its term; 0 if the protocol does not contain it
	Revision int64  // the key's version (its mod revision), for a later CAS; Seen: all events up to it were received
	Mod      int64  // Done of a read or Watch: the revision of the write that created this version, if Revision is another number; 0: the same as Revision. Notify: -1 if Revision is only known not to precede the event
	At       int64  // the revision of the whole store at which the operation was executed, for a write its own; 0: unknown (kv.Order)
	Count    int64  // keys read, counted, deleted, or written by a Txn; -1 if the protocol does not contain it. Notify: the event's index in its message, counted from 0
	Extra    uint32 // requests after the first
	Retries  uint32 // STM: how often conflicts made it start over
	Watcher  uint32 // Notify, Seen, Ended: the watcher's number
	Version  int64  // Notify, and an Op.Call that reads: number of writes since the key was created; 0: the key was deleted or does not exist, -1: it exists and the number is unknown. Done of a Watch: the same for the key's state at the watch's start
	Key      []byte // the key read, if the response contains it
	Value    []byte // the value read
	Text     []byte // the store's text of an error; otherwise empty
	// Before and BeforeRevision are, in a Notify, the key's previous value and
	// version; 0 if unknown. For a watcher with WatchOp.Holder, and for an
	// Op.Call that reads a key, they describe the key as a lock: the name of the
	// holder's session, and how often the lock was acquired.
	Before         []byte
	BeforeRevision int64
}

// VersionRevision returns the revision of the write that created the version which a read
// returned; 0 if unknown.
func (e *Event) VersionRevision() int64 {
	if e.Mod > 0 {
		return e.Mod
	}
	return max(e.Revision, 0)
}

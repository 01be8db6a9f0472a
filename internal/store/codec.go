package store

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// Codecs creates the codec for a new connection.
type Codecs func(ConnectionInfo) Codec

// ConnectionInfo describes the new connection for which a codec is created.
type ConnectionInfo struct {
	Endpoint string // HOST:PORT
	Now      int64  // the loop's clock in nanoseconds
	// Previous is the codec of the connection that the new connection replaces; nil for the first
	// connection. The Lost method of Previous has already been called. A codec with a session can
	// continue the session of Previous.
	Previous Codec
	// BufferBudget limits the total memory that the loop's connections use for incomplete
	// responses. Without a limit, a server could begin any number of responses and exhaust the
	// memory. A codec takes its buffers from BufferBudget and returns them in Lost. If BufferBudget
	// is nil, this connection has a separate limit.
	BufferBudget *parts.Budget
}

// Codec implements a store's protocol on one connection. It does no I/O and uses no clock,
// goroutine or lock. It converts operations to output bytes, and input bytes to events. A codec
// serves only one connection; a new connection needs a new codec. Once a codec has processed some
// operations, its methods allocate no more memory.
//
// The engine uses a codec as follows:
//
//	if c.Room() > 0 {
//		c.Submit(op)
//	}
//	n, _ := conn.Write(c.Out())
//	c.Wrote(n)
//	n, _ = conn.Read(in)
//	events, err = c.Feed(in[:n], events[:0])
type Codec interface {
	// Room returns how many operations may be submitted now. It is 0 while the connection waits for
	// settings or authentication, and while as many operations are in flight as the protocol
	// allows.
	Room() int
	// Submit encodes the operation into the output. It does not keep references to op or to the
	// memory that op points to. The caller must have checked that Room is not 0.
	Submit(op *Op)
	// Cancel abandons an operation after its timeout. It reports whether the operation's slot is
	// free now. If the slot is not free, the late response will free it and produce an Event with
	// Type == LateResponse.
	Cancel(tag uint32) (free bool)
	// Feed parses received bytes. It appends to the slice events every event that the bytes
	// complete, and returns the extended slice. Byte slices in the events are valid until the next
	// call of Feed on any codec, or until the caller changes the memory of received. After an error
	// the connection must be closed. The error's text is one sentence, such as "the server answered
	// with HTTP/1.1, not HTTP/2".
	Feed(received []byte, events []Event) ([]Event, error)
	// Lost must be called when the connection has ended. For every open operation, it appends one
	// event to the slice events. It returns the extended slice. The outcome is NotSent if it is
	// certain that the request was not written completely or that the server did not process it
	// (for example after GOAWAY). Otherwise the outcome is ConnectionLost.
	Lost(events []Event) []Event
	// Tick performs timed work, such as pings or the renewal of a token. It returns the time, on
	// the same clock as the parameter `now`, at which Tick must be called again, or 0 if no further
	// call is needed.
	Tick(now int64) (next int64)
	// Out returns the bytes to write. The bytes are valid until the next call of a method of the
	// codec.
	Out() []byte
	// Wrote informs the codec that the first n bytes of Out were written.
	Wrote(n int)
	// Draining reports whether the connection no longer accepts operations: the server sent GOAWAY
	// or "connection: close", or all stream IDs are used up. The engine replaces the connection
	// after the open operations have ended.
	Draining() bool
}

// SessionCodec is an optional interface of a Codec whose protocol has sessions. The server keeps a
// session when the session's connection ends.
type SessionCodec interface {
	Codec
	// Close requests the end of the session, as the last request on the connection. The response
	// becomes an event with Type == SessionClosed.
	Close()
	// Session returns the session's number on the server, or 0 if the codec has no session yet.
	Session() int64
	// CheckAlive returns an error if the connection has stopped receiving data, and otherwise nil.
	// After an error, the engine must give up the connection and its open operations. The error's
	// text is one sentence. The engine calls CheckAlive after Tick.
	CheckAlive() error
}

// EventType identifies the type of an Event.
type EventType uint8

// Types of events.
const (
	OperationDone  EventType = iota // an operation ended with Outcome
	LateResponse                    // the response to a cancelled operation arrived, so the operation's slot is free
	LockAcquired                    // the operation has acquired its lock; Revision is the fencing token; see STMOp.Observer
	LockReleasing                   // the operation is about to release its lock
	SessionClosed                   // the session has ended as requested; StoreRevision is the revision, if the server reports it
	WatchChange                     // a watch event: a key was written or deleted
	WatchProgress                   // a progress notification: the watcher has received all events up to Revision
	WatchEnded                      // a watcher ended with Outcome: the server ended it, or its stream ended
	SessionExpired                  // the session that the new connection should have continued has expired
)

// Event is a result that the codec has parsed.
type Event struct {
	Tag           uint32
	Type          EventType
	Outcome       kv.Outcome
	Member        uint64 // the member that responded; 0 if the protocol does not report it
	Term          uint64 // the member's term; 0 if the protocol does not report it
	Revision      int64  // the key's version (its mod revision), for a later CAS. In a WatchProgress: the watcher has received all events up to this revision
	ModRevision   int64  // In the OperationDone of a read or Watch: the revision of the write that created this version; 0 if it equals Revision. In a WatchChange: -1 if the event's exact revision is unknown and Revision is only an upper bound
	StoreRevision int64  // the revision of the whole store at which the operation was executed; for a write, the write's own revision; 0 if unknown; see kv.WriteOrder
	Count         int64  // the number of keys that were read, counted, deleted, or written by a Txn; -1 if the protocol does not report it. In a WatchChange: the event's index in its message, counted from 0
	ExtraRequests uint32 // number of requests that the operation needed after the first one
	Retries       uint32 // STM: how often conflicts made the transaction start over
	Watcher       uint32 // WatchChange, WatchProgress, WatchEnded: the watcher's number
	Version       int64  // In a WatchChange, and for an Op.Call that reads: the number of writes since the key was created; 0 if the key was deleted or does not exist; -1 if the key exists and the number is unknown. In the OperationDone of a Watch: the same number at the start of the watch
	Key           []byte // the key that was read, if the response contains it
	Value         []byte // the value that was read
	Text          []byte // the store's error text; empty if there was no error
	// In a WatchChange, PreviousValue and PreviousRevision are the key's previous value and
	// version; empty and 0 if unknown. For a watcher with WatchOp.WatchesLock, and for an Op.Call
	// that reads a key, they describe the key as a lock: PreviousValue is the name of the lock
	// holder's session, and PreviousRevision counts how often the lock was acquired.
	PreviousValue    []byte
	PreviousRevision int64
}

// VersionRevision returns the revision of the write that created the version of the key that
// was read, or 0 if that revision is unknown.
func (e *Event) VersionRevision() int64 {
	if e.ModRevision > 0 {
		return e.ModRevision
	}
	return max(e.Revision, 0)
}

// Package httpkv contains what stores with an API over HTTP/1.1 have in common. Its Codec
// implements a connection with one operation in flight, which may need several requests. Its
// JSON scanner (RFC 8259) uses no reflection and does not allocate.
package httpkv

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// API encodes the requests of a store and parses its responses. The keys that it receives have
// no leading slash (see TrimSlash).
type API interface {
	// Write sends a write of a key. If `index` is AnyIndex, the write is unconditional. If
	// `index` is 0, the write succeeds only if the key does not exist. Otherwise it succeeds only
	// if the key's version equals `index`.
	Write(key, value []byte, index int64)
	// Read sends a read of a key. The level kv.NoConsistency means that the read must return the
	// key's version for a compare-and-set.
	Read(key []byte, level kv.Consistency)
	// List sends a Range for the codec's Interval.
	List(level kv.Consistency)
	// Remove sends a delete of a key.
	Remove(key []byte)
	// Replay sends a recorded call, if the store is a store.Replayer.
	Replay(r *call.Call)
	// Transact sends a Txn.
	Transact(pairs []store.Pair)
	// HandleResponse handles the response to the request in flight. Either it sets the operation's
	// event and returns false, or it sends the operation's next request and returns true.
	HandleResponse(r *http1.Response, e *store.Event) (pending bool)

	// Watch sends the first query for a watcher. A query blocks until a change occurs, so the
	// watcher needs its own connection. HandleWatchResponse sends the next query when the response
	// arrives.
	Watch(op *store.Op)
	// HandleWatchResponse handles the response to a watcher's query and appends the watcher's
	// events. It then sends the next query, unless the watcher has ended or the connection accepts
	// no more requests.
	HandleWatchResponse(r *http1.Response, events []store.Event) []store.Event
	// KeepAlive sends a request that renews a session or lease.
	KeepAlive(op *store.Op)
	// STM sends the first request of an optimistic transaction. The transaction needs several
	// requests and can cause events before it ends.
	STM(op *store.Op)
	// HandleSTMResponse handles the response to a request of an optimistic transaction and appends
	// the transaction's events. It then either sends the next request, or appends the event for the
	// operation's end. An abandoned transaction (r.Late) ends with an event of type
	// store.LateResponse, possibly after further requests.
	HandleSTMResponse(r *http1.Response, events []store.Event) []store.Event
	// STMLost appends the event for the end of a transaction whose connection was lost. The
	// parameter `written` reports whether the request in flight was written completely.
	STMLost(written bool, events []store.Event) []store.Event
	// Register sends a request about a service instance (see store.Op.Service).
	Register(op *store.Op)
}

// Basic implements the methods of API for watches, sessions, optimistic transactions and
// services. A store without these features embeds Basic. Its Codec never calls these methods.
type Basic struct{}

// Watch implements API.
func (Basic) Watch(*store.Op) {}

// HandleWatchResponse implements API.
func (Basic) HandleWatchResponse(_ *http1.Response, events []store.Event) []store.Event {
	return events
}

// KeepAlive implements API.
func (Basic) KeepAlive(*store.Op) {}

// STM implements API.
func (Basic) STM(*store.Op) {}

// HandleSTMResponse implements API.
func (Basic) HandleSTMResponse(_ *http1.Response, events []store.Event) []store.Event { return events }

// STMLost implements API.
func (Basic) STMLost(_ bool, events []store.Event) []store.Event { return events }

// Register implements API.
func (Basic) Register(*store.Op) {}

// AnyIndex means "any version" for an unconditional write, and "unknown" for the version of a
// key.
const AnyIndex = -1

// Codec implements store.Codec. The codec of a store embeds it.
type Codec struct {
	*http1.Conn
	api       API
	info      StoreInfo
	supported [kv.NumKinds]bool

	// Fields for the operation in flight. A Range for a single key is sent as a Get.
	Tag           uint32
	Kind          kv.Kind
	Purpose       Purpose
	ExtraRequests uint32 // number of requests after the first
	key, value    []byte // CAS: key and value of the write that follows the read; Range for a single key: only the key
	ForService    bool   // the operation is about a service instance (API.Register)
	Interval             // Range: the requested keys
	keys          store.Keys
	Listed        bool // Range: the caller wants the keys in the response
	Values        bool // Range: the caller also wants the keys' values
}

// Purpose is the reason why the request in flight was sent.
type Purpose uint8

// Purposes.
const (
	SingleRequest Purpose = iota // the request is the whole operation
	Listing                      // the request is the whole operation, which is a Range
	ReplayedCall                 // the request is the whole operation, which is a recorded call
	casRead                      // CAS: the request reads the key's version before the write
	unsupported                  // the store does not support the operation, so the request is a read instead
	watchQuery                   // the request is a watcher's query (API.Watch)
	stmRequest                   // one of the requests of an optimistic transaction (API.STM)
)

// IsWatch reports whether a watcher uses the connection.
func (d Purpose) IsWatch() bool { return d == watchQuery }

// StoreInfo describes a store for the Codec and its messages.
type StoreInfo struct {
	// Operations contains the operations that the store supports. The Codec sends no other
	// operations.
	Operations map[kv.Kind]string
	Name       string
	// HTTP2 is the last part of the error message if the server speaks HTTP/2, such as "is this
	// the store's HTTP port?". TLS is the last part of the error message if the server speaks
	// TLS. If TLS is empty, the message asks whether the TLS flags are missing.
	HTTP2, TLS string
}

// Init initializes the codec for a new connection.
func (c *Codec) Init(cfg http1.Config, api API, info StoreInfo) {
	c.Conn, c.api, c.info = http1.NewConn(cfg), api, info
	for k := range info.Operations {
		c.supported[k] = true
	}
}

// Submit implements store.Codec.
func (c *Codec) Submit(op *store.Op) {
	key := TrimSlash(op.Key)
	c.Tag, c.Kind, c.Purpose, c.ExtraRequests = op.Tag, op.Kind, SingleRequest, 0
	c.ForService = false
	c.keys, c.Listed, c.Values, c.SlashTrimmed = nil, false, false, len(key) < len(op.Key)
	switch {
	case op.Call != nil:
		if c.Purpose = ReplayedCall; op.Range != nil {
			c.keys = op.Range.Keys
		}
		c.api.Replay(op.Call)
	case !c.supported[op.Kind]: // send a read, because only Feed can return the error as an event
		c.Purpose = unsupported
		c.api.Read([]byte("quorumbench/refused"), kv.Local)
	case op.Service != nil:
		c.ForService = true
		c.api.Register(op)
	case op.Kind == kv.Put:
		c.api.Write(key, op.Value, AnyIndex)
	case op.Kind == kv.Get:
		c.api.Read(key, op.Consistency)
	case op.Kind == kv.Range && len(op.Range.End) == 0:
		c.Kind, c.keys, c.key = kv.Get, op.Range.Keys, append(c.key[:0], op.Key...)
		c.api.Read(key, op.Consistency)
	case op.Kind == kv.Range:
		c.Purpose, c.keys = Listing, op.Range.Keys
		c.set(op)
		c.api.List(op.Consistency)
	case op.Kind == kv.Delete:
		c.api.Remove(key)
	case op.Kind == kv.CAS && op.Revision >= 0:
		c.api.Write(key, op.Value, op.Revision)
	case op.Kind == kv.CAS:
		c.Purpose = casRead
		c.key, c.value = append(c.key[:0], key...), append(c.value[:0], op.Value...)
		c.api.Read(key, kv.NoConsistency)
	case op.Kind == kv.Txn:
		c.api.Transact(op.Pairs)
	case op.Kind == kv.STM:
		c.Purpose = stmRequest
		c.api.STM(op)
	case op.Kind == kv.KeepAlive:
		c.api.KeepAlive(op)
	case op.Kind == kv.Watch:
		c.Purpose = watchQuery
		c.api.Watch(op)
	}
}

// BeginList sets Listed and Values, which indicate what the caller of a Range wants. It must be
// called before the response to the Range is parsed.
func (c *Codec) BeginList() {
	c.Listed = c.keys != nil
	c.Values = c.Listed && c.keys.Begin(c.Tag)
}

// PassKey passes one key from a Range's response to the Range's caller. The key must be spelled
// as in the operation. The value is passed only if Values is set. PassKey may be called only if
// Listed is set.
func (c *Codec) PassKey(key, value []byte) {
	if !c.Values {
		value = nil
	}
	c.keys.Add(c.Tag, key, value, 0)
}

// PassKeyVersion passes one key, with its value and version, to the caller. The key is from the
// response to a recorded call.
func (c *Codec) PassKeyVersion(key, value []byte, version int64) {
	c.keys.Add(c.Tag, key, value, version)
}

// swap continues a compare-and-set after the read of the key's version. It sends the write and
// returns true. If the read failed, or the connection accepts no more requests, it sets the
// event and returns false.
func (c *Codec) swap(r *http1.Response, e *store.Event) bool {
	c.Kind = kv.Get
	more := c.api.HandleResponse(r, e)
	c.Kind = kv.CAS
	switch {
	case more:
		return true
	case e.Outcome == kv.Miss:
		e.Revision = 0
	case e.Outcome != kv.OK:
		if !e.Outcome.Definite() && e.Outcome != kv.WrongResponse {
			// The compare-and-set failed at its read, so its write was certainly not sent.
			e.Outcome = kv.NotSent
		}
		return false
	}
	if c.Draining() {
		*e = store.Event{Tag: e.Tag, Outcome: kv.NotSent, Text: []byte("the server is about to close the connection, so the write was not sent")}
		return false
	}
	c.Purpose = SingleRequest
	c.ExtraRequests++
	c.api.Write(c.key, c.value, e.Revision)
	return true
}

// Room implements store.Codec. A connection can have one operation in flight.
func (c *Codec) Room() int {
	if c.Idle() {
		return 1
	}
	return 0
}

// Cancel implements store.Codec. If the request was already written, the connection stays busy
// until the response arrives.
func (c *Codec) Cancel(uint32) bool { return c.Conn.Cancel() }

// Feed implements store.Codec.
func (c *Codec) Feed(in []byte, events []store.Event) ([]store.Event, error) {
	r, err := c.Conn.Feed(in)
	if err != nil {
		return events, c.explain(err)
	}
	if r == nil {
		return events, nil
	}
	return c.answered(r, events), nil
}

func (c *Codec) answered(r *http1.Response, events []store.Event) []store.Event {
	switch c.Purpose {
	case watchQuery:
		return c.api.HandleWatchResponse(r, events)
	case stmRequest:
		return c.api.HandleSTMResponse(r, events)
	}
	events = append(events, store.Event{Tag: c.Tag, ExtraRequests: c.ExtraRequests})
	e, more := &events[len(events)-1], false
	switch {
	case r.Late:
		*e = store.Event{Tag: c.Tag, Type: store.LateResponse}
	case c.Purpose == unsupported:
		e.Outcome, e.Text = kv.BadRequest, []byte(c.info.Name+" does not support operations of this kind")
	case c.Purpose == casRead:
		more = c.swap(r, e)
	default:
		if more = c.api.HandleResponse(r, e); !more && c.keys != nil && c.Kind == kv.Get && c.Purpose != ReplayedCall {
			c.passSingleKey(e)
		}
	}
	if more {
		events = events[:len(events)-1]
	}
	return events
}

// passSingleKey passes the key to the caller after a Range for a single key.
func (c *Codec) passSingleKey(e *store.Event) {
	if c.BeginList(); e.Outcome == kv.OK {
		c.PassKey(c.key, e.Value)
	}
}

// explain adds to an error a hint about the error's likely cause.
func (c *Codec) explain(err error) error {
	switch {
	case errors.Is(err, http1.ErrHTTP2):
		return fmt.Errorf("%w: %s", err, c.info.HTTP2)
	case errors.Is(err, http1.ErrTLS) && c.info.TLS != "":
		return fmt.Errorf("%w, %s", err, c.info.TLS)
	case errors.Is(err, http1.ErrTLS):
		return fmt.Errorf("%w: are --cacert, --cert and --key missing?", err)
	}
	return err
}

// Lost implements store.Codec.
func (c *Codec) Lost(events []store.Event) []store.Event {
	end, r := c.Conn.Lost()
	outcome, canComplete := kv.NotSent, c.Purpose <= ReplayedCall // an operation that needs further requests cannot complete, because they cannot be sent
	switch {
	case end == http1.Nothing:
		return events
	case (c.Purpose == watchQuery || c.Purpose == stmRequest) && end == http1.Answered:
		return c.answered(r, events)
	case c.Purpose == stmRequest:
		return c.api.STMLost(end == http1.Broken, events)
	case c.Purpose == watchQuery: // the engine re-creates the watcher on another connection
		return events
	case end == http1.Answered && canComplete:
		return c.answered(r, events)
	case end == http1.Broken && canComplete:
		outcome = kv.ConnectionLost
	}
	return append(events, store.Event{Tag: c.Tag, Outcome: outcome, ExtraRequests: c.ExtraRequests})
}

// Tick implements store.Codec. It does nothing.
func (c *Codec) Tick(int64) int64 { return 0 }

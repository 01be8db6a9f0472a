// Package httpkv is shared by the stores with an API over HTTP/1.1: a connection
// with one operation in flight, which may take several requests, and a JSON
// scanner (RFC 8259) that neither reflects nor allocates.
package httpkv

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// API encodes a store's requests and parses their responses. Its keys have no
// leading slash (TrimSlash).
type API interface {
	// Write sends a write of a key: unconditional if index is AnyIndex, only if
	// the key does not exist if index is 0, and otherwise only if the key has
	// this version.
	Write(key, value []byte, index int64)
	// Read sends a read of a key. With kv.None it reads the version for a
	// compare-and-set.
	Read(key []byte, level kv.Consistency)
	// List sends a Range of the codec's Interval.
	List(level kv.Consistency)
	// Remove sends a delete of a key.
	Remove(key []byte)
	// Replay sends a recorded call, if the store is a store.Replayer.
	Replay(r *call.Call)
	// Transact sends a Txn.
	Transact(pairs []store.Pair)
	// Answered handles the response to the request in flight: it fills in the
	// operation's event, or sends another request and returns true.
	Answered(r *http1.Response, e *store.Event) (more bool)

	// Watch sends a watcher's first query. Queries block: a connection has one
	// watcher and sends the next query after the response to the previous one.
	Watch(op *store.Op)
	// WatchAnswered handles the response to a watcher's query. It appends the watcher's
	// events and sends the next query, unless the watcher has ended or the
	// connection accepts no more requests.
	WatchAnswered(r *http1.Response, to []store.Event) []store.Event
	// KeepAlive sends a request that renews a session or lease.
	KeepAlive(op *store.Op)
	// STM sends the first request of an optimistic transaction, which takes
	// several requests and has events before its end.
	STM(op *store.Op)
	// STMAnswered handles the response to a request of the transaction. It appends
	// events, and sends the next request or appends the operation's end. An
	// abandoned transaction (r.Late) ends with a store.Late, possibly after
	// further requests.
	STMAnswered(r *http1.Response, to []store.Event) []store.Event
	// CutOff appends the end of a transaction whose connection has ended. written
	// reports whether its request in flight was written completely.
	CutOff(written bool, to []store.Event) []store.Event
	// Register sends a request about a service instance (store.Op.Service).
	Register(op *store.Op)
}

// Basic implements the API methods for watches, sessions, optimistic transactions
// and services of a store that has none of them. A Codec does not call them.
type Basic struct{}

// Watch implements API.
func (Basic) Watch(*store.Op) {}

// WatchAnswered implements API.
func (Basic) WatchAnswered(_ *http1.Response, to []store.Event) []store.Event { return to }

// KeepAlive implements API.
func (Basic) KeepAlive(*store.Op) {}

// STM implements API.
func (Basic) STM(*store.Op) {}

// STMAnswered implements API.
func (Basic) STMAnswered(_ *http1.Response, to []store.Event) []store.Event { return to }

// CutOff implements API.
func (Basic) CutOff(_ bool, to []store.Event) []store.Event { return to }

// Register implements API.
func (Basic) Register(*store.Op) {}

// AnyIndex is the version for an unconditional write, and of a key whose version
// is unknown.
const AnyIndex = -1

// Codec implements store.Codec, for embedding in a store's codec.
type Codec struct {
	*http1.Conn
	api   API
	about StoreInfo
	has   [kv.NumKinds]bool

	// The operation in flight. A Range of one key is sent as a Get.
	Tag        uint32
	Kind       kv.Kind
	Purpose    Purpose
	Extra      uint32 // requests after the first
	key, value []byte // CAS: of the following write; Range of one key: the key
	OfService  bool   // it concerns a service instance (API.Register)
	Interval          // Range
	keys       store.Keys
	Listed     bool // Range: the response's keys are passed to keys
	Values     bool // with their values
}

// Purpose is the purpose of the request in flight.
type Purpose uint8

// Purposes.
const (
	WholeOperation Purpose = iota // the whole operation
	Listing                       // the whole operation, a Range
	ReplayedCall                  // the whole operation, a recorded call
	reading                       // CAS: reads the key's version first
	refused                       // none: the store has no such operation
	waiting                       // the query of a watcher (API.Watch)
	stepping                      // one of several requests (API.STM)
)

// IsWatch reports whether the connection belongs to a watcher.
func (d Purpose) IsWatch() bool { return d == waiting }

// StoreInfo describes a store for messages.
type StoreInfo struct {
	// Operations are the store's operations; others are not sent.
	Operations map[kv.Kind]string
	Name       string
	// HTTP2 ends the message about a server that speaks HTTP/2, such as "is this
	// the store's HTTP port?". TLS ends the one about a server that speaks TLS;
	// if empty, that message asks about the flags.
	HTTP2, TLS string
}

// Init initializes the codec of a new connection.
func (c *Codec) Init(cfg http1.Config, api API, about StoreInfo) {
	c.Conn, c.api, c.about = http1.NewConn(cfg), api, about
	for k := range about.Operations {
		c.has[k] = true
	}
}

// Submit implements store.Codec.
func (c *Codec) Submit(op *store.Op) {
	key := TrimSlash(op.Key)
	c.Tag, c.Kind, c.Purpose, c.Extra = op.Tag, op.Kind, WholeOperation, 0
	c.OfService = false
	c.keys, c.Listed, c.Values, c.Cut = nil, false, false, len(key) < len(op.Key)
	switch {
	case op.Call != nil:
		if c.Purpose = ReplayedCall; op.Range != nil {
			c.keys = op.Range.Keys
		}
		c.api.Replay(op.Call)
	case !c.has[op.Kind]: // send a harmless read, because only Feed can return an event
		c.Purpose = refused
		c.api.Read([]byte("quorumbench/refused"), kv.Local)
	case op.Service != nil:
		c.OfService = true
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
		c.want(op)
		c.api.List(op.Consistency)
	case op.Kind == kv.Delete:
		c.api.Remove(key)
	case op.Kind == kv.CAS && op.Revision >= 0:
		c.api.Write(key, op.Value, op.Revision)
	case op.Kind == kv.CAS:
		c.Purpose = reading
		c.key, c.value = append(c.key[:0], key...), append(c.value[:0], op.Value...)
		c.api.Read(key, kv.None)
	case op.Kind == kv.Txn:
		c.api.Transact(op.Pairs)
	case op.Kind == kv.STM:
		c.Purpose = stepping
		c.api.STM(op)
	case op.Kind == kv.KeepAlive:
		c.api.KeepAlive(op)
	case op.Kind == kv.Watch:
		c.Purpose = waiting
		c.api.Watch(op)
	}
}

// BeginList starts a Range's response and determines whether its keys are wanted.
func (c *Codec) BeginList() {
	c.Listed = c.keys != nil
	c.Values = c.Listed && c.keys.Begin(c.Tag)
}

// HandOut passes a key of a Range's response, spelled as in the operation, to the
// receiver, with its value only if Values is set. It may be called only if Listed
// is set.
func (c *Codec) HandOut(key, value []byte) {
	if !c.Values {
		value = nil
	}
	c.keys.Add(c.Tag, key, value, 0)
}

// HandOutVersion passes a key of the response to a recorded call to the receiver,
// with its value and version.
func (c *Codec) HandOutVersion(key, value []byte, version int64) {
	c.keys.Add(c.Tag, key, value, version)
}

// swap continues a compare-and-set whose key was read for its version. It returns
// false and fills in the event if the read failed or the connection accepts no
// more requests.
func (c *Codec) swap(r *http1.Response, e *store.Event) bool {
	c.Kind = kv.Get
	more := c.api.Answered(r, e)
	c.Kind = kv.CAS
	switch {
	case more:
		return true
	case e.Outcome == kv.Miss:
		e.Revision = 0
	case e.Outcome != kv.OK:
		if !e.Outcome.Definite() && e.Outcome != kv.WrongAnswer {
			e.Outcome = kv.NotSent // of the write; the text describes the read's error
		}
		return false
	}
	if c.Draining() {
		*e = store.Event{Tag: e.Tag, Outcome: kv.NotSent, Text: []byte("the server closes the connection")}
		return false
	}
	c.Purpose = WholeOperation
	c.Extra++
	c.api.Write(c.key, c.value, e.Revision)
	return true
}

// Room implements store.Codec. A connection has one operation in flight.
func (c *Codec) Room() int {
	if c.Idle() {
		return 1
	}
	return 0
}

// Cancel implements store.Codec. The response to a written request must still be
// awaited, because the next response follows it.
func (c *Codec) Cancel(uint32) bool { return c.Conn.Cancel() }

// Feed implements store.Codec.
func (c *Codec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	r, err := c.Conn.Feed(in)
	if err != nil {
		return to, c.explain(err)
	}
	if r == nil {
		return to, nil
	}
	return c.answered(r, to), nil
}

func (c *Codec) answered(r *http1.Response, to []store.Event) []store.Event {
	switch c.Purpose {
	case waiting:
		return c.api.WatchAnswered(r, to)
	case stepping:
		return c.api.STMAnswered(r, to)
	}
	to = append(to, store.Event{Tag: c.Tag, Extra: c.Extra})
	e, more := &to[len(to)-1], false
	switch {
	case r.Late:
		*e = store.Event{Tag: c.Tag, What: store.Late}
	case c.Purpose == refused:
		e.Outcome, e.Text = kv.BadRequest, []byte(c.about.Name+" has no working operation of this kind")
	case c.Purpose == reading:
		more = c.swap(r, e)
	default:
		if more = c.api.Answered(r, e); !more && c.keys != nil && c.Kind == kv.Get && c.Purpose != ReplayedCall {
			c.handOutOne(e)
		}
	}
	if more {
		to = to[:len(to)-1]
	}
	return to
}

// handOutOne passes the key of a Range of one key to the receiver.
func (c *Codec) handOutOne(e *store.Event) {
	if c.BeginList(); e.Outcome == kv.OK {
		c.HandOut(c.key, e.Value)
	}
}

// explain adds a hint for users to an error.
func (c *Codec) explain(err error) error {
	switch {
	case errors.Is(err, http1.ErrHTTP2):
		return fmt.Errorf("%w: %s", err, c.about.HTTP2)
	case errors.Is(err, http1.ErrTLS) && c.about.TLS != "":
		return fmt.Errorf("%w, %s", err, c.about.TLS)
	case errors.Is(err, http1.ErrTLS):
		return fmt.Errorf("%w: are --cacert, --cert and --key missing?", err)
	}
	return err
}

// Lost implements store.Codec.
func (c *Codec) Lost(to []store.Event) []store.Event {
	end, r := c.Conn.Lost()
	outcome, whole := kv.NotSent, c.Purpose <= ReplayedCall // otherwise the connection's end prevents the remaining requests
	switch {
	case end == http1.Nothing:
		return to
	case (c.Purpose == waiting || c.Purpose == stepping) && end == http1.Answered:
		return c.answered(r, to)
	case c.Purpose == stepping:
		return c.api.CutOff(end == http1.Broken, to)
	case c.Purpose == waiting: // the engine creates the watcher again on another connection
		return to
	case end == http1.Answered && (whole || r.Late):
		return c.answered(r, to)
	case end == http1.Broken && whole:
		outcome = kv.ConnectionLost
	}
	return append(to, store.Event{Tag: c.Tag, Outcome: outcome, Extra: c.Extra})
}

// Tick implements store.Codec. It does nothing.
func (c *Codec) Tick(int64) int64 { return 0 }

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
	// Write sends a write of a key. If index is AnyIndex, the write is unconditional. If index is
	// 0, the write succeeds only if the key does not exist. Otherwise it succeeds only if the key
	// has the version index.
	Write(key, value []byte, index int64)
	// Read sends a read of a key. The level kv.None means that the read must return the key's
	// version for a compare-and-set.
	Read(key []byte, level kv.Consistency)
	// List sends a Range for the codec's Interval.
	List(level kv.Consistency)
	// Remove sends a delete of a key.
	Remove(key []byte)
	// Replay sends a recorded call, if the store is a store.Replayer.
	Replay(r *call.Call)
	// Transact sends a Txn.
	Transact(pairs []store.Pair)
	// Answered handles the response to the request in flight. Either it sets the operation's event
	// and returns false, or it sends the operation's next request and returns true.
	Answered(r *http1.Response, e *store.Event) (more bool)

	// Watch sends the first query for a watcher. Queries block, so the watcher needs its own
	// connection. The next query is sent when the response to the previous query has arrived.
	Watch(op *store.Op)
	// WatchAnswered handles the response to a watcher's query and appends the watcher's events. It
	// then sends the next query, unless the watcher has ended or the connection accepts no more
	// requests.
	WatchAnswered(r *http1.Response, to []store.Event) []store.Event
	// KeepAlive sends a request that renews a session or lease.
	KeepAlive(op *store.Op)
	// STM sends the first request of an optimistic transaction. The transaction needs several
	// requests, and causes events before it ends.
	STM(op *store.Op)
	// STMAnswered handles the response to a request of the transaction. It appends events. It then
	// either sends the next request, or appends the event for the operation's end. An abandoned
	// transaction (r.Late) ends with an event of type store.Late, possibly after further requests.
	STMAnswered(r *http1.Response, to []store.Event) []store.Event
	// CutOff appends the event for the end of a transaction whose connection has ended. written
	// reports whether its request in flight was written completely.
	CutOff(written bool, to []store.Event) []store.Event
	// Register sends a request about a service instance (see store.Op.Service).
	Register(op *store.Op)
}

// Basic implements the methods of API for watches, sessions, optimistic transactions and
// services. A store that has none of these embeds Basic. A Codec then never calls the methods.
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

// AnyIndex means "any version" for an unconditional write, and "unknown" for the version of a
// key.
const AnyIndex = -1

// Codec implements store.Codec. The codec of a store embeds it.
type Codec struct {
	*http1.Conn
	api   API
	about StoreInfo
	has   [kv.NumKinds]bool

	// Fields for the operation in flight. A Range for a single key is sent as a Get.
	Tag        uint32
	Kind       kv.Kind
	Purpose    Purpose
	Extra      uint32 // number of requests after the first
	key, value []byte // CAS: for the write that follows the read; Range for a single key: the key
	OfService  bool   // the operation is about a service instance (API.Register)
	Interval          // Range: the requested keys
	keys       store.Keys
	Listed     bool // Range: the keys in the response are passed to keys
	Values     bool // the keys are passed with their values
}

// Purpose is the reason why the request in flight was sent.
type Purpose uint8

// Purposes.
const (
	WholeOperation Purpose = iota // the request is the whole operation
	Listing                       // the request is the whole operation, which is a Range
	ReplayedCall                  // the request is the whole operation, which is a recorded call
	reading                       // CAS: the request reads the key's version before the write
	refused                       // none: a read was sent, because the store has no such operation
	waiting                       // the request is a watcher's query (API.Watch)
	stepping                      // one of the requests of an optimistic transaction (API.STM)
)

// IsWatch reports whether the connection is used by a watcher.
func (d Purpose) IsWatch() bool { return d == waiting }

// StoreInfo describes a store for the Codec and its messages.
type StoreInfo struct {
	// Operations are the operations that the store has. The Codec sends no others.
	Operations map[kv.Kind]string
	Name       string
	// HTTP2 is the end of the message about a server that speaks HTTP/2, such as "is this the
	// store's HTTP port?". TLS is the end of the message about a server that speaks TLS. If TLS is
	// empty, that message asks about the TLS flags.
	HTTP2, TLS string
}

// Init initializes the codec for a new connection.
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
	case !c.has[op.Kind]: // send a read that changes nothing, because only Feed can return an event
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

// BeginList must be called at the start of a response to a Range. It determines whether the
// caller wants the keys.
func (c *Codec) BeginList() {
	c.Listed = c.keys != nil
	c.Values = c.Listed && c.keys.Begin(c.Tag)
}

// HandOut passes one key in the response to a Range to the caller. The key must be spelled as
// in the operation. The value is passed only if Values is set. HandOut may be called only if
// Listed is set.
func (c *Codec) HandOut(key, value []byte) {
	if !c.Values {
		value = nil
	}
	c.keys.Add(c.Tag, key, value, 0)
}

// HandOutVersion passes one key in the response to a recorded call to the caller, with its
// value and version.
func (c *Codec) HandOutVersion(key, value []byte, version int64) {
	c.keys.Add(c.Tag, key, value, version)
}

// swap continues a compare-and-set after the read of the key's version. It sends the write and
// returns true. If the read failed, or the connection accepts no more requests, it sets the
// event and returns false.
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
			// The write starts with a read. If the read fails, the write was certainly not sent.
			e.Outcome = kv.NotSent
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

// Room implements store.Codec. A connection can have one operation in flight.
func (c *Codec) Room() int {
	if c.Idle() {
		return 1
	}
	return 0
}

// Cancel implements store.Codec. If the request was written, the connection must still wait for
// its response, because the next response follows it.
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

// handOutOne passes the key of a Range for a single key to the caller.
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
	outcome, whole := kv.NotSent, c.Purpose <= ReplayedCall // unless the request was the whole operation, the remaining requests cannot be sent any more
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

// Package httpkv is what the stores have in common whose keys are an API over
// HTTP/1.1: a connection with one operation in flight, which may take several
// requests.
package httpkv

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// API is what an answer means in one store.
type API interface {
	// Answered takes the answer to the request in flight: it fills the
	// operation's event, or sends the operation's next request and returns true.
	Answered(r *http1.Response, e *store.Event) (more bool)
}

// Codec is all of a store.Codec but Submit, for a store's codec to embed.
type Codec struct {
	*http1.Conn
	api  API
	hint string

	// The operation in flight.
	Tag        uint32
	Kind       kv.Kind
	Doing      Doing
	Extra      uint32 // requests beyond the first
	Key, Value []byte // CAS: of the write to come
	Interval          // Range
	keys       store.Keys
	Listed     bool // Range: the keys of the answer are to be handed out
	Values     bool // and their values
}

// Doing is what the request in flight is to the operation.
type Doing uint8

// What it can be.
const (
	All     Doing = iota // the whole of it
	Reading              // CAS: the key's version is read first
	Listing              // Range
)

// Init begins a connection. The hint ends the sentence about a server that
// speaks HTTP/2, such as "is this the store's HTTP port?".
func (c *Codec) Init(cfg http1.Config, api API, hint string) {
	c.Conn, c.api, c.hint = http1.NewConn(cfg), api, hint
}

// Take takes a new operation; the store's Submit sends its first request.
func (c *Codec) Take(op *store.Op) {
	c.Tag, c.Kind, c.Doing, c.Extra = op.Tag, op.Kind, All, 0
	c.keys, c.Listed, c.Values = nil, false, false
	if op.Range != nil {
		c.keys = op.Range.Keys
	}
}

// List begins to take the answer to a Range, and finds out whether its keys are
// wanted.
func (c *Codec) List() {
	c.Listed = c.keys != nil
	c.Values = c.Listed && c.keys.Begin(c.Tag)
}

// HandOut gives a key of a Range's answer, as the operation spelt it, to who
// checks it, with its value where Values. The store asks only where Listed.
func (c *Codec) HandOut(key, value []byte) { c.keys.Add(c.Tag, key, value) }

// ReadFirst keeps a compare-and-set's write, which needs the key's version: the
// next request asks for that.
func (c *Codec) ReadFirst(key, value []byte) {
	c.Doing = Reading
	c.Key, c.Value = append(c.Key[:0], key...), append(c.Value[:0], value...)
}

// Proceed goes on to the write that ReadFirst kept. It returns false, with the
// event filled, when the connection takes no more requests.
func (c *Codec) Proceed(e *store.Event) bool {
	if c.Draining() {
		*e = store.Event{Tag: e.Tag, Outcome: kv.NotSent, Text: []byte("the server closes the connection")}
		return false
	}
	c.Doing = All
	c.Extra++
	return true
}

// Room implements store.Codec: one operation at a time.
func (c *Codec) Room() int {
	if c.Idle() {
		return 1
	}
	return 0
}

// Cancel implements store.Codec. The answer to what was written must be
// awaited, because the next one comes behind it.
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
	to = append(to, store.Event{Tag: c.Tag, Extra: c.Extra})
	e := &to[len(to)-1]
	if r.Late {
		*e = store.Event{Tag: c.Tag, What: store.Late}
	} else if c.api.Answered(r, e) {
		to = to[:len(to)-1]
	}
	return to
}

// explain adds what a user can do about it.
func (c *Codec) explain(err error) error {
	switch {
	case errors.Is(err, http1.ErrHTTP2):
		return fmt.Errorf("%w: %s", err, c.hint)
	case errors.Is(err, http1.ErrTLS):
		return fmt.Errorf("%w: were --cacert, --cert and --key meant?", err)
	}
	return err
}

// Lost implements store.Codec.
func (c *Codec) Lost(to []store.Event) []store.Event {
	end, r := c.Conn.Lost()
	switch {
	case end == http1.Answered && c.Doing == Reading:
		// There is no connection for the write any more.
	case end == http1.Answered:
		return c.answered(r, to)
	case end == http1.Broken && c.Doing != Reading:
		return append(to, store.Event{Tag: c.Tag, Outcome: kv.ConnectionLost, Extra: c.Extra})
	case end != http1.NotSent && end != http1.Broken:
		return to
	}
	return append(to, store.Event{Tag: c.Tag, Outcome: kv.NotSent, Extra: c.Extra})
}

// Tick implements store.Codec. There is nothing to do.
func (c *Codec) Tick(int64) int64 { return 0 }

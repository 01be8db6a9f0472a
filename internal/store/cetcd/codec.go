package cetcd

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// codec is cetcd's part of Consul's KV API on one connection, which has one
// operation in flight.
type codec struct {
	conn     *http1.Conn
	get, put *http1.Template

	// The operation in flight.
	tag        uint32
	kind       kv.Kind
	doing      doing
	extra      uint32 // requests beyond the first
	key, value []byte // CAS: of the write to come
	from, to   []byte // Range: the interval, to empty for no end
	prefix     []byte // Range: what is asked for
	limit      int64
	keys       store.Keys // takes the keys of a Range; may be nil
	cut        bool       // the key's first slash was left out, so an answer's key is not the operation's

	buf  []byte // what answers decode to
	text []byte // of an error
}

// doing is what the request in flight is to the operation.
type doing uint8

const (
	all     doing = iota // the whole of it
	reading              // CAS: the key's version is read first
	refused              // nothing: the operation would break the server or the key
)

func newCodec(d store.Dialed) *codec {
	c := &codec{conn: http1.NewConn(http1.Config{Host: d.Endpoint, Parts: d.Parts})}
	c.get = c.conn.Template("GET", "/v1/kv/", false)
	c.put = c.conn.Template("PUT", "/v1/kv/", true)
	return c
}

// Room implements store.Codec: one operation at a time.
func (c *codec) Room() int {
	if c.conn.Idle() {
		return 1
	}
	return 0
}

// Cancel implements store.Codec. The answer to what was written must be
// awaited, because the next one comes behind it. Without a quorum cetcd never
// answers a PUT.
func (c *codec) Cancel(uint32) bool { return c.conn.Cancel() }

// Feed implements store.Codec.
func (c *codec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	r, err := c.conn.Feed(in)
	switch {
	case err != nil:
		return to, explain(err)
	case r == nil:
		return to, nil
	}
	return c.answered(r, to), nil
}

// explain adds what a user of cetcd can do about it.
func explain(err error) error {
	switch {
	case errors.Is(err, http1.ErrHTTP2):
		return fmt.Errorf("%w: is this cetcd's port, and not that of the etcd behind it?", err)
	case errors.Is(err, http1.ErrTLS):
		return fmt.Errorf("%w, which cetcd does not", err)
	}
	return err
}

func (c *codec) answered(r *http1.Response, to []store.Event) []store.Event {
	to = append(to, store.Event{Tag: c.tag, Extra: c.extra})
	e := &to[len(to)-1]
	switch {
	case r.Late:
		e.What = store.Late
	case c.doing == refused:
		e.Outcome, e.Text = kv.BadRequest, []byte("cetcd has no such operation that works")
	case c.doing == reading:
		if c.swap(r, e) {
			to = to[:len(to)-1]
		}
	default:
		c.event(r, e)
	}
	return to
}

// Lost implements store.Codec. What only read, or would have, changed nothing.
func (c *codec) Lost(to []store.Event) []store.Event {
	end, r := c.conn.Lost()
	outcome := kv.NotSent
	switch {
	case end == http1.Answered && (c.doing == all || r.Late):
		return c.answered(r, to)
	case end == http1.Nothing:
		return to
	case end == http1.Broken && c.doing == all:
		outcome = kv.ConnectionLost
	}
	return append(to, store.Event{Tag: c.tag, Outcome: outcome, Extra: c.extra})
}

// Tick implements store.Codec. There is nothing to do.
func (c *codec) Tick(int64) int64 { return 0 }

// Out implements store.Codec.
func (c *codec) Out() []byte { return c.conn.Out() }

// Wrote implements store.Codec.
func (c *codec) Wrote(n int) { c.conn.Wrote(n) }

// Draining implements store.Codec.
func (c *codec) Draining() bool { return c.conn.Draining() }

package consul

import (
	"errors"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// codec is Consul's KV API on one connection, which has one operation in
// flight (https://developer.hashicorp.com/consul/api-docs/kv).
type codec struct {
	conn                 *http1.Conn
	get, put, del, multi *http1.Template

	// The operation in flight.
	tag        uint32
	kind       kv.Kind
	doing      doing
	extra      uint8  // requests beyond the first
	key, value []byte // CAS: of the write to come
	from, to   []byte // Range: the interval, to empty for no end
	limit      int64

	buf  []byte // what answers decode to
	text []byte // of an error
}

// doing is what the request in flight is to the operation.
type doing uint8

const (
	all     doing = iota // the whole of it
	reading              // CAS: the key's version is read first
	listing              // Range
)

// The response fields that are kept.
const fieldIndex = 0

// newCodecs returns the codecs of one event loop. The ACL token is the access's
// password, or its user if there is no password.
func newCodecs(a store.Access) store.Codecs {
	token := tokenOf(a)
	return func(d store.Dialed) store.Codec { return newCodec(d.Endpoint, token) }
}

func tokenOf(a store.Access) string {
	if a.Password != "" {
		return a.Password
	}
	return a.User
}

func newCodec(endpoint, token string) *codec {
	cfg := http1.Config{Host: endpoint, Wanted: []string{"X-Consul-Index"}}
	if token != "" {
		cfg.Fields = []http1.Field{{Name: "X-Consul-Token", Value: token}}
	}
	c := &codec{conn: http1.NewConn(cfg)}
	c.get = c.conn.Template("GET", "/v1/kv/", false)
	c.put = c.conn.Template("PUT", "/v1/kv/", true)
	c.del = c.conn.Template("DELETE", "/v1/kv/", false)
	c.multi = c.conn.Template("PUT", "/v1/txn", true, http1.Field{Name: "Content-Type", Value: "application/json"})
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
// awaited, because the next one comes behind it.
func (c *codec) Cancel(uint32) bool { return c.conn.Cancel() }

// Feed implements store.Codec.
func (c *codec) Feed(in []byte, to []store.Event) ([]store.Event, error) {
	r, err := c.conn.Feed(in)
	if err != nil {
		return to, explain(err)
	}
	if r == nil {
		return to, nil
	}
	return c.answered(r, to), nil
}

func (c *codec) answered(r *http1.Response, to []store.Event) []store.Event {
	to = append(to, store.Event{Tag: c.tag, Extra: c.extra})
	e := &to[len(to)-1]
	switch {
	case r.Late:
		*e = store.Event{Tag: c.tag, What: store.Late}
	case c.doing == reading && c.swap(r, e):
		to = to[:len(to)-1]
	case c.doing != reading:
		c.event(r, e)
	}
	return to
}

// explain adds what a user of Consul can do about it.
func explain(err error) error {
	switch {
	case errors.Is(err, http1.ErrHTTP2):
		return fmt.Errorf("%w: is this Consul's HTTP port, and not its gRPC port?", err)
	case errors.Is(err, http1.ErrTLS):
		return fmt.Errorf("%w: were --cacert, --cert and --key meant?", err)
	}
	return err
}

// Lost implements store.Codec.
func (c *codec) Lost(to []store.Event) []store.Event {
	end, r := c.conn.Lost()
	switch {
	case end == http1.Answered && c.doing == reading:
		// There is no connection for the write any more.
	case end == http1.Answered:
		return c.answered(r, to)
	case end == http1.Broken && c.doing != reading:
		return append(to, store.Event{Tag: c.tag, Outcome: kv.ConnectionLost, Extra: c.extra})
	case end != http1.NotSent && end != http1.Broken:
		return to
	}
	return append(to, store.Event{Tag: c.tag, Outcome: kv.NotSent, Extra: c.extra})
}

// Tick implements store.Codec. There is nothing to do.
func (c *codec) Tick(int64) int64 { return 0 }

// Out implements store.Codec.
func (c *codec) Out() []byte { return c.conn.Out() }

// Wrote implements store.Codec.
func (c *codec) Wrote(n int) { c.conn.Wrote(n) }

// Draining implements store.Codec.
func (c *codec) Draining() bool { return c.conn.Draining() }

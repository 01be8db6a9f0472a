// Package storetest is what the tests of several stores do alike: they drive a
// codec over a socket and serve a null cluster. Package testservers starts real
// ones.
package storetest

import (
	"bytes"
	"crypto/tls"
	"net"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// patience bounds what a test waits for.
const patience = 2 * time.Minute

// Wire drives one codec over a socket, synchronously.
type Wire struct {
	Codec store.Codec
	Conn  net.Conn
	t     testing.TB
	buf   []byte
	tag   uint32
}

// Dial connects to the first endpoint.
func Dial(t testing.TB, st store.Store, a store.Access) *Wire {
	t.Helper()
	conn, err := net.Dial("tcp", a.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	if a.TLS != nil {
		conn = tls.Client(conn, a.TLS)
	}
	t.Cleanup(func() { _ = conn.Close() })
	_ = conn.SetDeadline(time.Now().Add(patience))
	return &Wire{t: t, Conn: conn, Codec: st.Codecs(a)(store.Dialed{Endpoint: a.Endpoints[0]}), buf: make([]byte, 64<<10)}
}

// Turn writes what there is, reads once, and appends the events to to. The
// error is the codec's; the connection's own ends the test.
func (w *Wire) Turn(to []store.Event) ([]store.Event, error) {
	w.t.Helper()
	for out := w.Codec.Out(); len(out) > 0; out = w.Codec.Out() {
		n, err := w.Conn.Write(out)
		w.Codec.Wrote(n)
		if err != nil {
			w.t.Fatal(err)
		}
	}
	n, err := w.Conn.Read(w.buf)
	if err != nil {
		w.t.Fatal(err)
	}
	return w.Codec.Feed(w.buf[:n], to)
}

// Do runs one operation to its end; its bytes are copied.
func (w *Wire) Do(op store.Op) store.Event {
	w.t.Helper()
	w.tag++
	op.Tag = w.tag
	if w.Codec.Room() == 0 {
		w.t.Fatal("no room")
	}
	w.Codec.Submit(&op)
	for {
		events, err := w.Turn(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range events {
			if e.Tag == op.Tag {
				e.Key, e.Value, e.Text = bytes.Clone(e.Key), bytes.Clone(e.Value), bytes.Clone(e.Text)
				return e
			}
		}
	}
}

// Want runs an operation that is to end with the outcome.
func (w *Wire) Want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e := w.Do(op)
	if e.Outcome != o {
		w.t.Fatalf("%v of %.40q: %v (%s), want %v", op.Kind, op.Key, e.Outcome, e.Text, o)
	}
	return e
}

// End runs one operation to its end or to the connection's, whatever that is.
// The error is the codec's.
func (w *Wire) End(op store.Op) (store.Event, error) {
	w.Codec.Submit(&op)
	for {
		if out := w.Codec.Out(); len(out) > 0 {
			n, _ := w.Conn.Write(out)
			w.Codec.Wrote(n)
		}
		n, err := w.Conn.Read(w.buf)
		if err != nil {
			return w.Codec.Lost(nil)[0], nil
		}
		events, err := w.Codec.Feed(w.buf[:n], nil)
		if err != nil {
			return w.Codec.Lost(events)[0], err
		}
		if len(events) > 0 {
			return events[0], nil
		}
	}
}

package proxytest

import (
	"bytes"
	"net"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Wire is a codec on a real connection.
type Wire struct {
	t     testing.TB
	codec store.Codec
	conn  net.Conn
	buf   []byte
	tag   uint32
}

// Dial connects a store's codec to an endpoint.
func Dial(t testing.TB, st store.Store, a store.Access, endpoint string) *Wire {
	t.Helper()
	conn, err := net.Dial("tcp", endpoint)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	w := &Wire{t: t, conn: conn, codec: st.Codecs(a)(store.Dialed{Endpoint: endpoint}), buf: make([]byte, 64<<10)}
	for w.codec.Room() == 0 {
		if _, err := w.turn(); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

// Within lets what follows take so long and no longer: the connection is lost
// after that.
func (w *Wire) Within(d time.Duration) {
	w.t.Helper()
	if err := w.conn.SetDeadline(time.Now().Add(d)); err != nil {
		w.t.Fatal(err)
	}
}

// turn writes what there is, reads once, and returns the events.
func (w *Wire) turn() ([]store.Event, error) {
	if out := w.codec.Out(); len(out) > 0 {
		n, err := w.conn.Write(out)
		w.codec.Wrote(n)
		if err != nil {
			return nil, err
		}
	}
	n, err := w.conn.Read(w.buf)
	if err != nil {
		return nil, err
	}
	return w.codec.Feed(w.buf[:n], nil)
}

// Try runs one operation to its end, or to the connection's. The event's bytes
// are copied.
func (w *Wire) Try(op store.Op) (store.Event, error) {
	w.t.Helper()
	w.tag++
	op.Tag = w.tag
	if w.codec.Room() == 0 {
		w.t.Fatal("no room")
	}
	w.codec.Submit(&op)
	for {
		events, err := w.turn()
		if err != nil {
			events = w.codec.Lost(events)
		}
		for _, e := range events {
			if e.Tag == op.Tag {
				e.Key, e.Value, e.Text = bytes.Clone(e.Key), bytes.Clone(e.Value), bytes.Clone(e.Text)
				return e, err
			}
		}
		if err != nil {
			w.t.Fatalf("%v of %.40q: %v, and no event", op.Kind, op.Key, err)
		}
	}
}

// Want runs an operation that is to end with the outcome.
func (w *Wire) Want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e, err := w.Try(op)
	if err != nil || e.Outcome != o {
		w.t.Fatalf("%v of %.40q: %v (%s, %v), want %v", op.Kind, op.Key, e.Outcome, e.Text, err, o)
	}
	return e
}

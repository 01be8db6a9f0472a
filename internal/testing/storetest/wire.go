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

// patience is the time limit for every wait of a test.
const patience = 2 * time.Minute

// Wire drives one codec over a socket, synchronously.
type Wire struct {
	Codec store.Codec
	Conn  net.Conn
	t     testing.TB
	buf   []byte
	tag   uint32
	gone  bool          // the connection ended
	rest  []store.Event // received events that were not requested; see AwaitEvents
}

// Dial connects to the first endpoint.
func Dial(t testing.TB, st store.Store, a store.Access) *Wire {
	t.Helper()
	return DialWith(t, a, st.Codecs(a), nil)
}

// DialWith connects codecs to the first endpoint; previous is the previous codec of the
// connection's slot, or nil.
func DialWith(t testing.TB, a store.Access, codecs store.Codecs, previous store.Codec) *Wire {
	t.Helper()
	conn, err := net.Dial("tcp", a.Endpoints[0])
	if err != nil {
		t.Fatal(err)
	}
	if a.TLS != nil {
		conn = tls.Client(conn, a.TLS)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w := &Wire{t: t, Conn: conn, Codec: codecs(store.Dialed{Endpoint: a.Endpoints[0], Previous: previous}), buf: make([]byte, 64<<10)}
	w.SetTimeLimit(2 * patience) // for the whole test
	w.Codec.Tick(0)
	return w
}

// SetTest makes later failures fail another test, such as a subtest.
func (w *Wire) SetTest(t testing.TB) { w.t = t }

// SetTimeLimit sets a time limit for what follows, after which the connection is lost.
func (w *Wire) SetTimeLimit(d time.Duration) {
	w.t.Helper()
	if err := w.Conn.SetDeadline(time.Now().Add(d)); err != nil {
		w.t.Fatal(err)
	}
}

// NextTag returns a tag that no operation of this connection has had.
func (w *Wire) NextTag() uint32 {
	w.tag++
	return w.tag
}

// step writes pending output, reads once, and appends the events to to. The error is the
// codec's or the connection's.
func (w *Wire) step(to []store.Event) ([]store.Event, error) {
	for out := w.Codec.Out(); len(out) > 0; out = w.Codec.Out() {
		n, err := w.Conn.Write(out)
		w.Codec.Wrote(n)
		if err != nil {
			break // data that the server sent before it closed can still be read
		}
	}
	n, err := w.Conn.Read(w.buf)
	if err != nil {
		w.gone = true
		return to, err
	}
	return w.Codec.Feed(w.buf[:n], to)
}

// Step is like Turn, and returns the connection's errors too.
func (w *Wire) Step() ([]store.Event, error) { return w.step(nil) }

// Turn writes pending output, reads once, and appends the events to to. The error is the
// codec's; a connection error ends the test.
func (w *Wire) Turn(to []store.Event) ([]store.Event, error) {
	w.t.Helper()
	to, err := w.step(to)
	if w.gone {
		w.t.Fatal(err)
	}
	return to, err
}

// Ready waits until an operation can be submitted.
func (w *Wire) Ready() {
	w.t.Helper()
	for w.Codec.Room() == 0 {
		if _, err := w.Turn(nil); err != nil {
			w.t.Fatal(err)
		}
	}
}

// Try runs one operation until it or the connection ends. The bytes of the event are
// copied. The error is why the connection ended; without an event it ended before it was
// ready.
func (w *Wire) Try(op store.Op) (store.Event, error) {
	w.t.Helper()
	for w.Codec.Room() == 0 {
		if _, err := w.step(nil); err != nil {
			return store.Event{Outcome: kv.ConnectionLost}, err
		}
	}
	op.Tag = w.NextTag()
	w.Codec.Submit(&op)
	for {
		events, err := w.step(nil)
		if err != nil {
			events = w.Codec.Lost(events)
		}
		for _, e := range events {
			if e.Tag == op.Tag && e.What == store.Done {
				return copied(e), err
			}
		}
		if err != nil {
			w.t.Fatalf("%v of %.40q: %v, and no event", op.Kind, op.Key, err)
		}
	}
}

// End is like Try, but its error is only the codec's.
func (w *Wire) End(op store.Op) (store.Event, error) {
	w.t.Helper()
	e, err := w.Try(op)
	if w.gone {
		err = nil
	}
	return e, err
}

func copied(e store.Event) store.Event {
	e.Key, e.Value, e.Text = bytes.Clone(e.Key), bytes.Clone(e.Value), bytes.Clone(e.Text)
	return e
}

// Do runs one operation to its end; its bytes are copied.
func (w *Wire) Do(op store.Op) store.Event {
	w.t.Helper()
	e, err := w.Try(op)
	if err != nil {
		w.t.Fatalf("%v of %.40q: %v", op.Kind, op.Key, err)
	}
	return e
}

// Want runs an operation that must end with the outcome.
func (w *Wire) Want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e := w.Do(op)
	if e.Outcome != o {
		w.t.Fatalf("%v of %.40q: %v (%s), want %v", op.Kind, op.Key, e.Outcome, e.Text, o)
	}
	return e
}

// AwaitEvents reads until n matching events have arrived, and returns copies of them. Other
// events stay for a later call.
func (w *Wire) AwaitEvents(n int, match func(*store.Event) bool) (found []store.Event) {
	w.t.Helper()
	for {
		rest := w.rest[:0]
		for _, e := range w.rest {
			if len(found) < n && match(&e) {
				found = append(found, e)
			} else {
				rest = append(rest, e)
			}
		}
		if w.rest = rest; len(found) == n {
			return found
		}
		events, err := w.Turn(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range events {
			w.rest = append(w.rest, copied(e))
		}
	}
}

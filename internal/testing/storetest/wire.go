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

// waitLimit is the time limit for every wait of a test.
const waitLimit = 2 * time.Minute

// Wire drives one codec over a socket and waits for each result.
type Wire struct {
	Codec     store.Codec
	Conn      net.Conn
	t         testing.TB
	buf       []byte
	tag       uint32
	ended     bool          // the connection has ended
	unclaimed []store.Event // events that were received but not yet requested; see AwaitEvents
}

// Dial connects to the first endpoint.
func Dial(t testing.TB, st store.Store, a store.Access) *Wire {
	t.Helper()
	return DialWith(t, a, st.Codecs(a), nil)
}

// DialWith connects to the first endpoint and creates the connection's codec with the function
// `codecs`. The parameter `previous` is the codec of the earlier connection that the new connection
// replaces, or nil.
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
	w := &Wire{t: t, Conn: conn, Codec: codecs(store.ConnectionInfo{Endpoint: a.Endpoints[0], Previous: previous}), buf: make([]byte, 64<<10)}
	w.SetTimeLimit(2 * waitLimit) // for the whole test
	w.Codec.Tick(0)
	return w
}

// SetTest sets the test (for example a subtest) that fails if a later call fails.
func (w *Wire) SetTest(t testing.TB) { w.t = t }

// SetTimeLimit sets a time limit for all further calls together. After this time, calls fail as if
// the connection were lost.
func (w *Wire) SetTimeLimit(d time.Duration) {
	w.t.Helper()
	if err := w.Conn.SetDeadline(time.Now().Add(d)); err != nil {
		w.t.Fatal(err)
	}
}

// NextTag returns a tag that no operation on this connection has used.
func (w *Wire) NextTag() uint32 {
	w.tag++
	return w.tag
}

// step writes pending output, reads once, and appends the received events to the given slice. The
// error comes from the codec or the connection.
func (w *Wire) step(events []store.Event) ([]store.Event, error) {
	for out := w.Codec.Out(); len(out) > 0; out = w.Codec.Out() {
		n, err := w.Conn.Write(out)
		w.Codec.Wrote(n)
		if err != nil {
			break // data that the server sent before it closed the connection can still be read
		}
	}
	n, err := w.Conn.Read(w.buf)
	if err != nil {
		w.ended = true
		return events, err
	}
	return w.Codec.Feed(w.buf[:n], events)
}

// Step does the same as Turn, but returns connection errors instead of failing the test.
func (w *Wire) Step() ([]store.Event, error) { return w.step(nil) }

// Turn writes pending output, reads once, and appends the received events to the given slice. The
// returned error comes from the codec. A connection error fails the test.
func (w *Wire) Turn(events []store.Event) ([]store.Event, error) {
	w.t.Helper()
	events, err := w.step(events)
	if w.ended {
		w.t.Fatal(err)
	}
	return events, err
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

// Try runs one operation until the operation or the connection ends, and returns a copy of the
// operation's event. The error states why the connection ended. If the connection ends before it is
// ready, the event's outcome is kv.ConnectionLost.
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
			if e.Tag == op.Tag && e.Type == store.OperationDone {
				return copyEvent(e), err
			}
		}
		if err != nil {
			w.t.Fatalf("%v of %.40q: the connection failed with %v before an event arrived", op.Kind, op.Key, err)
		}
	}
}

// End does the same as Try, but returns only errors that come from the codec.
func (w *Wire) End(op store.Op) (store.Event, error) {
	w.t.Helper()
	e, err := w.Try(op)
	if w.ended {
		err = nil
	}
	return e, err
}

func copyEvent(e store.Event) store.Event {
	e.Key, e.Value, e.Text = bytes.Clone(e.Key), bytes.Clone(e.Value), bytes.Clone(e.Text)
	return e
}

// Do runs one operation until it ends, and returns a copy of its event.
func (w *Wire) Do(op store.Op) store.Event {
	w.t.Helper()
	e, err := w.Try(op)
	if err != nil {
		w.t.Fatalf("%v of %.40q: %v", op.Kind, op.Key, err)
	}
	return e
}

// Want runs an operation and fails the test unless it has the given outcome.
func (w *Wire) Want(o kv.Outcome, op store.Op) store.Event {
	w.t.Helper()
	e := w.Do(op)
	if e.Outcome != o {
		w.t.Fatalf("%v of %.40q: %v (%s), want %v", op.Kind, op.Key, e.Outcome, e.Text, o)
	}
	return e
}

// AwaitEvents reads until n matching events have arrived, and returns copies of them. It keeps
// other events for a later call.
func (w *Wire) AwaitEvents(n int, match func(*store.Event) bool) (found []store.Event) {
	w.t.Helper()
	for {
		rest := w.unclaimed[:0]
		for _, e := range w.unclaimed {
			if len(found) < n && match(&e) {
				found = append(found, e)
			} else {
				rest = append(rest, e)
			}
		}
		if w.unclaimed = rest; len(found) == n {
			return found
		}
		events, err := w.Turn(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		for _, e := range events {
			w.unclaimed = append(w.unclaimed, copyEvent(e))
		}
	}
}

package poll

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/text"
	"github.com/quorumbench/quorumbench/internal/wire/parts"
)

// RunOperation connects to an endpoint, executes one operation there, and returns the resulting
// event. The caller owns the event's memory. Before a load starts, RunOperation finds out whether
// the server runs, speaks the store's protocol and accepts the configured credentials. The text of
// an error is a complete sentence.
func (d Dialer) RunOperation(ctx context.Context, endpoint string, codecs store.Codecs, op *store.Op) (store.Event, error) {
	ctx, cancel := context.WithTimeout(ctx, d.Timeout)
	defer cancel()
	socket, s, err := d.dial(ctx, endpoint)
	if err != nil {
		return store.Event{}, err
	}
	defer func() { _ = socket.Close() }()
	conn := socket
	if s != nil {
		s.handshaken = false // crypto/tls continues to use the socket directly
		conn = s.tls
	}
	// If ctx is canceled, end a pending read or write.
	stop := context.AfterFunc(ctx, func() { _ = socket.SetDeadline(time.Unix(1, 0)) })
	defer stop()
	ev, err := exchange(conn, codecs(store.ConnectionInfo{Endpoint: endpoint, BufferBudget: parts.New(cmp.Or(d.MaxBuffered, DefaultMaxBuffered))}), op)
	switch {
	case err == nil:
		return ev, nil
	case errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE):
		if len(ev.Text) > 0 {
			words := text.Line(string(ev.Text), text.MaxServerText)
			return ev, &NoResponseError{cause: fmt.Errorf("%s closed the connection: %s", endpoint, words), Text: words}
		}
		if s == nil {
			return ev, newNoResponseError("%s closed the connection without a response: if the server requires TLS, specify its CA certificate; a member without a quorum may also close connections", endpoint)
		}
		return ev, newNoResponseError("%s closed the TLS connection without a response", endpoint)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return ev, newNoResponseError("%s accepted the connection but did not respond within %v", endpoint, d.Timeout)
	}
	return ev, fmt.Errorf("%s: %w", endpoint, err)
}

// exchange submits op as soon as the codec accepts it, and returns the event with op's outcome.
func exchange(conn net.Conn, c store.Codec, op *store.Op) (store.Event, error) {
	began := time.Now()
	buf := make([]byte, 64<<10)
	submitted := false
	for {
		c.Tick(int64(time.Since(began)))
		if !submitted && c.Room() > 0 {
			c.Submit(op)
			submitted = true
		}
		for out := c.Out(); len(out) > 0; out = c.Out() {
			n, err := conn.Write(out)
			c.Wrote(n)
			if err != nil {
				return lostEvent(c, op), err
			}
		}
		n, err := conn.Read(buf)
		if err != nil {
			return lostEvent(c, op), err
		}
		events, err := c.Feed(buf[:n], nil)
		if ev, ok := findOutcome(op, events); ok {
			closeSession(conn, c)
			return ev, nil
		}
		if err != nil {
			return store.Event{}, err
		}
	}
}

// lostEvent returns the event with op's outcome after the connection has ended.
func lostEvent(c store.Codec, op *store.Op) store.Event {
	ev, _ := findOutcome(op, c.Lost(nil))
	return ev
}

// findOutcome returns the event with op's outcome, if `events` contains it. It copies the event's
// key, value and text, because the codec reuses their memory.
func findOutcome(op *store.Op, events []store.Event) (ev store.Event, ok bool) {
	for _, ev := range events {
		if ev.Type == store.OperationDone && ev.Tag == op.Tag {
			ev.Key, ev.Value, ev.Text = clone(ev.Key), clone(ev.Value), clone(ev.Text)
			return ev, true
		}
	}
	return ev, false
}

// closeSession closes the connection's session, if it has one. Otherwise the server would keep the
// session until it expires.
func closeSession(conn net.Conn, c store.Codec) {
	if s, ok := c.(store.SessionCodec); ok {
		s.Close()
		// An error does not matter: the reply has arrived, and the session will expire.
		_, _ = conn.Write(c.Out())
	}
}

func clone(b []byte) []byte { return append([]byte(nil), b...) }

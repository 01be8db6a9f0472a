package agent

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/run/host"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/servers"
)

// reach returns the function that opens connections through the agent. The test fails if the agent
// does not permit this.
func reach(t *testing.T, r *Remote) store.Dial {
	t.Helper()
	dial := r.Host().(host.Remote).Reach()
	if dial == nil {
		t.Fatal("the agent does not permit connections")
	}
	return dial
}

func reaches(o *Options) { o.AllowConnections = true }

// answering starts a server that calls serve with each connection and then closes the connection.
func answering(t *testing.T, serve func(net.Conn)) (address string) {
	t.Helper()
	l := servers.Loopback(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
	}()
	return l.Addr().String()
}

// A connection through an agent transfers all bytes in both directions, and ends when the server
// closes its side.
func TestReach(t *testing.T) {
	_, to := served(t, reaches)
	r := dialled(t, to)
	long := bytes.Repeat([]byte("0123456789abcdef"), 20*maxDataBytes/16)
	address := answering(t, func(c net.Conn) {
		got := make([]byte, len(long))
		if _, err := io.ReadFull(c, got); err == nil && bytes.Equal(got, long) {
			_, _ = c.Write(got)
		}
	})
	conn, err := reach(t, r)(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write(long); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || !bytes.Equal(got, long) {
		t.Errorf("%d of %d bytes came back, or they differ from the sent bytes; %v", len(got), len(long), err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
}

// Bytes that are written before a connection is closed reach the server, followed by the end of the
// connection.
func TestReachEnds(t *testing.T) {
	_, to := served(t, reaches)
	got := make(chan string)
	address := answering(t, func(c net.Conn) {
		b, _ := io.ReadAll(c)
		got <- string(b)
	})
	conn, err := reach(t, dialled(t, to))(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Write([]byte("bye")); err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	if text := <-got; text != "bye" {
		t.Errorf("the server read %q", text)
	}
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("reading from a closed connection succeeded")
	}
}

// If a server sends nothing, a read returns at its deadline. The end of the session closes the
// connection.
func TestReachMute(t *testing.T) {
	_, to := served(t, reaches)
	r := dialled(t, to)
	ended := make(chan struct{})
	address := answering(t, func(c net.Conn) {
		_, _ = io.Copy(io.Discard, c) // until the connection is closed
		close(ended)
	})
	conn, err := reach(t, r)(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a read beyond its deadline returned: %v", err)
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	<-ended
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("reading from the connection after the session succeeded")
	}
}

// If the agent cannot connect, the error is the same as for a connection from our machine. An agent
// without --reach opens no connections.
func TestReachRefused(t *testing.T) {
	l := servers.Loopback(t)
	nobody := l.Addr().String()
	_ = l.Close() // from now, the port is closed
	_, to := served(t, reaches)
	r := dialled(t, to)
	dial := reach(t, r)
	if _, err := dial(t.Context(), nobody); !store.IsConnectionRefused(err) || !strings.Contains(err.Error(), "agent there") {
		t.Errorf("connecting to a closed port returned: %v", err)
	}
	for _, address := range []string{"", "127.0.0.1", "127.0.0.1:99999", "unix:/run/socket", "no such host:1"} {
		if _, err := dial(t.Context(), address); err == nil || store.IsConnectionRefused(err) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: %v", address, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := dial(gone, nobody); !errors.Is(err, context.Canceled) {
		t.Errorf("connecting with a canceled context returned: %v", err)
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := dial(t.Context(), nobody); err == nil || !strings.Contains(err.Error(), "was closed") {
		t.Errorf("connecting after the session returned: %v", err)
	}

	_, to = served(t, nil)
	h := dialled(t, to).Host()
	if h.(host.Remote).Reach() != nil {
		t.Error("an agent without --reach opens connections")
	}
	if _, err := h.(*remoteHost).connect(t.Context(), nobody); err == nil || !strings.Contains(err.Error(), "start the agent with --reach") {
		t.Errorf("the error of an agent without --reach is %v", err)
	}
}

package agent

import (
	"context"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/quorumbench/quorumbench/internal/store/registry"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// once starts an agent for one controller at a Unix socket. The channel receives the result of
// Serve.
func once(t *testing.T, m *manual) (*Server, Target, <-chan error) {
	t.Helper()
	dir := t.TempDir()
	s, err := New(Options{
		Folder: filepath.Join(dir, "agent"), Version: testVersion, Stores: registry.Lookup, Self: "/nowhere/quorumbench", SingleSession: true,
		Heartbeat: 20 * time.Second, Lease: time.Minute, Clock: m.clock(),
	})
	if err != nil {
		t.Fatal(err)
	}
	address := "unix:" + filepath.Join(dir, "socket")
	l, err := Listen(address)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(context.Background(), l) }()
	return s, Target{Name: "there", Address: address, Version: testVersion, Clock: silent()}, ended
}

// awaitEnd waits until an agent has stopped by itself.
func awaitEnd(t *testing.T, ended <-chan error) {
	t.Helper()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Fatal("the agent is still running")
	}
}

// An agent with SingleSession set exits after its session, and the controller learns that
// everything has been stopped.
func TestOnceEndsAfterItsSession(t *testing.T) {
	_, to, ended := once(t, &manual{now: epoch})
	if err := dialled(t, to).Close(); err != nil {
		t.Error(err)
	}
	awaitEnd(t, ended)
}

// If its controller is lost, an agent with SingleSession set exits at the end of the lease, even if
// its lifeline ended before.
func TestOnceEndsAfterTheLease(t *testing.T) {
	m := &manual{now: epoch}
	s, to, ended := once(t, m)
	r := dialled(t, to)
	s.StopAfterSession()
	s.StopAfterSession()
	if err := r.conn.Close(); err != nil {
		t.Error(err)
	}
	settle.Eventually(t, "the agent notices the loss of its controller", func() bool {
		now := s.currentSession()
		now.mu.Lock()
		defer now.mu.Unlock()
		return !now.killTime.IsZero()
	})
	select {
	case err := <-ended:
		t.Fatalf("the agent exited before the lease expired: %v", err)
	default:
	}
	m.advance(59 * time.Second)
	if s.currentSession() == nil {
		t.Error("the session ended before the lease expired")
	}
	settle.Eventually(t, "the lease has expired", func() bool {
		m.advance(time.Second)
		return s.currentSession() == nil
	})
	awaitEnd(t, ended)
}

// If no controller connects, an agent with SingleSession set exits after a minute or when its
// lifeline ends.
func TestOnceWithoutAController(t *testing.T) {
	m := &manual{now: epoch}
	_, _, ended := once(t, m)
	settle.Eventually(t, "the agent waits for a controller", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return len(m.waits) > 0
	})
	m.advance(FirstSessionTimeout)
	awaitEnd(t, ended)
	s, to, ended := once(t, &manual{now: epoch})
	s.StopAfterSession()
	awaitEnd(t, ended)
	if _, err := Dial(t.Context(), to); err == nil || !strings.HasPrefix(err.Error(), "agent there: ") {
		t.Errorf("the agent still accepts sessions: %v", err)
	}
}

// way is a Transport to an agent's socket that counts how often it is closed.
type way struct {
	at     string
	closed int
}

func (w *way) Dial(ctx context.Context) (net.Conn, error) {
	return (&net.Dialer{}).DialContext(ctx, "unix", w.at)
}

func (w *way) Close() error {
	w.closed++
	return nil
}

// A Transport is closed once: when the session ends, or when no session could begin.
func TestTransportIsClosed(t *testing.T) {
	_, to, ended := once(t, &manual{now: epoch})
	_, at := network(to.Address)
	for _, version := range []string{"another", testVersion} {
		w := &way{at: at}
		to.Transport, to.Address, to.Version = w, "somewhere", version
		r, err := Dial(t.Context(), to)
		if err == nil {
			if w.closed > 0 {
				t.Error("the transport was closed before the session ended")
			}
			err = r.Close()
		}
		if (err == nil) != (version == testVersion) || w.closed != 1 {
			t.Errorf("version %s: %v, closed %d times", version, err, w.closed)
		}
	}
	awaitEnd(t, ended)
}

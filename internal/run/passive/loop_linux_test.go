package passive

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// begun is a relay at work, before a member that says what it is told, and the
// connection through it.
func begun(t *testing.T) (*Relay, net.Conn) {
	t.Helper()
	listen := func() net.Listener {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	member, l := listen(), listen()
	served := make(chan struct{})
	go func() {
		defer close(served)
		c, err := member.Accept()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.Copy(c, struct{ io.Reader }{c})
		_ = c.Close()
	}()
	r := NewRelay(RelayConfig{To: member.Addr().String(), Tap: TapConfig{Tapped: mute{}, Sink: mute{}}, Now: func() int64 { return 1 }, Say: func(why string) { t.Error(why) }})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- r.Serve(ctx, l) }()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		_, _ = c.Close(), member.Close()
		<-served
	})
	return r, c
}

func ping(t *testing.T, c net.Conn, b []byte) {
	t.Helper()
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
}

// TestAQuietLoopParks: when nothing passes the loop waits as any goroutine does, and
// when something comes it goes on.
func TestAQuietLoopParks(t *testing.T) {
	r, c := begun(t)
	b := make([]byte, 4)
	ping(t, c, b) // it has begun
	for range 3 {
		before := r.parks.Load()
		settle.Eventually(t, "the loop is parked", func() bool { return r.parks.Load() > before })
		ping(t, c, b)
	}
}

// TestPassingOnDoesNotAllocate: what passes costs no memory but that which waits to be
// understood, which is used again.
func TestPassingOnDoesNotAllocate(t *testing.T) {
	settle.Unraced(t)
	_, c := begun(t) // testing.AllocsPerRun would leave the loop no processor beside the test's
	b := make([]byte, 300)
	for range 1000 {
		ping(t, c, b)
	}
	const calls = 2000
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range calls {
		ping(t, c, b)
	}
	runtime.ReadMemStats(&after)
	if n := after.Mallocs - before.Mallocs; n >= calls/2 {
		t.Errorf("%d calls and their answers made %d allocations", calls, n)
	}
}

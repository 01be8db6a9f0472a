package passive

import (
	"context"
	"io"
	"net"
	"runtime"
	"testing"

	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// begun returns a connection through a relay to a member that echoes its input.
func begun(t *testing.T) net.Conn {
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
	r := NewRelay(RelayConfig{MemberAddress: member.Addr().String(), Tap: TapConfig{Provider: mute{}, Sink: mute{}}, Now: func() int64 { return 1 }, Notify: func(why string) { t.Error(why) }})
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
	return c
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

// The pieces of many calls share a chunk of memory while they wait to be decoded.
func TestForwardingDoesNotAllocate(t *testing.T) {
	settle.SkipUnderRace(t)
	c := begun(t)
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
		t.Errorf("%d calls and their replies caused %d allocations", calls, n)
	}
}

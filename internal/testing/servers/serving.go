package servers

import (
	"context"
	"net"
	"testing"
)

// Loopback returns a listener on a free port of 127.0.0.1.
func Loopback(t testing.TB) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Serve calls the function `serve` in the background and returns the listener's address. When the
// test ends, Serve cancels the context and waits until `serve` returns.
func Serve(t testing.TB, l net.Listener, serve func(context.Context, net.Listener) error) (address string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- serve(ctx, l) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server at %s ended: %v", l.Addr(), err)
		}
	})
	return l.Addr().String()
}

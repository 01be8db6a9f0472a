package storetest

import (
	"context"
	"net"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
)

// ServeNull serves a null cluster until the test ends and returns its
// endpoints.
func ServeNull(t testing.TB, st store.NullServed, members int, o store.NullOptions) (endpoints []string) {
	t.Helper()
	s, err := st.NullServer(o)
	if err != nil {
		t.Fatal(err)
	}
	var listeners []net.Listener
	for range members {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		endpoints = append(endpoints, l.Addr().String())
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, listeners) }()
	t.Cleanup(func() {
		cancel()
		Ended(t, "the null server", ended)
	})
	return endpoints
}

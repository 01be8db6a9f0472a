package storetest

import (
	"context"
	"net"
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/testing/settle"
)

// ServeNull starts null servers that run until the test ends, and returns their endpoints.
func ServeNull(t testing.TB, st store.NullServerProvider, members int, o store.NullOptions) (endpoints []string) {
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
		AwaitEnd(t, "the null server", ended)
	})
	return endpoints
}

// maxPieces is the maximum number of pieces in which CheckNullServer receives a value. Values of 500
// KiB in pieces of 7 bytes would take a minute.
const maxPieces = 1200

// CheckNullServer checks with the official client that the null server behaves like the real
// server. It uses only the first keys and the first values of the fixture; the parameters `keys`
// and `values` specify how many. If the function `extraChecks` is not nil, CheckNullServer calls it
// for additional checks. In CI, the server runs all operations with only one of three scripts.
func CheckNullServer(t *testing.T, f Fixture, keys, values int, extraChecks func(t *testing.T, a store.Access)) {
	t.Helper()
	f.Keys, f.Values = f.Keys[:min(keys, len(f.Keys))], f.Values[:values]
	inPieces := func(length int) Fixture {
		f := f
		if settle.Long() && length > 100 {
			return f
		}
		f.Values = slices.DeleteFunc(slices.Clone(f.Values), func(v []byte) bool { return len(v) > length*maxPieces })
		return f
	}
	serve := func(t *testing.T, script string) store.Access {
		t.Helper()
		return store.Access{Endpoints: ServeNull(t, f.Store.(store.NullServerProvider), 1, store.NullOptions{Memory: true, Script: script})}
	}
	all := []struct {
		name, script string
		fixture      Fixture
	}{{"at once", "", f}, {"delayed", "delay=50us", f}, {"in pieces", "chunk=101", inPieces(101)}}
	t.Run(f.Store.Name(), func(t *testing.T) { // the name of this subtest chooses the script
		for _, c := range settle.Sample(t, 1, all) {
			t.Run(c.name, func(t *testing.T) {
				a := serve(t, c.script)
				Operations(t, c.fixture, a)
				if extraChecks != nil {
					extraChecks(t, a)
				}
			})
		}
	})
	t.Run("in small pieces", func(t *testing.T) {
		newConformer(t, inPieces(7), serve(t, "chunk=7")).agreeOnKeys()
	})
}

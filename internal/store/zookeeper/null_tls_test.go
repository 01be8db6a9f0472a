package zookeeper_test

import (
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testcerts"
)

func TestTLS(t *testing.T) {
	serverTLS, clientTLS := testcerts.Configs(t)
	a := startNull(t, 1, store.NullOptions{Memory: true, TLS: serverTLS})
	plain := outcomeOf(dialWire(t, a, nil), store.Op{Kind: kv.Get, Key: []byte("k")})
	if !strings.Contains(plain, "TLS alert") && !strings.Contains(plain, "EOF") && !strings.Contains(plain, "reset") {
		t.Errorf("without TLS: %s", plain)
	}
	a.TLS = clientTLS
	w := dialWire(t, a, nil)
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("tls/k"), Value: message(100_000)})
	if e := w.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("tls/k")}); len(e.Value) != 100_000 {
		t.Errorf("read %d bytes", len(e.Value))
	}
	admin, err := zookeeper.New().Admin(a)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = admin.Close() }()
	if s, err := admin.Status(t.Context()); err != nil || s.Leader() == nil {
		t.Errorf("status %+v, %v", s, err)
	}
	if n, err := admin.(store.PrefixDeleter).DeletePrefix(t.Context(), []byte("tls/")); err != nil || n != 1 {
		t.Errorf("%d keys were deleted: %v", n, err)
	}
}

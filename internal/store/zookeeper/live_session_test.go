package zookeeper_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
	"github.com/quorumbench/quorumbench/internal/testing/storetest"
)

// TestLiveSessionExpires checks that a codec reports an expired session, and that the next
// connection starts a new session.
func TestLiveSessionExpires(t *testing.T) {
	a := server(t)
	w := dialWire(t, a, nil)
	w.Want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("expires")})
	id := zookeeper.SessionID(w.Codec)
	w.Codec.(interface{ Close() }).Close() // a closed session counts as expired
	_ = ended(w)
	w.Codec.Lost(nil)
	next := dialWire(t, a, w.Codec)
	err := ended(next)
	for errors.Is(err, io.EOF) { // the server ended the session and closed this connection with it
		next.Codec.Lost(nil)
		next = dialWire(t, a, next.Codec)
		err = ended(next)
	}
	if want := "the session expired before the client resumed it"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	next.Codec.Lost(nil)
	last := dialWire(t, a, next.Codec)
	last.Want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("expires")})
	if got := zookeeper.SessionID(last.Codec); got == id || got == 0 {
		t.Errorf("the session of the last connection is 0x%x, want a new one", got)
	}
}

// ended reads until the connection ends, and returns the error.
func ended(w *storetest.Wire) error {
	for {
		if _, err := w.Step(); err != nil {
			return err
		}
	}
}

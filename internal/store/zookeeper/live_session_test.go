package zookeeper_test

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/zookeeper"
)

// An expired session is told, and the next connection begins a new one.
func TestLiveSessionExpires(t *testing.T) {
	a := server(t)
	w := dialWire(t, a, nil)
	w.want(kv.OK, store.Op{Kind: kv.Put, Key: []byte("expires")})
	id := zookeeper.SessionID(w.c)
	w.c.(interface{ Close() }).Close() // a session that is closed is as good as expired
	_ = ended(w)
	w.c.Lost(nil)
	next := dialWire(t, a, w.c)
	err := ended(next)
	for errors.Is(err, io.EOF) { // the server closed it together with the dying session
		next.c.Lost(nil)
		next = dialWire(t, a, next.c)
		err = ended(next)
	}
	if want := "the session expired before it was taken up again"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Fatalf("got %v, want %s", err, want)
	}
	next.c.Lost(nil)
	last := dialWire(t, a, next.c)
	last.want(kv.OK, store.Op{Kind: kv.Get, Key: []byte("expires")})
	if got := zookeeper.SessionID(last.c); got == id || got == 0 {
		t.Errorf("the new session is 0x%x", got)
	}
}

// ended reads until the connection ends, and returns why.
func ended(w *wireConn) error {
	for {
		if _, err := w.try(); err != nil {
			return err
		}
	}
}

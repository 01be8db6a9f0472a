package storetest

import (
	"bytes"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// agreeOnStates: our watchers, each on a connection for itself, are told what the
// official client makes of their keys.
func (c *conformer) agreeOnStates() {
	told := func(w *Wire, key string, value []byte, there int64) {
		c.t.Helper()
		e := w.Until(1, func(e *store.Event) bool { return e.What == store.Notify })[0]
		if e.Watcher != 7 || string(e.Key) != key || !bytes.Equal(e.Value, value) || min(e.Version, 1) != there {
			c.t.Fatalf("key %.40q: %+v", key, e)
		}
		if _, now := c.theirs(key); now != 0 && now != e.Revision {
			c.t.Fatalf("key %.40q is at %d, and its watcher was told %d", key, now, e.Revision)
		}
	}
	begin := func(key, end string) *Wire {
		c.t.Helper()
		w := Dial(c.t, c.Store, c.access)
		w.Ready()
		op := Watch(7, 0, key, false)
		op.Tag, op.Watch.End = w.NextTag(), []byte(end)
		w.Codec.Submit(&op)
		if e := w.Until(1, func(e *store.Event) bool { return e.What == store.Done })[0]; e.Outcome != kv.OK || e.Watcher != 7 || e.Tag != op.Tag || e.Revision == 0 {
			c.t.Fatalf("creating a watcher: %+v (%s)", e, e.Text)
		}
		return w
	}
	put := func(key string, value []byte) {
		c.t.Helper()
		if err := c.client.Put(key, value); err != nil {
			c.t.Fatal(err)
		}
	}
	remove := func(w *Wire, key string) {
		c.t.Helper()
		if !c.has(kv.Delete) {
			return
		}
		if err := c.client.Delete(key); err != nil {
			c.t.Fatal(err)
		}
		told(w, key, nil, 0)
	}
	for i, key := range c.Keys {
		w := begin(key, "")
		for _, value := range [][]byte{fmt.Appendf(nil, "a%d", i), []byte("v"), bytes.Repeat([]byte("v"), 20_000)} {
			put(key, value)
			told(w, key, value, 1)
		}
		remove(w, key)
		_ = w.Conn.Close() // there are many
	}
	for _, key := range []string{"states/a", "states/b", "states/c"} {
		put(key, []byte("before"))
	}
	w := begin("states/b", "states/e") // a is outside, and d comes to be
	put("states/a", []byte("outside"))
	for i, key := range []string{"states/d", "states/b", "states/c", "states/b"} {
		value := fmt.Appendf(nil, "%s now, %d", key, i) // the same value again is no change
		put(key, value)
		told(w, key, value, 1)
	}
	remove(w, "states/c")
	remove(w, "states/b")
	remove(w, "states/d")
}

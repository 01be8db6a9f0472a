package storetest

import (
	"bytes"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// agreeOnStates tests watchers that query the state of keys (kv.QueryWatch). Each watcher has its
// own connection, and must receive the changes that the official client makes.
func (c *conformer) agreeOnStates() {
	for i, key := range c.Keys {
		w := c.beginState(key, "")
		for _, value := range [][]byte{fmt.Appendf(nil, "a%d", i), []byte("v"), bytes.Repeat([]byte("v"), 20_000)} {
			c.putOfficially(key, value)
			c.checkState(w, key, value, 1)
		}
		c.deleteOfficially(w, key)
		_ = w.Conn.Close() // closed before the end of the test, to limit the number of open connections
	}
	for _, key := range []string{"states/a", "states/b", "states/c"} {
		c.putOfficially(key, []byte("before"))
	}
	w := c.beginState("states/b", "states/e") // key a is outside the interval, and key d is created later
	c.putOfficially("states/a", []byte("outside"))
	for i, key := range []string{"states/d", "states/b", "states/c", "states/b"} {
		// Each value is new, because watchers do not see the write of an unchanged value.
		value := fmt.Appendf(nil, "%s now, %d", key, i)
		c.putOfficially(key, value)
		c.checkState(w, key, value, 1)
	}
	c.deleteOfficially(w, "states/c")
	c.deleteOfficially(w, "states/b")
	c.deleteOfficially(w, "states/d")
}

// beginState creates a watcher for an interval on a new connection.
func (c *conformer) beginState(key, end string) *Wire {
	c.t.Helper()
	w := Dial(c.t, c.Store, c.access)
	w.Ready()
	op := Watch(7, 0, key, false)
	op.Tag, op.Watch.End = w.NextTag(), []byte(end)
	w.Codec.Submit(&op)
	if e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.OperationDone })[0]; e.Outcome != kv.OK || e.Watcher != 7 || e.Tag != op.Tag || e.Revision == 0 {
		c.t.Fatalf("creating a watcher returned %+v (%s)", e, e.Text)
	}
	return w
}

// checkState checks a watcher's next event. The parameter `exists` is 1 if the event must say that
// the key exists, otherwise 0.
func (c *conformer) checkState(w *Wire, key string, value []byte, exists int64) {
	c.t.Helper()
	e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.WatchChange })[0]
	if e.Watcher != 7 || string(e.Key) != key || !bytes.Equal(e.Value, value) || min(e.Version, 1) != exists {
		c.t.Fatalf("the event for key %.40q is %+v", key, e)
	}
	if _, now := c.readOfficially(key); now != 0 && now != e.Revision {
		c.t.Fatalf("key %.40q has version %d, but its watcher received version %d", key, now, e.Revision)
	}
}

// putOfficially writes a key with the official client.
func (c *conformer) putOfficially(key string, value []byte) {
	c.t.Helper()
	if err := c.client.Put(key, value); err != nil {
		c.t.Fatal(err)
	}
}

// deleteOfficially deletes a key with the official client, if the store supports that, and checks
// the watcher's event.
func (c *conformer) deleteOfficially(w *Wire, key string) {
	c.t.Helper()
	if !c.supports(kv.Delete) {
		return
	}
	if err := c.client.Delete(key); err != nil {
		c.t.Fatal(err)
	}
	c.checkState(w, key, nil, 0)
}

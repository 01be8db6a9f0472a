package storetest

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/measure/history"
	"github.com/quorumbench/quorumbench/internal/store"
)

// listedKeys is the number of keys that agreeOnRanges writes and lists.
const listedKeys = 300

func (c *conformer) rangeKey(i int) string {
	if c.RangeKey != nil {
		return c.RangeKey(i)
	}
	return fmt.Sprintf("ranges/%03d", i)
}

// rangeValue returns a value for the i-th listed key. The value is text, because some protocols
// support only text.
func rangeValue(i int) []byte {
	return []byte(strings.Repeat("0123456789", 100) + fmt.Sprintf("\n%d", i))
}

// collector collects the keys in a response.
type collector struct {
	keys   []string
	values [][]byte
}

func (c *collector) Begin(uint32) bool { return true }

func (c *collector) Add(_ uint32, key, value []byte, _ int64) {
	c.keys, c.values = append(c.keys, string(key)), append(c.values, bytes.Clone(value))
}

// interval is a range of the listed keys: `n` keys, beginning with the key that has the index
// `first`.
type interval struct {
	key, end string
	limit    int64
	first, n int
}

// agreeOnRanges writes keys, alternately with quorumbench and with the official client, and then
// lists them.
func (c *conformer) agreeOnRanges() {
	for i := range listedKeys {
		if i%2 == 0 {
			c.want(kv.OK, Put(c.rangeKey(i), rangeValue(i)))
		} else if err := c.client.Put(c.rangeKey(i), rangeValue(i)); err != nil {
			c.t.Fatalf("%q: the put by the official client failed: %v", c.rangeKey(i), err)
		}
	}
	last := c.rangeKey(listedKeys - 1)
	all := []interval{
		{"ranges/", "ranges0", 0, 0, listedKeys},
		{c.rangeKey(100), c.rangeKey(200), 0, 100, 100},
		{"ranges/", "ranges0", 128, 0, 128},
		{c.rangeKey(50), last + "\x00", 7, 50, 7},
		{last, last + "\x00", 0, listedKeys - 1, 1},
		{c.rangeKey(7), "", 0, 7, 1},
		{"none", "nonf", 0, 0, 0},
		{"nowhere/a", "nowhere/b", 0, 0, 0},
	}
	if c.Slash {
		all = append(all, interval{"/ranges/", "/ranges0", 0, 0, listedKeys})
	}
	keys := &collector{}
	collecting := Dial(c.t, c.Store, c.access)
	for _, of := range all {
		for _, level := range c.levels {
			c.checkRange(of, c.want(kv.OK, Range(kv.Range, of.key, of.end, level, store.RangeOp{Limit: of.limit})))
			*keys = collector{}
			c.checkRange(of, collecting.Want(kv.OK, Range(kv.Range, of.key, of.end, level, store.RangeOp{Limit: of.limit, Keys: keys})))
			c.checkKeys(of, keys)
			if c.supports(kv.TxnGet) {
				c.checkRange(of, c.want(kv.OK, Range(kv.TxnGet, of.key, of.end, level, store.RangeOp{Limit: of.limit})))
			}
			if c.can.Has(kv.RangeForms) {
				c.rangeForms(of, level)
			}
		}
	}
}

func (c *conformer) checkRange(keys interval, e store.Event) {
	c.t.Helper()
	if e.Count != int64(keys.n) {
		c.t.Errorf("range %q to %q: the count is %d, want %d", keys.key, keys.end, e.Count, keys.n)
	}
	if keys.n == 0 || len(e.Key) == 0 {
		return // the interval is empty, or the response contains only a count
	}
	if string(e.Key) != c.spelledKey(keys, keys.first) || !bytes.Equal(e.Value, rangeValue(keys.first)) || e.Revision == 0 {
		c.t.Errorf("range %q to %q: the first key is %q with a value of %d bytes, want %q", keys.key, keys.end, e.Key, len(e.Value), c.spelledKey(keys, keys.first))
	}
}

// spelledKey returns the i-th listed key as the interval spells it: with a slash at the start if
// the keys of the interval begin with a slash.
func (c *conformer) spelledKey(keys interval, i int) string {
	if strings.HasPrefix(keys.key, "/") {
		return "/" + c.rangeKey(i)
	}
	return c.rangeKey(i)
}

// checkKeys checks that a list contains the interval's keys with their values, up to the limit.
func (c *conformer) checkKeys(keys interval, got *collector) {
	c.t.Helper()
	if len(got.keys) == 0 && (keys.n == 0 || keys.end == "" || !c.can.Ascending) {
		return
	}
	want := map[string]int{}
	for i := range listedKeys {
		// With a limit, a store without key order may return any of the keys. Other stores
		// must return the first keys.
		key := c.spelledKey(keys, i)
		if keys.n > 0 && i >= keys.first && (i < keys.first+keys.n || !c.can.Ascending && key < keys.end) {
			want[key] = i
		}
	}
	for i, key := range got.keys {
		if n, ok := want[key]; !ok || !bytes.Equal(got.values[i], rangeValue(n)) {
			c.t.Errorf("range %q to %q: the unexpected key %q with a value of %d bytes was returned", keys.key, keys.end, key, len(got.values[i]))
		}
	}
	if len(got.keys) != keys.n && keys.limit == 0 || c.can.Ascending && !slices.IsSorted(got.keys) {
		c.t.Errorf("range %q to %q: %d keys were returned, want %d", keys.key, keys.end, len(got.keys), keys.n)
	}
}

// rangeForms reads an interval with every form of range request.
func (c *conformer) rangeForms(keys interval, level kv.Consistency) {
	c.t.Helper()
	ask := func(f store.RangeOp) store.Event {
		f.Limit = keys.limit
		return c.want(kv.OK, Range(kv.Range, keys.key, keys.end, level, f))
	}
	for _, f := range []store.RangeOp{{PageSize: 64}, {Streamed: true}} {
		c.checkRange(keys, ask(f))
	}
	if e := ask(store.RangeOp{KeysOnly: true}); e.Count != int64(keys.n) || len(e.Value) != 0 {
		c.t.Errorf("range %q to %q: with KeysOnly, the event is %+v", keys.key, keys.end, e)
	}
	if e := ask(store.RangeOp{CountOnly: true}); keys.limit == 0 && e.Count != int64(keys.n) || len(e.Key) != 0 {
		c.t.Errorf("range %q to %q: with CountOnly, the event is %+v", keys.key, keys.end, e)
	}
}

// agreeOnTransactions writes existing keys in transactions. If the store allows it, it also writes
// new keys.
func (c *conformer) agreeOnTransactions() {
	var pairs []store.Pair
	for i := range 32 {
		value := []byte(nil)
		for _, v := range c.Values[i%len(c.Values):] {
			if len(v) < 4096 {
				value = v
				break
			}
		}
		pairs = append(pairs, store.Pair{Key: fmt.Appendf(nil, "txn-%d", i), Value: value})
		if i%2 == 0 || c.TxnNeedsKeys {
			c.want(kv.OK, Put(string(pairs[i].Key), []byte("before")))
		}
	}
	for range 2 {
		e := c.want(kv.OK, Txn(pairs...))
		if e.Count != int64(len(pairs)) {
			c.t.Errorf("a transaction of %d keys returned %+v", len(pairs), e)
		}
		for _, p := range pairs {
			if version := c.checkValue(string(p.Key), p.Value); e.Revision > 0 && e.Revision != version {
				c.t.Errorf("%q has version %d, but its transaction returned version %d", p.Key, version, e.Revision)
			}
		}
	}
}

func (c *conformer) agreeOnSTM() {
	for level := range kv.NumIsolations {
		pairs := []store.Pair{{Key: []byte("stm-1"), Value: []byte(level.String())}, {Key: []byte("stm-2"), Value: []byte(level.String() + "2")}}
		c.want(kv.OK, STM(level, pairs...))
		for _, p := range pairs {
			c.checkValue(string(p.Key), p.Value)
		}
	}
}

// keepLeasesAlive grants, renews and revokes leases.
func (c *conformer) keepLeasesAlive() {
	if c.can.SessionPerConnection {
		for range 3 {
			if e := c.want(kv.OK, KeepAlive(0)); e.Count <= 0 {
				c.t.Errorf("the keep-alive of a session returned no time to live: %+v", e)
			}
		}
		return
	}
	leaser := c.admin().(store.Leaser)
	ids, err := leaser.Grant(c.t.Context(), 3, time.Hour)
	if err != nil || len(ids) != 3 {
		c.t.Fatalf("granting leases returned %v: %v", ids, err)
	}
	for range 2 {
		for _, id := range ids {
			c.want(kv.OK, keepAlive(leaser, id))
		}
	}
	if err := leaser.Revoke(c.t.Context(), ids); err != nil {
		c.t.Fatal(err)
	}
	if e := c.w.Do(keepAlive(leaser, ids[0])); !e.Outcome.Failed() || len(e.Text) == 0 {
		c.t.Errorf("the keep-alive of a revoked lease returned %+v", e)
	}
}

// keepAlive returns an operation that renews a lease which the leaser granted.
func keepAlive(leaser store.Leaser, id int64) store.Op {
	op := KeepAlive(id)
	if names := leaser.LeaseNames([]int64{id}); len(names) > 0 {
		op.LeaseName = []byte(names[0])
	}
	return op
}

// agreeOnWatches tests every mode of watch that the store supports. quorumbench's watchers must
// receive each change that the official client makes, once and in order.
func (c *conformer) agreeOnWatches() {
	if c.can.Watches.Modes[kv.QueryWatch] != "" {
		c.run(kv.QueryWatch.String(), c.agreeOnStates)
	}
	for _, mode := range []kv.WatchMode{kv.OnceWatch, kv.PersistentWatch} {
		if c.can.Watches.Modes[mode] != "" {
			c.run(mode.String(), func() { c.agreeOnPlainWatches(mode) })
		}
	}
	if c.can.Watches.Modes[kv.StreamWatch] == "" {
		return
	}
	if c.can.MaxInFlight == 1 {
		c.agreeOnWatchesApart()
		return
	}
	c.agreeOnStreams()
}

// watchKeys creates a watcher for each key. All watchers share one connection with two streams.
func (c *conformer) watchKeys(w *Wire) {
	c.t.Helper()
	w.Ready()
	first := w.tag + 1
	for i, key := range c.Keys {
		op := Watch(uint32(i), uint32(i%2), key, i%3 == 0)
		op.Tag = w.NextTag()
		w.Codec.Submit(&op)
	}
	for _, e := range w.AwaitEvents(len(c.Keys), func(e *store.Event) bool { return e.Type == store.OperationDone }) {
		if e.Outcome != kv.OK || e.Watcher != e.Tag-first || e.Revision == 0 {
			c.t.Fatalf("creating a watcher returned %+v (%s)", e, e.Text)
		}
	}
}

// agreeOnStreams tests watchers that share two streams of one connection. They must receive the
// official client's writes and deletes, and progress notifications.
func (c *conformer) agreeOnStreams() {
	w := Dial(c.t, c.Store, c.access)
	c.watchKeys(w)
	var was store.Event
	notified := func(i int, version int64, value []byte) {
		c.t.Helper()
		e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.WatchChange })[0]
		if e.Watcher != uint32(i) || string(e.Key) != c.Keys[i] || !bytes.Equal(e.Value, value) || e.Version != version {
			c.t.Fatalf("the event for version %d of key %.40q is %+v", version, c.Keys[i], e)
		}
		if _, now := c.readOfficially(c.Keys[i]); now != 0 && now != e.Revision {
			c.t.Fatalf("key %.40q has version %d, but its event has version %d", c.Keys[i], now, e.Revision)
		}
		if i%3 != 0 || version == 1 {
			was = store.Event{}
		}
		if !bytes.Equal(e.PreviousValue, was.Value) || e.PreviousRevision != was.Revision || e.StoreRevision < e.Revision || e.Member == 0 || e.Count != 0 {
			c.t.Fatalf("the event for version %d of key %.40q, after the event %+v, is %+v", version, c.Keys[i], was, e)
		}
		was = store.Event{Value: value, Revision: e.Revision}
	}
	for i, key := range c.Keys {
		for version, value := range [][]byte{fmt.Appendf(nil, "a%d", i), nil, bytes.Repeat([]byte("v"), 20_000)} {
			if err := c.client.Put(key, value); err != nil {
				c.t.Fatal(err)
			}
			notified(i, int64(version+1), value)
		}
		if err := c.client.Delete(key); err != nil {
			c.t.Fatal(err)
		}
		notified(i, 0, nil)
	}
	ask := store.Op{Kind: kv.Watch, Watch: &store.WatchOp{Stream: 1, RequestProgress: true}}
	w.Codec.Submit(&ask)
	for _, e := range w.AwaitEvents(len(c.Keys)/2, func(e *store.Event) bool { return e.Type == store.WatchProgress }) {
		if e.Watcher%2 != 1 || e.Revision < was.Revision {
			c.t.Fatalf("at revision %d, the progress event is %+v", was.Revision, e)
		}
	}
}

// agreeOnPlainWatches tests watches that start at the current revision. The official client
// creates, changes and deletes keys, one at a time. The watchers must receive each change once and
// in order. Afterwards, the response to a progress request must contain the revision of the last
// change or a later revision.
func (c *conformer) agreeOnPlainWatches(mode kv.WatchMode) {
	w := Dial(c.t, c.Store, c.access)
	w.Ready()
	first := w.tag + 1
	for i, key := range c.Keys {
		op := Watch(uint32(i), 0, key, false)
		op.Watch.Mode, op.Tag = mode, w.NextTag()
		w.Codec.Submit(&op)
		if w.Codec.Room() == 0 {
			c.t.Fatal("the codec does not have room for all watchers")
		}
	}
	last := int64(0)
	for _, e := range w.AwaitEvents(len(c.Keys), func(e *store.Event) bool { return e.Type == store.OperationDone }) {
		if e.Outcome != kv.OK || e.Watcher != e.Tag-first || e.Revision == 0 || e.Version > 0 {
			c.t.Fatalf("creating a watcher returned %+v (%s)", e, e.Text)
		}
		last = e.Revision
	}
	notified := func(i int, version int64, value []byte) {
		c.t.Helper()
		e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.WatchChange })[0]
		if mode == kv.PersistentWatch && version > 0 {
			version, value = -1, nil
		}
		if e.Watcher != uint32(i) || string(e.Key) != c.Keys[i] || !bytes.Equal(e.Value, value) || e.Version != version || e.Revision <= last || e.StoreRevision < e.Revision {
			c.t.Fatalf("the event for version %d of key %.40q, after revision %d, is %+v", version, c.Keys[i], last, e)
		}
		last = e.Revision
	}
	for i, key := range c.Keys {
		for version, value := range [][]byte{fmt.Appendf(nil, "a%d", i), nil, bytes.Repeat([]byte("v"), 20_000)} {
			if err := c.client.Put(key, value); err != nil {
				c.t.Fatal(err)
			}
			notified(i, int64(version+1), value)
		}
		if err := c.client.Delete(key); err != nil {
			c.t.Fatal(err)
		}
		notified(i, 0, nil)
	}
	ask := store.Op{Kind: kv.Watch, Key: []byte(c.Keys[0]), Watch: &store.WatchOp{RequestProgress: true}}
	w.Codec.Submit(&ask)
	for _, e := range w.AwaitEvents(len(c.Keys), func(e *store.Event) bool { return e.Type == store.WatchProgress }) {
		if e.Revision < last {
			c.t.Fatalf("at revision %d, the progress event is %+v", last, e)
		}
	}
}

// agreeOnEphemerals creates keys that are bound to a session. The official client must be able to
// read them. Then agreeOnEphemerals ends the session, which must delete the keys.
func (c *conformer) agreeOnEphemerals() {
	w := Dial(c.t, c.Store, c.access)
	for i, key := range c.Keys {
		value := fmt.Appendf(nil, "of a session, %d", i)
		w.Want(kv.OK, Ephemeral(key, value))
		c.checkValue(key, value)
		w.Want(kv.Conflict, Ephemeral(key, value))
		c.want(kv.Conflict, Ephemeral(key, value))
	}
	session, ok := w.Codec.(store.SessionCodec)
	if !ok {
		c.t.Fatal("the store supports ephemeral keys, but its codec is not a store.SessionCodec")
	}
	c.checkDelete(c.Keys[0], 1)
	made := w.Want(kv.Conflict, Ephemeral(c.Keys[1], nil)).StoreRevision
	session.Close()
	var ended store.Event
	for {
		events, err := w.Step()
		for i := range events {
			if events[i].Type == store.SessionClosed {
				ended = events[i]
			}
		}
		if err != nil {
			break // the server closes the connection after the end of the session
		}
	}
	if ends := c.Store.Guarantees().Sources[history.EndsWithSession] != ""; ends && (ended.Type != store.SessionClosed || ended.Outcome != kv.OK || ended.StoreRevision <= made || session.Session() == 0) {
		c.t.Fatalf("closing session %x, after revision %d, returned %+v", session.Session(), made, ended)
	}
	for _, key := range c.Keys {
		if _, version := c.readOfficially(key); version != 0 {
			c.t.Fatalf("key %.40q outlives its session", key)
		}
	}
}

// agreeOnWatchesApart does the same as agreeOnWatches for a store that allows only one watcher per
// connection.
func (c *conformer) agreeOnWatchesApart() {
	for i, key := range c.Keys {
		if i%7 > 0 {
			continue // to limit the number of connections, because each watcher has its own
		}
		w := Dial(c.t, c.Store, c.access)
		w.Ready()
		before := i%2 == 0
		if e := w.Want(kv.OK, Watch(uint32(i), 0, key, before)); e.Watcher != uint32(i) || e.Revision == 0 {
			c.t.Fatalf("creating a watcher of key %.40q returned %+v", key, e)
		}
		var was store.Event
		for version, value := range [][]byte{fmt.Appendf(nil, "a%d", i), nil, bytes.Repeat([]byte("v"), 20_000), nil} {
			do, version := func() error { return c.client.Put(key, value) }, int64(version+1)
			if version == 4 {
				do, version = func() error { return c.client.Delete(key) }, 0
			}
			if err := do(); err != nil {
				c.t.Fatal(err)
			}
			e := w.AwaitEvents(1, func(e *store.Event) bool { return e.Type == store.WatchChange })[0]
			if e.Watcher != uint32(i) || string(e.Key) != key || !bytes.Equal(e.Value, value) || e.Version != version || e.Member == 0 || e.StoreRevision < e.Revision {
				c.t.Fatalf("the event for version %d of key %.40q is %+v", version, key, e)
			}
			if !before || version == 1 {
				was = store.Event{}
			}
			if !bytes.Equal(e.PreviousValue, was.Value) || e.PreviousRevision != was.Revision {
				c.t.Fatalf("the event for version %d of key %.40q, after the event %+v, is %+v", version, key, was, e)
			}
			was = store.Event{Value: value, Revision: e.Revision}
		}
	}
}

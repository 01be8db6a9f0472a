package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// A session has at most one watch per path. All watchers of one key share that watch, as in
// ZooKeeper's own clients, and each of them receives the event.
//
// A watch with mode "once" fires at the first change. The codec then reads the new data, and the
// same read sets the watch again. Changes between the event and the read are not reported
// separately. A persistent recursive watch stays set. It reports every change of the node and its
// descendants with the path and (since ZooKeeper 3.9) the zxid, but without the data.

func (w *treeWatcher) watches(key []byte) bool {
	if len(w.end) == 0 {
		return bytes.Equal(key, w.key)
	}
	return bytes.Compare(key, w.key) >= 0 && bytes.Compare(key, w.end) < 0
}

// pathText converts a path to a map key.
func pathText(p jute.Path) string { return p.Prefix + string(p.Rest) }

// watch sends the request that creates a watcher. The reply shows the revision at which the watcher
// starts.
func (c *codec) watch(call jute.Call, p jute.Path, op *store.Op) {
	w := &c.watches
	switch {
	case op.Watch.RequestProgress:
		c.progress()
		return
	case op.Watch.PrevKV:
		c.refuse(call, "ZooKeeper's watch events do not contain the previous value")
		return
	}
	if w.creating == nil {
		w.creating, w.once, w.recursive = map[uint32]creation{}, map[string]*oneShot{}, map[string]*recursive{}
	}
	mode := op.Watch.Mode
	if mode == kv.AnyWatch {
		mode = defaultWatch
	}
	of := creation{watcher: op.Watch.Watcher, key: bytes.Clone(op.Key), end: bytes.Clone(op.Watch.End), mode: mode}
	switch {
	case mode == kv.PersistentWatch:
		if len(of.end) > 0 {
			p = parentOf(p)
		}
		call.Sub = callAddWatch
		c.conn.AddWatch(call, p, jute.WatchPersistentRecursive)
	case mode == kv.OnceWatch && len(of.end) == 0:
		call.Sub = callWatchRead
		c.conn.GetData(call, p, true)
	default:
		c.refuse(call, "ZooKeeper does not support this watch: mode \"once\" watches a single key, and mode \"persistent\" watches a key or an interval")
		return
	}
	w.creating[call.Tag] = of
}

// progress sends a request without effect. On a session, a watch event arrives before any reply
// that reflects the change. So when the reply arrives, all events up to the reply's zxid have
// arrived.
func (c *codec) progress() {
	c.conn.Exists(jute.Call{Sub: callProgress}, jute.Path{Prefix: "/"}, false)
}

// appendProgress appends an event for each watcher. The event reports that all changes up to zxid
// have arrived.
func (c *codec) appendProgress(zxid int64, events []store.Event) []store.Event {
	for _, w := range c.watches.once {
		if w.reading { // the read after the watch event is still in progress
			continue
		}
		for i := range w.watchers {
			events = append(events, store.Event{Type: store.WatchProgress, Watcher: w.watchers[i].number, Revision: zxid})
		}
	}
	for _, w := range c.watches.recursive {
		for i := range w.watchers {
			events = append(events, store.Event{Type: store.WatchProgress, Watcher: w.watchers[i].number, Revision: zxid})
		}
	}
	return events
}

// watchDone handles the reply to a request that creates a watcher.
func (c *codec) watchDone(r *jute.Reply, e *store.Event) (done, ok bool) {
	w := &c.watches
	of, known := w.creating[r.Tag]
	if !known {
		return true, false
	}
	e.Watcher = of.watcher
	b := jute.NewReader(r.Request)
	path := jute.Path{Rest: b.Buffer()}
	var s jute.Stat
	switch {
	case r.Sub == callWatchRead && r.Code == jute.NoNode:
		call := r.Call
		call.Sub, call.Extra = callWatchExists, call.Extra+1
		c.conn.Exists(call, path, true)
		return false, true
	case r.Code == jute.NoNode && r.Sub == callWatchExists:
	case r.Code != jute.OK:
		delete(w.creating, r.Tag)
		if setFailure(e, r.Code); r.Code == jute.Unimplemented || r.Code == jute.MarshallingError {
			e.Outcome, e.Text = kv.BadRequest, []byte("the server does not support persistent watches, which need ZooKeeper 3.6 or later; use the watch mode \"once\"")
		}
		return true, true
	case r.Sub != callAddWatch:
		answer := jute.NewReader(r.Body)
		if r.Sub == callWatchRead {
			answer.Buffer()
		}
		if s = answer.Stat(); !answer.OK() {
			return true, false
		}
	}
	delete(w.creating, r.Tag)
	e.Revision, e.Version, e.ModRevision = max(r.Zxid, 0), -1, s.Mzxid
	if r.Sub == callAddWatch {
		w.addRecursive(path, &of)
		return true, true
	}
	if e.Version = 0; r.Code == jute.OK {
		e.Version = writeCount(s.Version)
	}
	w.addOnce(path, &of, r.Zxid, s.Mzxid)
	return true, true
}

// writeCount converts a node version to the number of writes, as in store.Event.Version. Node
// versions rise to 2^31-1 and continue at -2^31. For a negative version, writeCount returns -1
// (unknown). It never returns 0, which means deleted.
func writeCount(version int32) int64 {
	if version < 0 {
		return -1
	}
	return int64(version) + 1
}

func (w *watches) addRecursive(path jute.Path, created *creation) {
	at := pathText(path)
	t := w.recursive[at]
	if t == nil {
		t = &recursive{slash: len(created.key) > 0 && created.key[0] == '/'}
		w.recursive[at] = t
	}
	t.watchers = append(t.watchers, treeWatcher{number: created.watcher, key: created.key, end: created.end})
}

func (w *watches) addOnce(path jute.Path, created *creation, zxid, mzxid int64) {
	at := pathText(path)
	o := w.once[at]
	if o == nil {
		o = &oneShot{key: created.key}
		w.once[at] = o
	}
	if !o.reading {
		o.lastMzxid = mzxid
	}
	o.watchers = append(o.watchers, onceWatcher{number: created.watcher, since: zxid})
}

// handleNotification handles a watch event from the server.
func (c *codec) handleNotification(r *jute.Reply, events []store.Event) []store.Event {
	what, path, ok := r.Notification()
	if !ok || len(path) == 0 {
		return events
	}
	w := &c.watches
	if o := w.once[string(path)]; o != nil {
		if o.deletionZxid = 0; what == jute.NodeDeleted && r.Zxid > 0 {
			o.deletionZxid = r.Zxid
		}
		if o.firedAgain = o.reading; !o.reading {
			o.reading = true
			c.conn.GetData(jute.Call{Sub: callRearm}, jute.Path{Rest: path}, true)
		}
	}
	events = w.firePlain(what, path, r.Zxid, events)
	if len(w.recursive) == 0 {
		return events
	}
	for end := len(path); ; { // the node and all its ancestors
		if t := w.recursive[string(path[:max(end, 1)])]; t != nil {
			events = c.appendTreeEvents(t, what, path, r.Zxid, events)
		}
		if end <= 1 {
			return events
		}
		end = bytes.LastIndexByte(path[:end], '/')
	}
}

// appendTreeEvents handles the change of the node at path: it appends an event for each watcher in
// t that watches the path.
func (c *codec) appendTreeEvents(t *recursive, what jute.WatchEvent, path []byte, zxid int64, events []store.Event) []store.Event {
	if what == jute.NodeChildrenChanged {
		return events
	}
	key := path
	if !t.slash {
		key = path[1:]
	}
	version := int64(-1)
	if what == jute.NodeDeleted {
		version = 0
	}
	for i := range t.watchers {
		switch n := t.watchers[i].number; {
		case !t.watchers[i].watches(key):
		case zxid <= 0:
			events = append(events, store.Event{Type: store.WatchEnded, Watcher: n, Outcome: kv.BadRequest, Text: missingZxid})
		default:
			events = append(events, store.Event{Type: store.WatchChange, Watcher: n, Key: key, Version: version, Revision: zxid, StoreRevision: zxid})
		}
	}
	return events
}

var missingZxid = []byte("a watch event contains no zxid, so the revision of the change is unknown; use the watch mode \"once\", or ZooKeeper 3.9 or later")

// handleRearm handles the reply to the read that sets a watch again after it fired, and
// reports the result to the watchers.
func (c *codec) handleRearm(r *jute.Reply, events []store.Event) ([]store.Event, error) {
	b := jute.NewReader(r.Request)
	path := b.Buffer()
	o := c.watches.once[string(path)]
	if o == nil {
		return events, nil
	}
	switch {
	case r.Code == jute.NoNode && r.Sub == callRearm:
		c.conn.Exists(jute.Call{Sub: callRearmExists}, jute.Path{Rest: path}, true)
		return events, nil
	case r.Code == jute.OK && r.Sub == callRearmExists: // created since the getData
		c.conn.GetData(jute.Call{Sub: callRearm}, jute.Path{Rest: path}, true)
		return events, nil
	case r.Code != jute.OK && r.Code != jute.NoNode:
		var e store.Event
		setFailure(&e, r.Code)
		for i := range o.watchers {
			events = append(events, store.Event{Type: store.WatchEnded, Watcher: o.watchers[i].number, Outcome: e.Outcome, Text: e.Text})
		}
		delete(c.watches.once, string(path))
		return events, nil
	}
	o.reading = false
	spare := o.extraRead
	if o.extraRead, o.firedAgain = o.firedAgain, false; o.extraRead {
		o.reading = true
		c.conn.GetData(jute.Call{Sub: callRearm}, jute.Path{Rest: path}, true)
	}
	e := store.Event{Type: store.WatchChange, Key: o.key, StoreRevision: r.Zxid}
	if r.Code == jute.NoNode {
		if e.Revision = o.deletionZxid; e.Revision == 0 {
			e.Revision, e.ModRevision = r.Zxid, -1
		}
	} else {
		answer := jute.NewReader(r.Body)
		e.Value = answer.Buffer()
		s := answer.Stat()
		if !answer.OK() {
			return events, jute.ErrMalformed
		}
		e.Revision, e.Version = s.Mzxid, writeCount(s.Version)
	}
	if spare && (e.Revision == o.lastMzxid || e.ModRevision < 0) {
		return events, nil
	}
	o.lastMzxid, o.deletionZxid = e.Revision, 0
	for i := range o.watchers {
		if w := &o.watchers[i]; e.Revision > w.since { // otherwise the change is older than the watcher
			e.Watcher = w.number
			events = append(events, e)
		}
	}
	return events, nil
}

var dataBeforeEvent = []byte("ZooKeeper returned new data before the watch event, but it guarantees the opposite order")

// checkEventOrder checks a read of a node that the session watches. If the read returns a change
// whose watch event has not yet arrived, checkEventOrder returns the reason why the response is
// wrong.
func (c *codec) checkEventOrder(r *jute.Reply, mzxid int64) []byte {
	if len(c.watches.once) == 0 {
		return nil
	}
	b := jute.NewReader(r.Request)
	if o := c.watches.once[string(b.Buffer())]; o != nil && !o.reading && mzxid > o.lastMzxid {
		return dataBeforeEvent
	}
	return nil
}

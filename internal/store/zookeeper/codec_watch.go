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
// same read sets the watch again. The codec does not report changes between the event and the read
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
	case op.Watch.Progress:
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
		mode = usualWatch
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

// reached appends an event for each watcher. The event reports that all changes up to zxid have
// arrived.
func (c *codec) reached(zxid int64, to []store.Event) []store.Event {
	for _, w := range c.watches.once {
		if w.reading { // the read after the watch event is still in progress
			continue
		}
		for i := range w.watchers {
			to = append(to, store.Event{What: store.Seen, Watcher: w.watchers[i].number, Revision: zxid})
		}
	}
	for _, w := range c.watches.recursive {
		for i := range w.watchers {
			to = append(to, store.Event{What: store.Seen, Watcher: w.watchers[i].number, Revision: zxid})
		}
	}
	return to
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
		if failed(e, r.Code); r.Code == jute.Unimplemented || r.Code == jute.MarshallingError {
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
	e.Revision, e.Version, e.Mod = max(r.Zxid, 0), -1, s.Mzxid
	if r.Sub == callAddWatch {
		w.addRecursive(path, &of)
		return true, true
	}
	if e.Version = 0; r.Code == jute.OK {
		e.Version = writes(s.Version)
	}
	w.addOnce(path, &of, r.Zxid, s.Mzxid)
	return true, true
}

// writes converts a node version to the number of writes, as in store.Event.Version. Node
// versions rise to 2^31-1 and continue at -2^31. For a negative version, writes returns -1
// (unknown). It never returns 0, which means deleted.
func writes(version int32) int64 {
	if version < 0 {
		return -1
	}
	return int64(version) + 1
}

func (w *watches) addRecursive(path jute.Path, of *creation) {
	at := pathText(path)
	t := w.recursive[at]
	if t == nil {
		t = &recursive{slash: len(of.key) > 0 && of.key[0] == '/'}
		w.recursive[at] = t
	}
	t.watchers = append(t.watchers, treeWatcher{number: of.watcher, key: of.key, end: of.end})
}

func (w *watches) addOnce(path jute.Path, of *creation, zxid, mzxid int64) {
	at := pathText(path)
	o := w.once[at]
	if o == nil {
		o = &oneShot{key: of.key}
		w.once[at] = o
	}
	if !o.reading {
		o.at = mzxid
	}
	o.watchers = append(o.watchers, onceWatcher{number: of.watcher, since: zxid})
}

// notified handles a watch event from the server.
func (c *codec) notified(r *jute.Reply, to []store.Event) []store.Event {
	what, path, ok := r.Notification()
	if !ok || len(path) == 0 {
		return to
	}
	w := &c.watches
	if o := w.once[string(path)]; o != nil {
		if o.deleted = 0; what == jute.NodeDeleted && r.Zxid > 0 {
			o.deleted = r.Zxid
		}
		if o.again = o.reading; !o.reading {
			o.reading = true
			c.conn.GetData(jute.Call{Sub: callSetAgain}, jute.Path{Rest: path}, true)
		}
	}
	to = w.fireBare(what, path, r.Zxid, to)
	if len(w.recursive) == 0 {
		return to
	}
	for end := len(path); ; { // the node and all its ancestors
		if t := w.recursive[string(path[:max(end, 1)])]; t != nil {
			to = c.appendTreeEvents(t, what, path, r.Zxid, to)
		}
		if end <= 1 {
			return to
		}
		end = bytes.LastIndexByte(path[:end], '/')
	}
}

// appendTreeEvents handles the change of the node at path: it appends an event for each watcher in
// t that watches the path.
func (c *codec) appendTreeEvents(t *recursive, what jute.WatchEvent, path []byte, zxid int64, to []store.Event) []store.Event {
	if what == jute.NodeChildrenChanged {
		return to
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
			to = append(to, store.Event{What: store.Ended, Watcher: n, Outcome: kv.BadRequest, Text: missingZxid})
		default:
			to = append(to, store.Event{What: store.Notify, Watcher: n, Key: key, Version: version, Revision: zxid, At: zxid})
		}
	}
	return to
}

var missingZxid = []byte("a watch event contains no zxid, so the revision of the change is unknown; use the watch mode \"once\", or ZooKeeper 3.9 or later")

// parseReplayedSet handles the reply to the read that sets a watch again after it fired, and
// reports the result to the watchers.
func (c *codec) parseReplayedSet(r *jute.Reply, to []store.Event) ([]store.Event, error) {
	b := jute.NewReader(r.Request)
	path := b.Buffer()
	o := c.watches.once[string(path)]
	if o == nil {
		return to, nil
	}
	switch {
	case r.Code == jute.NoNode && r.Sub == callSetAgain:
		c.conn.Exists(jute.Call{Sub: callExistsAgain}, jute.Path{Rest: path}, true)
		return to, nil
	case r.Code == jute.OK && r.Sub == callExistsAgain: // created since the getData
		c.conn.GetData(jute.Call{Sub: callSetAgain}, jute.Path{Rest: path}, true)
		return to, nil
	case r.Code != jute.OK && r.Code != jute.NoNode:
		var e store.Event
		failed(&e, r.Code)
		for i := range o.watchers {
			to = append(to, store.Event{What: store.Ended, Watcher: o.watchers[i].number, Outcome: e.Outcome, Text: e.Text})
		}
		delete(c.watches.once, string(path))
		return to, nil
	}
	o.reading = false
	spare := o.spare
	if o.spare, o.again = o.again, false; o.spare {
		o.reading = true
		c.conn.GetData(jute.Call{Sub: callSetAgain}, jute.Path{Rest: path}, true)
	}
	e := store.Event{What: store.Notify, Key: o.key, At: r.Zxid}
	if r.Code == jute.NoNode {
		if e.Revision = o.deleted; e.Revision == 0 {
			e.Revision, e.Mod = r.Zxid, -1
		}
	} else {
		answer := jute.NewReader(r.Body)
		e.Value = answer.Buffer()
		s := answer.Stat()
		if !answer.OK() {
			return to, jute.ErrMalformed
		}
		e.Revision, e.Version = s.Mzxid, writes(s.Version)
	}
	if spare && (e.Revision == o.at || e.Mod < 0) {
		return to, nil
	}
	o.at, o.deleted = e.Revision, 0
	for i := range o.watchers {
		if w := &o.watchers[i]; e.Revision > w.since { // otherwise the change is older than the watcher
			e.Watcher = w.number
			to = append(to, e)
		}
	}
	return to, nil
}

var newsFirst = []byte("ZooKeeper returned new data before the watch event, but it guarantees the opposite order")

// beforeItsEvent checks a read of a node that the session watches. If the read returns a change
// whose watch event has not yet arrived, beforeItsEvent returns the reason why the response is
// wrong.
func (c *codec) beforeItsEvent(r *jute.Reply, mzxid int64) []byte {
	if len(c.watches.once) == 0 {
		return nil
	}
	b := jute.NewReader(r.Request)
	if o := c.watches.once[string(b.Buffer())]; o != nil && !o.reading && mzxid > o.at {
		return newsFirst
	}
	return nil
}

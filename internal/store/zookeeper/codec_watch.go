package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// A session has a watch of a path once, whoever asked for it how often: its
// watchers of one key share it, as they do in ZooKeeper's own clients, and one
// event is handed to all of them.
//
// A watch of mode once fires at the first change. It is set again by the read of
// the new data, and what changed between the two is not told. A persistent
// recursive one stays, and is told of every change of the node and of all below it,
// by its path and (since ZooKeeper 3.9) its transaction, without the data.

func (w *treeWatcher) watches(key []byte) bool {
	if len(w.end) == 0 {
		return bytes.Equal(key, w.key)
	}
	return bytes.Compare(key, w.key) >= 0 && bytes.Compare(key, w.end) < 0
}

// pathText is a path as a key of a map.
func pathText(p jute.Path) string { return p.Prefix + string(p.Rest) }

// watch asks for a watcher. What it begins behind is in the answer.
func (c *codec) watch(call jute.Call, p jute.Path, op *store.Op) {
	w := &c.watches
	switch {
	case op.Watch.Progress:
		c.progress()
		return
	case op.Watch.PrevKV:
		c.refuse(call, "ZooKeeper's watch events carry no value before")
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
		c.refuse(call, "ZooKeeper has no such watch: one of mode once is of one key, and one of mode persistent of an interval")
		return
	}
	w.creating[call.Tag] = of
}

// progress asks for something, no matter what: a session is told of a change before
// it gets an answer that knows of it, so that with any answer all events up to its
// transaction have come.
func (c *codec) progress() {
	c.conn.Exists(jute.Call{Sub: callProgress}, jute.Path{Prefix: "/"}, false)
}

// reached tells the watchers how far they have been told.
func (c *codec) reached(zxid int64, to []store.Event) []store.Event {
	for _, w := range c.watches.once {
		if w.reading { // of what it is told next
			continue
		}
		for i := range w.of {
			to = append(to, store.Event{What: store.Seen, Watcher: w.of[i].number, Revision: zxid})
		}
	}
	for _, w := range c.watches.recursive {
		for i := range w.of {
			to = append(to, store.Event{What: store.Seen, Watcher: w.of[i].number, Revision: zxid})
		}
	}
	return to
}

// watchDone takes the answer to what creates a watcher.
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
			e.Outcome, e.Text = kv.BadRequest, []byte("the server has no watches that stay (ZooKeeper has them from 3.6 on); use mode once")
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

// writes returns how often a node was written, as store.Event.Version has it: the version
// of a node that exists counts on from 2^31-1 to -2^31, so that none of its values means
// that the node was deleted.
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
	t.of = append(t.of, treeWatcher{number: of.watcher, key: of.key, end: of.end})
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
	o.of = append(o.of, onceWatcher{number: of.watcher, since: zxid})
}

// notified takes a watch event.
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
	for end := len(path); ; { // the node itself and all above it
		if t := w.recursive[string(path[:max(end, 1)])]; t != nil {
			to = c.below(t, what, path, r.Zxid, to)
		}
		if end <= 1 {
			return to
		}
		end = bytes.LastIndexByte(path[:end], '/')
	}
}

// below tells the watchers of a tree of a change in it.
func (c *codec) below(t *recursive, what jute.WatchEvent, path []byte, zxid int64, to []store.Event) []store.Event {
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
	for i := range t.of {
		switch n := t.of[i].number; {
		case !t.of[i].watches(key):
		case zxid <= 0:
			to = append(to, store.Event{What: store.Ended, Watcher: n, Outcome: kv.BadRequest, Text: untoldZxid})
		default:
			to = append(to, store.Event{What: store.Notify, Watcher: n, Key: key, Version: version, Revision: zxid, At: zxid})
		}
	}
	return to
}

var untoldZxid = []byte("a watch event does not tell its transaction, as ZooKeeper's do from 3.9 on: what it is of cannot be known; use mode once")

// setAgain takes the read that sets a watch again after it fired, and tells the
// watchers of what it shows.
func (c *codec) setAgain(r *jute.Reply, to []store.Event) ([]store.Event, error) {
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
	case r.Code == jute.OK && r.Sub == callExistsAgain: // it was made meanwhile
		c.conn.GetData(jute.Call{Sub: callSetAgain}, jute.Path{Rest: path}, true)
		return to, nil
	case r.Code != jute.OK && r.Code != jute.NoNode:
		var e store.Event
		failed(&e, r.Code)
		for i := range o.of {
			to = append(to, store.Event{What: store.Ended, Watcher: o.of[i].number, Outcome: e.Outcome, Text: e.Text})
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
	for i := range o.of {
		if w := &o.of[i]; e.Revision > w.since { // else it knew that when it was created
			e.Watcher = w.number
			to = append(to, e)
		}
	}
	return to, nil
}

var newsFirst = []byte("the answer has data that the session's watch has not told of: a client sees the event before the new data")

// beforeItsEvent looks at a node that was read on a session that watches it.
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

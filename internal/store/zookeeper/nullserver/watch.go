package nullserver

import (
	"encoding/binary"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

func newWatches() watches {
	return watches{data: paths{}, children: paths{}, persistent: paths{}, recursive: paths{}}
}

// watch adds a connection to the watches of a path. The parameter `byPath` is the map for the kind
// of watch, such as tree.watches.data.
func (t *tree) watch(byPath paths, path string, c *conn) {
	if byPath[path] == nil {
		byPath[path] = map[*conn]struct{}{}
	}
	if _, had := byPath[path][c]; !had {
		byPath[path][c] = struct{}{}
		t.watches.n++
		c.watching = true
	}
}

// removeWatches removes the watches of a closed connection.
func (t *tree) removeWatches(c *conn) {
	for _, of := range []paths{t.watches.data, t.watches.children, t.watches.persistent, t.watches.recursive} {
		for path, conns := range of {
			if _, had := conns[c]; had {
				t.watches.n--
				if delete(conns, c); len(conns) == 0 {
					delete(of, path)
				}
			}
		}
	}
}

// recordChange records a change if any watches exist.
func (t *tree) recordChange(kind jute.WatchEvent, path string) {
	if t.watches.n > 0 {
		t.watches.changed = append(t.watches.changed, changed{kind, path})
	}
}

// publish sends the current request's changes to the connections that watch the changed nodes. Each
// event contains the given zxid. If the request failed (done is false), publish discards the
// changes.
func (t *tree) publish(done bool, zxid int64) {
	w := &t.watches
	if done {
		for _, c := range w.changed {
			t.notify(c, zxid)
		}
	}
	w.changed = w.changed[:0]
}

// notify sends a change to every connection that watches the node or one of its ancestors. A
// connection with several matching watches receives only one event for the node. It may receive one
// more event for the node's parent.
func (t *tree) notify(ch changed, zxid int64) {
	w := &t.watches
	notified := map[*conn]struct{}{}
	notify := func(of paths, path string, once bool, e jute.WatchEvent) {
		for c := range of[path] {
			if _, had := notified[c]; !had {
				notified[c] = struct{}{}
				c.addEvent(e, path, zxid)
			}
		}
		if once {
			w.n -= len(of[path])
			delete(of, path)
		}
	}
	notify(w.data, ch.path, true, ch.kind)
	notify(w.persistent, ch.path, false, ch.kind)
	for at := ch.path; ; at = parentOf(at) {
		for c := range w.recursive[at] {
			if _, had := notified[c]; !had {
				notified[c] = struct{}{}
				c.addEvent(ch.kind, ch.path, zxid)
			}
		}
		if at == "/" {
			break
		}
	}
	if ch.kind == jute.NodeDataChanged {
		return
	}
	if ch.kind == jute.NodeDeleted {
		notify(w.children, ch.path, true, ch.kind)
	}
	clear(notified) // a connection may also receive the event for a watch on the parent
	parent := parentOf(ch.path)
	notify(w.children, parent, true, jute.NodeChildrenChanged)
	notify(w.persistent, parent, false, jute.NodeChildrenChanged)
}

// addEvent appends a watch event to a connection's pending events. If the script demands a fault,
// addEvent may omit, repeat, change or delay the event.
func (c *conn) addEvent(kind jute.WatchEvent, path string, zxid int64) {
	w := &c.session.tree.watches
	w.events++
	event := appendEvent(nil, kind, path, zxid)
	fault, late := c.server.Script.DecideEvent(w.events)
	switch fault {
	case null.Lose:
		return
	case null.Reorder:
		if c.heldEvent == nil {
			c.heldEvent = event
			return
		}
	case null.Duplicate:
		c.pendingEvents = append(c.pendingEvents, event...)
	case null.Invent:
		c.pendingEvents = append(c.pendingEvents, event...)
		event = appendEvent(nil, kind, path, zxid+1)
	}
	if late > 0 {
		due := c.server.Clock.Now() + int64(late)
		c.postponed = append(c.postponed, postponed{due, event})
		c.server.Schedule(null.Item[*conn]{Due: due, Value: c})
	} else {
		c.pendingEvents = append(c.pendingEvents, event...)
	}
	c.pendingEvents = append(c.pendingEvents, c.heldEvent...)
	c.heldEvent = nil
	w.touched = append(w.touched, c)
}

// takePendingEvents moves pending watch events to the output. The events must precede any reply
// that reflects the change. They must follow the delayed replies, because one of those may be the
// reply to the request that set the watch. The caller holds the connection's and the tree's locks.
func (c *conn) takePendingEvents() {
	if n := len(c.marks); n > 0 {
		c.later = append(c.later, c.pendingEvents...)
		c.marks[n-1].end = len(c.later)
	} else {
		c.out = append(c.out, c.pendingEvents...)
	}
	c.pendingEvents = c.pendingEvents[:0]
}

// takePostponed appends to the output the delayed watch events that are due. The caller holds the
// connection's and the tree's locks.
func (c *conn) takePostponed(now int64) {
	remaining := c.postponed[:0]
	for _, p := range c.postponed {
		if p.due <= now {
			c.out = append(c.out, p.event...)
		} else {
			remaining = append(remaining, p)
		}
	}
	c.postponed = remaining
}

// deliver writes the pending watch events of the given connections. The caller holds no lock.
func deliver(conns []*conn) {
	for _, c := range conns {
		c.Lock()
		if !c.Ended() && !c.closing {
			tree, all := c.session.tree, c.session.tree.AllShards()
			tree.Lock(all)
			c.takePendingEvents()
			tree.Unlock(all)
			c.Flush(false)
		}
		c.Unlock()
	}
}

// connected is the session state in watch events (KeeperState.SyncConnected).
const connected = 3

// appendEvent appends a frame with WatcherEvent{type int, state int, path string}.
func appendEvent(b []byte, kind jute.WatchEvent, path string, zxid int64) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(replyLen-4+4+4+4+len(path)))
	xid := jute.XidNotification
	b = binary.BigEndian.AppendUint32(b, uint32(xid))
	b = binary.BigEndian.AppendUint64(b, uint64(zxid))
	b = binary.BigEndian.AppendUint32(b, 0)
	b = binary.BigEndian.AppendUint32(b, uint32(kind))
	b = binary.BigEndian.AppendUint32(b, connected)
	return jute.AppendBuffer(b, path)
}

// addWatch handles AddWatchRequest{path string, mode int}.
func (s *session) addWatch(r *jute.Reader) jute.Code {
	path, mode := string(r.Buffer()), jute.WatchMode(r.Int())
	switch {
	case !r.OK() || !strings.HasPrefix(path, "/"):
		return jute.BadArguments
	case mode == jute.WatchPersistent:
		s.tree.watch(s.tree.watches.persistent, path, s.conn)
	case mode == jute.WatchPersistentRecursive:
		s.tree.watch(s.tree.watches.recursive, path, s.conn)
	default:
		return jute.BadArguments
	}
	return jute.OK
}

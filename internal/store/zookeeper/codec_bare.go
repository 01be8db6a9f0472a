package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// A read of an application (Op.Call with a Watch part, and Op.Watch) sets a plain watch of the
// protocol: it fires once with the kind of change and is not set again. It ends with its
// connection. An exists sets the watch whether or not the node exists, a getData only if it
// exists.

// setBare records that a read sets a watch.
func (w *watches) setBare(tag, watcher uint32, p jute.Path) {
	if len(w.bare) < cap(w.bare) {
		w.bare = w.bare[:len(w.bare)+1] // reuses the memory of a watch that has fired
	} else {
		w.bare = append(w.bare, bareWatch{})
	}
	b := &w.bare[len(w.bare)-1]
	b.path = append(append(b.path[:0], p.Prefix...), p.Rest...)
	b.tag, b.watcher, b.set = tag, watcher, false
}

// bareDone records whether the read with this tag set its watch. A session has one watch per
// path, however often it was set, so an earlier watch of the same watcher is dropped.
func (w *watches) bareDone(tag uint32, set bool) {
	for i := range w.bare {
		b := &w.bare[i]
		if b.set || b.tag != tag {
			continue
		}
		if b.set = set; set {
			for k := range w.bare {
				if o := &w.bare[k]; k != i && o.set && o.watcher == b.watcher && bytes.Equal(o.path, b.path) {
					w.dropBare(k)
					return
				}
			}
			return
		}
		w.dropBare(i)
		return
	}
}

// dropBare removes a watch; its memory is reused.
func (w *watches) dropBare(i int) {
	last := len(w.bare) - 1
	w.bare[i], w.bare[last] = w.bare[last], w.bare[i]
	w.bare = w.bare[:last]
}

// fireBare appends an event for each watcher of a path after a change of its node.
func (w *watches) fireBare(what jute.WatchEvent, path []byte, zxid int64, to []store.Event) []store.Event {
	if what == jute.NodeChildrenChanged {
		return to
	}
	for i := len(w.bare) - 1; i >= 0; i-- {
		b := &w.bare[i]
		if !b.set || !bytes.Equal(b.path, path) {
			continue
		}
		e := store.Event{What: store.Notify, Watcher: b.watcher, Key: path, Version: -1, Revision: max(zxid, 0), At: max(zxid, 0)}
		if what == jute.NodeDeleted {
			e.Version = 0
		}
		to = append(to, e)
		w.dropBare(i)
	}
	return to
}

// lostBare appends the end of every watch, because watches end with their connection.
func (w *watches) lostBare(to []store.Event) []store.Event {
	for i := range w.bare {
		if w.bare[i].set {
			to = append(to, store.Event{What: store.Ended, Watcher: w.bare[i].watcher, Outcome: kv.ConnectionLost})
		}
	}
	w.bare = w.bare[:0]
	return to
}

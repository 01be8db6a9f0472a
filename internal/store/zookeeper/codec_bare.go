package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// Some applications set a watch with a read: the operation has Op.Watch, and Op.Call has a Watch
// part. The codec then sets a plain ZooKeeper watch. The watch fires once and reports the kind of
// change, and the codec does not set it again. When the connection ends, the watch ends. An
// exists request sets the watch even if the node does not exist; a getData request sets it only
// if the node exists.

// setBare adds the watch that a read will set.
func (w *watches) setBare(tag, watcher uint32, p jute.Path) {
	if len(w.bare) < cap(w.bare) {
		w.bare = w.bare[:len(w.bare)+1] // reuse the memory of a watch that has fired
	} else {
		w.bare = append(w.bare, bareWatch{})
	}
	b := &w.bare[len(w.bare)-1]
	b.path = append(append(b.path[:0], p.Prefix...), p.Rest...)
	b.tag, b.watcher, b.set = tag, watcher, false
}

// bareDone records whether the read with this tag set its watch. A session has at most one watch
// per path, even if several reads set it. So if the same watcher has an earlier watch on the
// path, bareDone drops the earlier watch.
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

// dropBare removes a watch from the list and keeps its memory for reuse.
func (w *watches) dropBare(i int) {
	last := len(w.bare) - 1
	w.bare[i], w.bare[last] = w.bare[last], w.bare[i]
	w.bare = w.bare[:last]
}

// fireBare handles a change of the node at path: it appends an event for each watcher of the path
// and removes the watches.
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

// lostBare appends an Ended event for every watch, because a watch ends with its connection.
func (w *watches) lostBare(to []store.Event) []store.Event {
	for i := range w.bare {
		if w.bare[i].set {
			to = append(to, store.Event{What: store.Ended, Watcher: w.bare[i].watcher, Outcome: kv.ConnectionLost})
		}
	}
	w.bare = w.bare[:0]
	return to
}

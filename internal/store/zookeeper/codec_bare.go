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

// addPlain adds the watch that a read will set.
func (w *watches) addPlain(tag, watcher uint32, p jute.Path) {
	if len(w.plain) < cap(w.plain) {
		w.plain = w.plain[:len(w.plain)+1] // reuse the memory of a watch that has fired
	} else {
		w.plain = append(w.plain, plainWatch{})
	}
	b := &w.plain[len(w.plain)-1]
	b.path = append(append(b.path[:0], p.Prefix...), p.Rest...)
	b.tag, b.watcher, b.set = tag, watcher, false
}

// handlePlainSet records whether the read with this tag has set its watch. A session has at most
// one watch per path, even if several reads set it. So if the same watcher has an earlier watch on
// the path, handlePlainSet drops the earlier watch.
func (w *watches) handlePlainSet(tag uint32, set bool) {
	for i := range w.plain {
		b := &w.plain[i]
		if b.set || b.tag != tag {
			continue
		}
		if b.set = set; set {
			for k := range w.plain {
				if o := &w.plain[k]; k != i && o.set && o.watcher == b.watcher && bytes.Equal(o.path, b.path) {
					w.dropPlain(k)
					return
				}
			}
			return
		}
		w.dropPlain(i)
		return
	}
}

// dropPlain removes a watch from the list and keeps its memory for reuse.
func (w *watches) dropPlain(i int) {
	last := len(w.plain) - 1
	w.plain[i], w.plain[last] = w.plain[last], w.plain[i]
	w.plain = w.plain[:last]
}

// firePlain handles a change of the node at path: it appends an event for each watcher of the path
// and removes the watches.
func (w *watches) firePlain(what jute.WatchEvent, path []byte, zxid int64, events []store.Event) []store.Event {
	if what == jute.NodeChildrenChanged {
		return events
	}
	for i := len(w.plain) - 1; i >= 0; i-- {
		b := &w.plain[i]
		if !b.set || !bytes.Equal(b.path, path) {
			continue
		}
		e := store.Event{Type: store.WatchChange, Watcher: b.watcher, Key: path, Version: -1, Revision: max(zxid, 0), StoreRevision: max(zxid, 0)}
		if what == jute.NodeDeleted {
			e.Version = 0
		}
		events = append(events, e)
		w.dropPlain(i)
	}
	return events
}

// endPlain appends a WatchEnded event for every watch, because a watch ends with its connection.
func (w *watches) endPlain(events []store.Event) []store.Event {
	for i := range w.plain {
		if w.plain[i].set {
			events = append(events, store.Event{Type: store.WatchEnded, Watcher: w.plain[i].watcher, Outcome: kv.ConnectionLost})
		}
	}
	w.plain = w.plain[:0]
	return events
}

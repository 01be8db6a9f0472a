package nullserver

import (
	"sync"
	"sync/atomic"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
)

// hub knows the watchers of a null cluster and notifies them of what is written. A
// write notifies it under the locks of its keys, so that a key's events keep their
// order; they go out through the schedule, because the writer holds the lock of
// its own connection and must not wait for another's.
type hub struct {
	server *server
	script *null.Script
	events atomic.Uint64 // sent, over all watchers
	count  atomic.Int64  // of watchers
	before atomic.Bool   // one wants to know what was there before

	mu     sync.Mutex // guards what follows
	keys   map[string][]*watcher
	ranges []*watcher
	batch  []timer.Item[*pending] // kept for notify
	reply  *pb.WatchResponse      // with one event, likewise
	lease  leases
}

// watcher is one watcher of one stream.
type watcher struct {
	conn     *conn
	stream   uint32
	id       int64
	key, end string
	from     int64 // the first revision that it wants
	prevKV   bool
	behind   []byte // an event that is to come behind the next
}

// watches reports whether a key is the watcher's.
func (w *watcher) watches(key string) bool {
	return key >= w.key && (key < w.end || w.end == "\x00")
}

func newHub(s *server) *hub {
	return &hub{
		server: s, script: s.Script, keys: map[string][]*watcher{}, lease: leases{ttl: map[int64]int64{}},
		reply: &pb.WatchResponse{
			Header: newIdentity(MemberID(1)).header(0), Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{}}},
		},
	}
}

func (h *hub) add(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count.Add(1)
	if w.prevKV {
		h.before.Store(true)
	}
	if w.end == "" {
		h.keys[w.key] = append(h.keys[w.key], w)
	} else {
		h.ranges = append(h.ranges, w)
	}
}

// remove forgets watchers of a connection: of one stream, or of all if stream
// is 0; of that stream the one with the id, or all if it is below 0.
func (h *hub) remove(c *conn, stream uint32, id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keep := func(list []*watcher) []*watcher {
		kept := list[:0]
		for _, w := range list {
			if w.conn != c || stream != 0 && w.stream != stream || id >= 0 && w.id != id {
				kept = append(kept, w)
			} else {
				h.count.Add(-1)
			}
		}
		clear(list[len(kept):])
		return kept
	}
	for key, list := range h.keys {
		if list = keep(list); len(list) == 0 {
			delete(h.keys, key)
		} else {
			h.keys[key] = list
		}
	}
	h.ranges = keep(h.ranges)
}

// listens reports whether anybody watches.
func (h *hub) listens() bool { return h != nil && h.count.Load() > 0 }

// written notifies of an entry that was written, and what it was before if that is
// known.
func (h *hub) written(e *entry, prev *mvccpb.KeyValue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	event := h.reply.Events[0]
	event.Type = mvccpb.Event_PUT
	event.Kv.Key, event.Kv.Value = append(event.Kv.Key[:0], e.Key...), e.Value
	event.Kv.CreateRevision, event.Kv.ModRevision, event.Kv.Version = e.Created, e.Changed, e.Version
	h.notify(e.Key, prev)
}

// removed notifies of a key that was removed at a revision. It has its name alone.
func (h *hub) removed(prev *mvccpb.KeyValue, revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	event := h.reply.Events[0]
	event.Type = mvccpb.Event_DELETE
	event.Kv.Key, event.Kv.Value = append(event.Kv.Key[:0], prev.Key...), nil
	event.Kv.CreateRevision, event.Kv.ModRevision, event.Kv.Version = 0, revision, 0
	h.notify(string(prev.Key), prev)
}

// notify sends the event to the key's watchers, with what was there before to
// those that want to know it.
func (h *hub) notify(key string, prev *mvccpb.KeyValue) {
	now := h.server.Clock.Now()
	for _, w := range h.keys[key] {
		h.send(w, prev, now)
	}
	for _, w := range h.ranges {
		if w.watches(key) {
			h.send(w, prev, now)
		}
	}
	h.server.Later(h.batch...)
	clear(h.batch)
	h.batch = h.batch[:0]
}

// send does with the event what the script says.
func (h *hub) send(w *watcher, prev *mvccpb.KeyValue, now int64) {
	event := h.reply.Events[0]
	if event.Kv.ModRevision < w.from {
		return
	}
	h.reply.Header.Revision, h.reply.WatchId = event.Kv.ModRevision, w.id
	if event.PrevKv = nil; w.prevKV {
		event.PrevKv = prev
	}
	message := encode(h.reply)
	fault, late := h.script.DecideEvent(h.events.Add(1))
	switch fault {
	case null.Lose:
		return
	case null.Reorder:
		if w.behind == nil {
			w.behind = message
			return
		}
	case null.Duplicate:
		h.post(w, message, now)
	}
	h.post(w, message, now+int64(late))
	if w.behind != nil {
		h.post(w, w.behind, now+int64(late))
		w.behind = nil
	}
}

func (h *hub) post(w *watcher, message []byte, due int64) {
	h.batch = append(h.batch, timer.Item[*pending]{Due: due, What: &pending{conn: w.conn, stream: w.stream, long: true, body: message}})
}

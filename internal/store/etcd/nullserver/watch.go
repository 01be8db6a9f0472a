package nullserver

import (
	"bytes"
	"encoding/binary"
	"slices"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// beginLong starts the response on a long-lived stream.
func (s *session) beginLong(st *stream) {
	if s.member.hub == nil {
		s.forget(st)
		s.fail(st.id, errUnimplemented)
		return
	}
	if err := s.member.admits(st.call.token); err != nil {
		s.forget(st)
		s.fail(st.id, err)
		return
	}
	st.longState = &longStream{out: s.newPending(st.id, st.windowGrowth)}
	st.longState.out.long = true
	s.out = s.replies.appendStart(s.out, st.id)
}

// handleLongData handles data that the client sends on a long-lived stream.
func (s *session) handleLongData(st *stream, p []byte, ended bool) {
	if st.body = append(st.body, p...); len(st.body) > maxRequest {
		s.resetLong(st, h2.ErrCodeEnhanceCalm)
		return
	}
	b := st.body
	for len(b) >= prefixLen {
		n := prefixLen + int(binary.BigEndian.Uint32(b[1:]))
		if b[0] != 0 || n > maxRequest {
			s.resetLong(st, h2.ErrCodeProtocol)
			return
		}
		if len(b) < n {
			break
		}
		if !s.takeMessage(st, b[prefixLen:n]) {
			s.resetLong(st, h2.ErrCodeProtocol)
			return
		}
		b = b[n:]
	}
	st.body = st.body[:copy(st.body, b)]
	if ended {
		id := st.id
		s.removeLong(st)
		s.out = s.replies.appendEnd(s.out, id)
		s.ended()
	}
}

// resetLong resets a long-lived stream because of an error.
func (s *session) resetLong(st *stream, code uint32) {
	s.out = h2.AppendRSTStream(s.out, st.id, code)
	s.removeLong(st)
	s.ended()
}

// removeLong removes a stream, its watchers, and its messages that wait for a window.
func (s *session) removeLong(st *stream) {
	if st.longState != nil {
		if st.longState.watchers > 0 {
			s.member.hub.remove(s.owner, st.id, -1)
		}
		s.unblock(st.id)
		s.recycle(st.longState.out)
	}
	s.forget(st)
}

// sendLong sends a message on a stream, or as much of it as the client's windows allow.
func (s *session) sendLong(st *stream, message []byte) {
	p := st.longState.out
	waits := len(p.body) > 0
	p.body, p.sent = p.body[:copy(p.body, p.body[p.sent:])], 0
	var prefix [prefixLen]byte
	putPrefix(prefix[:], len(message))
	p.body = append(append(p.body, prefix[:]...), message...)
	if !waits && !s.push(p) {
		s.send.blocked = append(s.send.blocked, p)
	}
}

// sendDueLong sends a delayed message, if the message's stream is still open.
func (s *session) sendDueLong(p *pending) {
	if st := s.find(p.stream); st != nil && st.longState != nil {
		s.sendLong(st, p.body)
	}
}

// takeMessage executes a request on a long-lived stream. It returns false if the stream must
// end.
func (s *session) takeMessage(st *stream, request []byte) bool {
	message, err := st.call.method.parse(request)
	if err != nil {
		return false
	}
	switch r := message.(type) {
	case *pb.WatchRequest:
		s.watch(st, r)
	case *pb.LeaseKeepAliveRequest:
		return s.keepAlive(st, r)
	}
	return true
}

func (s *session) watch(st *stream, r *pb.WatchRequest) {
	switch {
	case r.GetCreateRequest() != nil:
		s.createWatcher(st, r.GetCreateRequest())
	case r.GetCancelRequest() != nil:
		id := r.GetCancelRequest().WatchId
		s.member.hub.remove(s.owner, st.id, id)
		s.sendWatch(st, &pb.WatchResponse{WatchId: id, Canceled: true})
	case r.GetProgressRequest() != nil:
		s.sendProgress(st)
	}
}

func (s *session) sendWatch(st *stream, r *pb.WatchResponse) {
	r.Header = s.member.identity.header(s.member.backend.Revision())
	s.sendLong(st, encode(r))
}

// sendProgress sends a progress notification. It contains the revision up to which the stream's
// watchers have received all events, and is sent after these events.
func (s *session) sendProgress(st *stream) {
	m := s.member.backend.(*memory)
	set := m.AllShards()
	m.Lock(set)
	defer m.Unlock(set)
	b := encode(&pb.WatchResponse{Header: s.member.identity.header(m.Revision()), WatchId: -1})
	s.member.hub.progress(s.owner, st.id, b)
}

// createWatcher adds a watcher. If the watcher starts at an earlier revision, createWatcher cancels
// it as if the revision were compacted, because the server does not keep earlier versions.
func (s *session) createWatcher(st *stream, r *pb.WatchCreateRequest) {
	w := &watcher{
		conn: s.owner, stream: st.id, id: st.longState.watchers,
		key: string(r.Key), end: string(r.RangeEnd), from: r.StartRevision, prevKV: r.PrevKv,
	}
	st.longState.watchers++
	m := s.member.backend.(*memory)
	set := m.shardsOf(r.Key, r.RangeEnd)
	m.Lock(set)
	revision := m.Revision()
	created := encode(&pb.WatchResponse{Header: s.member.identity.header(revision), WatchId: w.id, Created: true})
	compacted := w.from != 0 && w.from <= revision
	if !compacted {
		s.member.hub.add(w)
	}
	m.Unlock(set)
	s.sendLong(st, created)
	if compacted {
		s.sendWatch(st, &pb.WatchResponse{WatchId: w.id, Canceled: true, CompactRevision: revision + 1})
	}
}

// keepAlive replies at once, later or never, as the script specifies. If the script demands
// another fault, keepAlive resets the stream.
func (s *session) keepAlive(st *stream, r *pb.LeaseKeepAliveRequest) bool {
	b := encode(&pb.LeaseKeepAliveResponse{
		Header: s.member.identity.header(s.member.backend.Revision()), ID: r.ID, TTL: s.member.hub.lease.secondsOf(r.ID),
	})
	if s.arrive == nil {
		s.sendLong(st, b)
		return true
	}
	a, due := s.arrive(s.now)
	if a.Kind == null.LieLease {
		// The error does not matter: the lease may have ended already.
		_ = s.member.backend.(*memory).endLease(r.ID)
		b = encode(&pb.LeaseKeepAliveResponse{Header: s.member.identity.header(s.member.backend.Revision()), ID: r.ID})
	}
	switch {
	case a.Kind == null.Never:
	case a.Kind == null.Close:
		s.closing = true
	case a.Kind != null.CorrectResponse && a.Kind < null.LieLost:
		return false
	case due <= s.now:
		s.sendLong(st, b)
	default:
		s.later = append(s.later, null.Item[*pending]{Due: due, Value: &pending{conn: s.owner, stream: st.id, long: true, body: b}})
	}
	return true
}

// containsKey reports whether the watcher's interval contains the key. The watcher must have an
// end.
func (w *watcher) containsKey(key string) bool {
	return key >= w.key && (key < w.end || w.end == "\x00")
}

func newHub(s *Server) *hub {
	return &hub{
		server: s, script: s.Script, keys: map[string][]*watcher{}, lease: leases{ttl: map[int64]int64{}, keys: map[int64][]string{}},
		reply: &pb.WatchResponse{
			Header: newIdentity(memberID(1)).header(0), Events: []*mvccpb.Event{{Kv: &mvccpb.KeyValue{}}},
		},
	}
}

func (h *hub) add(w *watcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count.Add(1)
	if w.prevKV {
		h.wantsPrevious.Store(true)
	}
	if w.end == "" {
		h.keys[w.key] = append(h.keys[w.key], w)
	} else {
		h.hasRanges.Store(true)
		h.ranges = append(h.ranges, w)
	}
}

// remove removes watchers of a connection. If stream is 0, it removes the connection's watchers on
// all streams. Otherwise it removes the watchers on that stream: only the watcher with the ID `id`,
// or all watchers if `id` is negative.
func (h *hub) remove(c *conn, stream uint32, id int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	keep := func(list []*watcher) []*watcher {
		remaining := list[:0]
		for _, w := range list {
			if w.conn != c || stream != 0 && w.stream != stream || id >= 0 && w.id != id {
				remaining = append(remaining, w)
			} else {
				h.count.Add(-1)
			}
		}
		clear(list[len(remaining):])
		return remaining
	}
	for key, list := range h.keys {
		if list = keep(list); len(list) == 0 {
			delete(h.keys, key)
		} else {
			h.keys[key] = list
		}
	}
	h.ranges = keep(h.ranges)
	h.hasRanges.Store(len(h.ranges) > 0)
}

// hasWatchers reports whether there is at least one watcher.
func (h *hub) hasWatchers() bool { return h != nil && h.count.Load() > 0 }

// ordersAllEvents reports whether all events must stay in order, across different keys.
func (h *hub) ordersAllEvents() bool { return h != nil && h.hasRanges.Load() }

// written sends the event for an entry that was written. prev is the previous entry, or nil if
// it is not known.
func (h *hub) written(e *entry, prev *mvccpb.KeyValue) {
	h.mu.Lock()
	defer h.mu.Unlock()
	event := h.reply.Events[0]
	event.Type = mvccpb.Event_PUT
	event.Kv.Key, event.Kv.Value = append(event.Kv.Key[:0], e.Key...), e.Value
	event.Kv.CreateRevision, event.Kv.ModRevision, event.Kv.Version = e.Created, e.Changed, e.Version
	h.notify(e.Key, prev)
}

// removed sends the event for a deletion. The event contains only the key and the revision.
func (h *hub) removed(prev *mvccpb.KeyValue, revision int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	event := h.reply.Events[0]
	event.Type = mvccpb.Event_DELETE
	event.Kv.Key, event.Kv.Value = append(event.Kv.Key[:0], prev.Key...), nil
	event.Kv.CreateRevision, event.Kv.ModRevision, event.Kv.Version = 0, revision, 0
	h.notify(string(prev.Key), prev)
}

// notify sends the event in h.reply to all watchers of the key. Watchers that want the previous
// value receive prev as well.
func (h *hub) notify(key string, prev *mvccpb.KeyValue) {
	now := h.server.Clock.Now()
	for _, w := range h.keys[key] {
		h.send(w, prev, now)
	}
	for _, w := range h.ranges {
		if w.containsKey(key) {
			h.send(w, prev, now)
		}
	}
	h.server.Schedule(h.batch...)
	clear(h.batch)
	h.batch = h.batch[:0]
}

// send sends the event to one watcher, with the fault that the script demands, if any.
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
		if w.heldEvent == nil {
			w.heldEvent = message
			return
		}
	case null.Duplicate:
		h.post(w, message, now)
	case null.Invent:
		h.post(w, message, now)
		message = h.encodeInvented()
	}
	h.post(w, message, now+int64(late))
	if w.heldEvent != nil {
		h.post(w, w.heldEvent, now+int64(late))
		w.heldEvent = nil
	}
}

// encodeInvented returns an encoded event that never happened. It has a different value than the
// real event, and the revision after the real event's revision.
func (h *hub) encodeInvented() []byte {
	kv := h.reply.Events[0].Kv
	value := kv.Value
	kv.Value = bytes.Clone(value)
	slices.Reverse(kv.Value)
	kv.ModRevision++
	kv.Version++
	h.reply.Header.Revision = kv.ModRevision
	message := encode(h.reply)
	kv.Value = value
	kv.ModRevision--
	kv.Version--
	return message
}

// progress sends a message on a stream, after the events that were already sent.
func (h *hub) progress(c *conn, stream uint32, message []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.server.Schedule(null.Item[*pending]{Due: h.server.Clock.Now(), Value: &pending{conn: c, stream: stream, long: true, body: message}})
}

func (h *hub) post(w *watcher, message []byte, due int64) {
	h.batch = append(h.batch, null.Item[*pending]{Due: due, Value: &pending{conn: w.conn, stream: w.stream, long: true, body: message}})
}

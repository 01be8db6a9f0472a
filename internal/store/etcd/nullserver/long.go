package nullserver

import (
	"encoding/binary"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/store/null/timer"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// long is what a stream has that stays open: Watch and LeaseKeepAlive. Its
// messages are taken as they come, and answered on it.
type long struct {
	out      []byte // waits for a window
	watchers int64  // created on it
}

// beginLong begins the answer of a stream that stays open.
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
	st.long = &long{}
	s.out = s.replies.appendStart(s.out, st.id)
}

// takeLong takes a part of what the client sends on such a stream.
func (s *session) takeLong(st *stream, p []byte, ended bool) {
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
		s.leaveLong(st)
		s.out = s.replies.appendEnd(s.out, id)
		s.ended()
	}
}

// resetLong ends a stream that cannot go on.
func (s *session) resetLong(st *stream, code uint32) {
	s.out = h2.AppendRSTStream(s.out, st.id, code)
	s.leaveLong(st)
	s.ended()
}

// leaveLong forgets a stream and its watchers.
func (s *session) leaveLong(st *stream) {
	s.unwatch(st)
	st.long = nil
	s.forget(st)
}

func (s *session) unwatch(st *stream) {
	if st.long != nil && st.long.watchers > 0 {
		s.member.hub.remove(s.owner, st.id, -1)
	}
}

// sendLong sends a message on a stream, or as much as the windows allow.
func (s *session) sendLong(st *stream, message []byte) {
	var prefix [prefixLen]byte
	putPrefix(prefix[:], len(message))
	st.long.out = append(append(st.long.out, prefix[:]...), message...)
	s.pushLong(st)
}

func (s *session) pushLong(st *stream) {
	out := st.long.out
	for len(out) > 0 {
		n := min(int64(len(out)), int64(s.send.maxFrame), s.send.connection, s.send.initial+st.extra)
		if n <= 0 {
			break
		}
		s.out = h2.AppendFrameHeader(s.out, int(n), h2.FrameData, 0, st.id)
		s.out = append(s.out, out[:n]...)
		out = out[n:]
		st.extra -= n
		s.send.connection -= n
	}
	st.long.out = st.long.out[:copy(st.long.out, out)]
}

// pumpLong sends what waits for windows on all such streams.
func (s *session) pumpLong() {
	if st := s.newest; st != nil && st.long != nil {
		s.pushLong(st)
	}
	for _, st := range s.streams {
		if st.long != nil && len(st.long.out) > 0 {
			s.pushLong(st)
		}
	}
}

// dueLong sends a message that was due later, if its stream is still there.
func (s *session) dueLong(p *pending) {
	if st := s.find(p.stream); st != nil && st.long != nil {
		s.sendLong(st, p.body)
	}
}

// takeMessage does what the client asks for on such a stream. It reports
// whether the stream goes on.
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
		s.sendWatch(st, &pb.WatchResponse{WatchId: -1})
	}
}

func (s *session) sendWatch(st *stream, r *pb.WatchResponse) {
	r.Header = s.member.identity.header(s.member.keeper.Revision())
	s.sendLong(st, encode(r))
}

// createWatcher adds a watcher. What was written before is forgotten, so a
// watcher of it is sent that it is compacted.
func (s *session) createWatcher(st *stream, r *pb.WatchCreateRequest) {
	w := &watcher{
		conn: s.owner, stream: st.id, id: st.long.watchers,
		key: string(r.Key), end: string(r.RangeEnd), from: r.StartRevision, prevKV: r.PrevKv,
	}
	st.long.watchers++
	m := s.member.keeper.(*memory)
	set := m.of(r.Key, r.RangeEnd)
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

// keepAlive answers as the script says: at once, later, or never; any other
// fault resets the stream.
func (s *session) keepAlive(st *stream, r *pb.LeaseKeepAliveRequest) bool {
	b := encode(&pb.LeaseKeepAliveResponse{
		Header: s.member.identity.header(s.member.keeper.Revision()), ID: r.ID, TTL: s.member.hub.lease.of(r.ID),
	})
	if s.run == nil {
		s.sendLong(st, b)
		return true
	}
	a, due, first := s.run.Arrive(s.now)
	s.first = s.first || first
	switch {
	case a.Kind == null.Never:
	case a.Kind == null.Close:
		s.closing = true
	case a.Kind != null.Answer:
		return false
	case due <= s.now:
		s.sendLong(st, b)
	default:
		s.later = append(s.later, timer.Item[*pending]{Due: due, What: &pending{stream: st.id, long: true, body: b}})
	}
	return true
}

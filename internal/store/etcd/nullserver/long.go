package nullserver

import (
	"encoding/binary"

	"google.golang.org/protobuf/encoding/protowire"

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

// isLong reports whether the method's calls stay open.
func (m method) isLong() bool { return m == methodWatch || m == methodKeepAlive }

// beginLong begins the answer of a stream that stays open.
func (s *session) beginLong(st *stream) {
	if s.member.hub == nil {
		s.forget(st)
		s.fail(st.id, errUnimplemented)
		return
	}
	if s.member.user != "" && st.call.token != tokenRight {
		err := errUserEmpty
		if st.call.token == tokenWrong {
			err = errAuthToken
		}
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
		ok := false
		if st.call.method == methodWatch {
			ok = s.watchRequest(st, b[prefixLen:n])
		} else {
			ok = s.keepAlive(st, b[prefixLen:n])
		}
		if !ok {
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

// watchRequest takes a WatchRequest{create_request: 1, cancel_request: 2,
// progress_request: 3}.
func (s *session) watchRequest(st *stream, request []byte) bool {
	number, _, data, rest, ok := next(request)
	if !ok || len(rest) > 0 {
		return false
	}
	switch number {
	case 1:
		return s.createWatcher(st, data)
	case 2:
		var id uint64
		if len(data) > 0 {
			if _, id, _, _, ok = next(data); !ok {
				return false
			}
		}
		s.member.hub.remove(s.owner, st.id, int64(id))
		s.sendLong(st, s.watchAnswer(int64(id), fieldCanceled, 0))
	case 3:
		s.sendLong(st, s.watchAnswer(-1, 0, 0))
	}
	return true
}

// Flags of a WatchResponse.
const (
	fieldCreated  protowire.Number = 3
	fieldCanceled protowire.Number = 4
)

// watchAnswer makes a WatchResponse{header: 1, watch_id: 2, created: 3,
// canceled: 4, compact_revision: 5} with one of the flags set, unless it is 0.
func (s *session) watchAnswer(id int64, flag protowire.Number, compacted int64) []byte {
	b := s.member.identity.appendHeader(nil, s.member.keeper.currentRevision())
	b = appendUint(b, 2, uint64(id))
	if flag != 0 {
		b = appendUint(b, flag, 1)
	}
	return appendUint(b, 5, uint64(compacted))
}

// createWatcher takes a WatchCreateRequest{key: 1, range_end: 2,
// start_revision: 3, prev_kv: 6}. What was written before is forgotten, so a
// watcher of it is told that it is compacted.
func (s *session) createWatcher(st *stream, request []byte) bool {
	w := &watcher{conn: s.owner, stream: st.id, id: st.long.watchers}
	for len(request) > 0 {
		number, value, data, rest, ok := next(request)
		if !ok {
			return false
		}
		request = rest
		switch number {
		case 1:
			w.key = string(data)
		case 2:
			w.end = string(data)
		case 3:
			w.from = int64(value)
		case 6:
			w.prevKV = value != 0
		}
	}
	st.long.watchers++
	m := s.member.keeper.(*memory)
	set := m.shardsOf([]byte(w.key), []byte(w.end))
	m.lock(set)
	revision := m.revision.Load()
	created := s.watchAnswer(w.id, fieldCreated, 0)
	if w.from == 0 || w.from > revision {
		s.member.hub.add(w)
	}
	m.unlock(set)
	s.sendLong(st, created)
	if w.from != 0 && w.from <= revision {
		s.sendLong(st, s.watchAnswer(w.id, fieldCanceled, revision+1))
	}
	return true
}

// keepAlive takes a LeaseKeepAliveRequest{ID: 1} and answers as the script
// says: at once, later, or never; any other fault resets the stream.
func (s *session) keepAlive(st *stream, request []byte) bool {
	_, id, _, _, ok := next(request)
	if !ok {
		return false
	}
	b := s.member.identity.appendHeader(nil, s.member.keeper.currentRevision())
	b = appendUint(b, 2, id)
	if ttl := s.member.hub.lease.of(int64(id)); ttl > 0 {
		b = appendUint(b, 3, uint64(ttl))
	}
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

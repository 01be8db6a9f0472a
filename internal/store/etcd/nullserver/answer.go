package nullserver

import (
	"encoding/binary"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// prefixLen is the length in bytes of the prefix of a gRPC message. The prefix consists of a
// compression flag and the message's length.
const prefixLen = 5

func putPrefix(b []byte, size int) {
	b[0] = 0
	binary.BigEndian.PutUint32(b[1:], uint32(size))
}

// call replies to a complete request, or schedules the reply if the script delays the reply.
func (s *session) call(id uint32, c call, extra int64, request []byte) {
	if !c.method.scripted {
		s.reply(id, c.method, extra, request, null.CorrectResponse)
		return
	}
	if err := s.member.admits(c.token); err != nil {
		s.fail(id, err)
		return
	}
	if s.arrive == nil {
		s.reply(id, c.method, extra, request, null.CorrectResponse)
		return
	}
	a, due := s.arrive(s.now)
	if due <= s.now && a.Kind.Answered() {
		s.reply(id, c.method, extra, request, a.Kind)
		return
	}
	p := s.prepare(id, c.method, extra, request, a)
	if due <= s.now || a.Kind == null.Never {
		s.perform(p)
		return
	}
	p.place = len(s.waiting)
	s.waiting = append(s.waiting, p)
	s.later = append(s.later, null.Item[*pending]{Due: due, Value: p})
}

// reply replies to a request at once. It encodes the message directly into the output. If the
// client's windows do not allow the message as a single frame, reply removes the frame from the
// output again and turns the message into a pending reply.
func (s *session) reply(id uint32, m *method, extra int64, request []byte, wrong null.Kind) {
	at, replies := len(s.out), s.replies
	b := s.replies.appendStart(s.out, id)
	frame := len(b)
	var room [h2.FrameHeaderLen + prefixLen]byte
	b, err := s.member.answer(append(b, room[:]...), m, request, wrong, &s.room)
	size := len(b) - frame - h2.FrameHeaderLen
	switch {
	case err != nil:
		s.out, s.replies = b[:at], replies
		s.fail(id, err)
	case int64(size) > min(int64(s.send.maxFrame), s.send.connection, s.send.initial+extra):
		p := s.newPending(id, extra)
		body := b[frame+h2.FrameHeaderLen:]
		putPrefix(body, size-prefixLen)
		p.body = append(p.body, body...)
		s.out, s.replies = b[:at], replies
		s.deliver(p)
	default:
		h2.AppendFrameHeader(b[:frame], size, h2.FrameData, 0, id)
		putPrefix(b[frame+h2.FrameHeaderLen:], size-prefixLen)
		s.send.connection -= int64(size)
		s.out = s.replies.appendEnd(b, id)
		s.ended()
	}
}

// fail replies to a request with an error.
func (s *session) fail(id uint32, err error) {
	s.out = s.replies.appendError(s.out, id, err)
	s.ended()
}

// prepare executes a request and returns the pending reply. If the script demands an error or a
// reset, the request is not executed.
func (s *session) prepare(id uint32, m *method, extra int64, request []byte, a null.Action) *pending {
	p := s.newPending(id, extra)
	p.kind = a.Kind
	switch a.Kind {
	case null.Error:
		p.err = s.member.errors[a.Name]
	case null.Reset:
		p.code = resetCode(a.Name)
	default:
		var room [prefixLen]byte
		p.body, p.err = s.member.answer(append(p.body, room[:]...), m, request, a.Kind, &s.room)
		putPrefix(p.body, len(p.body)-prefixLen)
	}
	return p
}

func resetCode(name string) uint32 {
	switch name {
	case "refused":
		return h2.ErrCodeRefusedStream
	case "cancel":
		return h2.ErrCodeCancel
	}
	return h2.ErrCodeInternal
}

// perform carries out an action that is due. It recycles p, unless p waits for a window.
func (s *session) perform(p *pending) {
	switch p.kind {
	case null.Never:
		s.unanswered[p.stream] = struct{}{}
	case null.Close:
		s.closing = true
	case null.Reset:
		s.out = h2.AppendRSTStream(s.out, p.stream, p.code)
		s.ended()
	case null.Half:
		at := len(s.out)
		s.deliver(p)
		s.out = s.out[:at+(len(s.out)-at)/2]
		s.closing = true
		return
	case null.HugeFrame:
		s.out = s.replies.appendStart(s.out, p.stream)
		s.out = h2.AppendFrameHeader(s.out, 1<<24-1, h2.FrameData, 0, p.stream)
		s.unanswered[p.stream] = struct{}{}
	case null.HugeMessage:
		s.out = s.replies.appendStart(s.out, p.stream)
		s.out = h2.AppendFrameHeader(s.out, prefixLen, h2.FrameData, 0, p.stream)
		s.out = append(s.out, 0, 0xff, 0xff, 0xff, 0xff)
		s.unanswered[p.stream] = struct{}{}
	default:
		s.deliver(p)
		return
	}
	s.recycle(p)
}

// deliver sends as much of a pending reply as the client's windows allow.
func (s *session) deliver(p *pending) {
	if p.err != nil {
		s.fail(p.stream, p.err)
		s.recycle(p)
		return
	}
	s.out = s.replies.appendStart(s.out, p.stream)
	if !s.push(p) {
		s.send.blocked = append(s.send.blocked, p)
		return
	}
	s.ended()
	s.recycle(p)
}

// sendReply sends a pending reply that is due.
func (s *session) sendReply(p *pending) {
	if p.long {
		s.sendDueLong(p)
		return
	}
	if p.cancelled {
		s.recycle(p)
		return
	}
	s.unwait(p)
	s.perform(p)
}

// cancel discards the reply on a stream that the client has reset.
func (s *session) cancel(id uint32) {
	if _, ok := s.unanswered[id]; ok {
		delete(s.unanswered, id)
		s.ended()
		return
	}
	if p := s.unblock(id); p != nil {
		s.recycle(p)
		s.ended()
		return
	}
	for _, p := range s.waiting {
		if p.stream == id {
			s.unwait(p)
			p.cancelled = true // p is recycled when it is due
			s.ended()
			return
		}
	}
}

func (s *session) unwait(p *pending) {
	end := len(s.waiting) - 1
	moved := s.waiting[end]
	s.waiting[p.place], moved.place = moved, p.place
	s.waiting[end] = nil
	s.waiting = s.waiting[:end]
}

// newPending returns a new pending reply; the caller sets the remaining fields.
func (s *session) newPending(id uint32, extra int64) *pending {
	var p *pending
	if n := len(s.free); n > 0 {
		p, s.free = s.free[n-1], s.free[:n-1]
	} else {
		p = &pending{}
	}
	*p = pending{conn: s.owner, stream: id, window: extra, body: p.body[:0]}
	return p
}

// recycle keeps the memory of a pending reply for reuse.
func (s *session) recycle(p *pending) {
	if cap(p.body) > keepBuffer {
		p.body = nil
	}
	s.free = append(s.free, p)
}

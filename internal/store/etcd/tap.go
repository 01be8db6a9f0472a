package etcd

import (
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// maxKept limits how many ended calls and streams are kept, so that their memory can be reused.
const maxKept = 256

// tap implements store.Tap for one connection between a client and a member.
type tap struct {
	cfg     store.TapConfig
	decoder *h2.PassiveDecoder
	reader  message.Reader
	now     int64
	calls   map[uint32]*observedStream // the streams that have not ended, by stream number
	free    []*call.Call
	spare   []*observedStream
}

// observedStream is a stream that has not ended. Its field `unanswered` contains the stream's call
// or, for a long-lived stream, the calls that have no reply yet, oldest first.
type observedStream struct {
	method        string
	longLived     bool
	unanswered    []*call.Call
	receivedBytes int // bytes received so far, for a reply that consists of several messages
}

// Tap implements store.TapProvider.
func (Store) Tap(cfg store.TapConfig) store.Tap {
	t := &tap{cfg: cfg, reader: message.Reader{Redactor: cfg.Redactor}, calls: map[uint32]*observedStream{}}
	t.decoder = h2.NewPassiveDecoder(t)
	return t
}

// Feed implements store.Tap.
func (t *tap) Feed(fromClient bool, at int64, b []byte) error {
	t.now = at
	return t.decoder.Feed(fromClient, b)
}

// Open implements store.Tap.
func (t *tap) Open() (n int) {
	for _, s := range t.calls {
		n += len(s.unanswered)
	}
	return n
}

// End implements store.Tap.
func (t *tap) End(at int64) {
	t.now = at
	for id, s := range t.calls {
		t.finish(s, -1)
		delete(t.calls, id)
	}
}

// OnBegin implements h2.CallObserver.
func (t *tap) OnBegin(stream uint32, path string) {
	method := strings.TrimPrefix(strings.TrimPrefix(path, "/"), "etcdserverpb.")
	var s *observedStream
	if n := len(t.spare); n > 0 {
		s, t.spare = t.spare[n-1], t.spare[:n-1]
	} else {
		s = &observedStream{}
	}
	s.method, s.longLived = method, method == methodWatch || method == methodKeepAlive
	t.calls[stream] = s
}

// OnEnd implements h2.CallObserver.
func (t *tap) OnEnd(stream uint32, fromClient bool, status int) {
	s := t.calls[stream]
	if s == nil || fromClient && status >= 0 {
		return // the client has sent its request, and the reply is still to come
	}
	delete(t.calls, stream)
	t.finish(s, status)
	if len(t.spare) < maxKept && cap(s.unanswered) <= maxKept {
		*s = observedStream{unanswered: s.unanswered[:0]}
		t.spare = append(t.spare, s)
	}
}

// finish reports the calls on a stream that has ended. A negative status means that the stream
// ended without a reply.
func (t *tap) finish(s *observedStream, status int) {
	for _, c := range s.unanswered {
		switch {
		case status >= 0:
			c.Duration, c.Code, c.ReplySize = t.now-c.At, uint16(status), s.receivedBytes
		default:
			c.Duration = -1
		}
		t.deliver(c)
	}
	clear(s.unanswered)
	s.unanswered = s.unanswered[:0]
}

func (t *tap) deliver(c *call.Call) {
	t.cfg.Call(c)
	if len(t.free) < maxKept {
		t.free = append(t.free, c)
	}
}

// begin returns a new call. It reuses the memory of an ended call if possible.
func (t *tap) begin(stream uint32, s *observedStream, size int) *call.Call {
	var c *call.Call
	if n := len(t.free); n > 0 {
		c, t.free = t.free[n-1], t.free[:n-1]
		*c = call.Call{Parts: c.Parts[:0]}
	} else {
		c = &call.Call{}
	}
	c.At, c.Duration, c.Conn, c.Method, c.RequestSize = t.now, -1, t.cfg.Conn, s.method, size
	if s.longLived {
		c.Stream = stream
	}
	return c
}

// OnMessage implements h2.CallObserver.
func (t *tap) OnMessage(stream uint32, fromClient bool, body []byte, size int) {
	s := t.calls[stream]
	switch {
	case s == nil:
	case body == nil:
		t.cfg.Gap(call.Gap{At: t.now, Conn: t.cfg.Conn, MissingCalls: 1, Reason: "messages of " + s.method + " are compressed or too large, and were skipped"})
	case fromClient:
		c := t.begin(stream, s, size)
		t.reader.Call = c
		if !readRequest(&t.reader, s.method, body) {
			t.cfg.Gap(call.Gap{At: t.now, Conn: t.cfg.Conn, MissingCalls: 1, Reason: "requests of " + s.method + " are malformed protobuf or have too many parts"})
			return
		}
		s.unanswered = append(s.unanswered, c)
	case s.method == methodWatch:
		t.handleWatchResponse(stream, s, body, size)
	case s.method == methodKeepAlive:
		if c := t.popUnanswered(s); c != nil {
			c.Duration, c.ReplySize = t.now-c.At, size
			t.deliver(c)
		}
	case len(s.unanswered) > 0:
		s.receivedBytes += size
		a := tapAnswer{c: s.unanswered[0]}
		a.read(s.method, body)
	}
}

// popUnanswered removes and returns the oldest call without a reply, or returns nil if there is
// none.
func (t *tap) popUnanswered(s *observedStream) *call.Call {
	if len(s.unanswered) == 0 {
		return nil
	}
	c := s.unanswered[0]
	s.unanswered = append(s.unanswered[:0], s.unanswered[1:]...)
	return c
}

// handleWatchResponse handles a WatchResponse.
func (t *tap) handleWatchResponse(stream uint32, s *observedStream, body []byte, size int) {
	var created, canceled bool
	var id, revision, events int64
	for f := (fields{b: body}); f.next(); {
		switch f.tag {
		case message.HeaderTag:
			revision = headerRevision(f.v)
		case message.WatchIDTag:
			id = int64(f.n)
		case message.WatchCreatedTag:
			created = f.n != 0
		case message.WatchCanceledTag:
			canceled = f.n != 0
		case message.WatchEventTag:
			events++
		}
	}
	if events == 0 && (created || canceled || len(s.unanswered) > 0 && s.unanswered[0].Parts[0].Action == call.OtherAction) {
		// A cancellation that the client did not request is not a reply.
		if len(s.unanswered) > 0 && (s.unanswered[0].Parts[0].Action == call.Watch) == created {
			c := t.popUnanswered(s)
			c.Duration, c.ReplySize, c.Revision, c.Lease = t.now-c.At, size, revision, id+1
			if created && canceled {
				c.Code = watchRefused
			}
			t.deliver(c)
			return
		}
	}
	c := t.begin(stream, s, 0)
	c.Pushed, c.Duration, c.ReplySize, c.Revision, c.KeyCount, c.Lease = true, 0, size, revision, events, id+1
	t.deliver(c)
}

// watchRefused is the code that is recorded for a refused watcher, which has no gRPC status.
const watchRefused = 11 // OutOfRange, because usually the watcher's start revision was compacted

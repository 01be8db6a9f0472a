package etcd

import (
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// watch creates a watcher on one of the connection's Watch streams.
func (c *codec) watch(op *store.Op) {
	for int(op.Watch.Stream) >= len(c.watches) {
		c.watches = append(c.watches, watchStream{})
	}
	w := &c.watches[op.Watch.Stream]
	if op.Watch.RequestProgress {
		if w.id != 0 {
			c.request = message.AppendProgress(c.request[:0])
			c.sendOn(w.id)
		}
		return
	}
	if w.id == 0 {
		rpc := c.watchRPC
		if op.Watch.RequireLeader {
			rpc = c.ledWatchRPC
		}
		w.id = c.conn.OpenStream(rpc, op.Watch.Stream, uint8(c.gen<<genShift)|callWatch)
	}
	c.createWatcher(w.id, op.Key, op.Watch)
	w.creating = append(w.creating, creation{op.Tag, op.Watch.Watcher})
}

// createWatcher sends a WatchRequest that creates a watcher on the given stream.
func (c *codec) createWatcher(stream uint32, key []byte, op *store.WatchOp) {
	p := call.Part{Action: call.Watch, Number: max(op.Start, 0)}
	setInterval(&p, key, op.End)
	if op.ProgressNotifications {
		p.Flags |= call.Progress
	}
	if op.PrevKV {
		p.Flags |= call.PreviousValue
	}
	c.request = message.AppendWatch(c.request[:0], &p)
	c.sendOn(stream)
}

// cancelWatch abandons an operation that waits until its watcher is created. If the server
// creates the watcher later, the watcher's events are skipped.
func (c *codec) cancelWatch(tag uint32) {
	for i := range c.watches {
		w := &c.watches[i]
		for k := w.first; k < len(w.creating); k++ {
			if w.creating[k].tag == tag {
				w.creating[k] = creation{abandonedTag, noWatcher}
				return
			}
		}
	}
}

// watchReply handles a message on a Watch stream, or the stream's end.
func (c *codec) watchReply(r *h2.Reply, events []store.Event) ([]store.Event, error) {
	if r.End != h2.Message {
		return c.handleWatchEnd(r, events), nil
	}
	from := len(events)
	m := watchMessage{}
	events, ok := m.parse(c, r.Body, events)
	if !ok {
		return events[:from], errMalformed
	}
	w := &c.watches[r.Tag]
	switch {
	case m.created && len(events) > from:
		return events[:from], errors.New("the server sent events in the message that confirms the creation of a watcher")
	case m.created:
		return w.createdReply(&m, events)
	case m.id == -1 && len(events) == from && !m.canceled: // progress of all watchers
		for _, n := range w.watchers {
			if n != noWatcher {
				events = append(events, store.Event{Type: store.WatchProgress, Watcher: n, Revision: m.revision})
			}
		}
		return events, nil
	case m.id < 0 || m.id >= int64(len(w.watchers)):
		return events[:from], fmt.Errorf("the server sent an event for watcher %d, which does not exist", m.id)
	}
	n := w.watchers[m.id]
	if n == noWatcher {
		events = events[:from]
	}
	for i := from; i < len(events); i++ {
		e := &events[i]
		e.Watcher, e.Member, e.StoreRevision, e.Count = n, m.header.Member, m.revision, int64(i-from)
	}
	switch {
	case m.canceled:
		w.watchers[m.id] = noWatcher
		switch tag, asked := c.takeCancellation(n); {
		case tag == abandonedTag: // the operation was abandoned after it had requested the cancellation of the watcher
		case asked:
			events = append(events, store.Event{Tag: tag, Member: m.header.Member, Term: m.header.Term})
		case n != noWatcher:
			ended := store.Event{Type: store.WatchEnded, Watcher: n}
			ended.Outcome, ended.Text = m.cancellation()
			events = append(events, ended)
		}
	case len(events) == from && n != noWatcher:
		events = append(events, store.Event{Type: store.WatchProgress, Watcher: n, Revision: m.revision})
	}
	return events, nil
}

// dropFirst removes the first valid element, q[first], from the queue q. It returns the queue and
// the index of the next valid element. When at least half of q is unused, dropFirst moves the
// remaining elements to the front.
func dropFirst[T any](q []T, first int) ([]T, int) {
	if first++; 2*first < len(q) {
		return q, first
	}
	return q[:copy(q, q[first:])], 0
}

// createdReply ends the oldest operation that waits for the creation of its watcher.
func (w *watchStream) createdReply(m *watchMessage, events []store.Event) ([]store.Event, error) {
	if w.first == len(w.creating) {
		return events, fmt.Errorf("the server created a watcher that was not requested")
	}
	asked := w.creating[w.first]
	w.creating, w.first = dropFirst(w.creating, w.first)
	e := store.Event{Tag: asked.tag, Watcher: asked.watcher, Member: m.header.Member, Term: m.header.Term, Revision: m.revision}
	if m.canceled {
		e.Outcome, e.Text = m.cancellation()
	} else {
		if m.id < 0 || m.id >= maxWatchers {
			return events, fmt.Errorf("the server assigned the invalid number %d to a watcher", m.id)
		}
		for int64(len(w.watchers)) <= m.id {
			w.watchers = append(w.watchers, noWatcher)
		}
		w.watchers[m.id] = asked.watcher
	}
	if asked.tag != abandonedTag {
		events = append(events, e)
	}
	return events, nil
}

// handleWatchEnd handles the end of a Watch stream. It ends all watchers on the stream, and fails
// the operations that wait for the creation of their watchers.
func (c *codec) handleWatchEnd(r *h2.Reply, events []store.Event) []store.Event {
	w := &c.watches[r.Tag]
	var e store.Event
	c.setFailure(r, &e)
	if r.End == h2.Answered && r.Code == h2.StatusOK {
		e.Outcome, e.Text = kv.StoreError, []byte("the server closed the watch stream")
	}
	for _, asked := range w.creating[w.first:] {
		if asked.tag != abandonedTag {
			events = append(events, store.Event{Tag: asked.tag, Watcher: asked.watcher, Outcome: e.Outcome, Text: e.Text})
		}
	}
	for _, n := range w.watchers {
		if n != noWatcher {
			events = append(events, store.Event{Type: store.WatchEnded, Watcher: n, Outcome: e.Outcome, Text: e.Text})
		}
	}
	*w = watchStream{watchers: w.watchers[:0], creating: w.creating[:0]}
	return c.failCancellations(events, r)
}

// watchMessage holds the fields of a WatchResponse that the codec needs.
type watchMessage struct {
	id                int64
	created, canceled bool
	compacted         int64
	reason            []byte
	header            store.Event // only its member and term are used
	revision          int64       // the revision in the header
}

// parse parses a WatchResponse and appends the response's events to the slice `events`.
func (m *watchMessage) parse(c *codec, b []byte, events []store.Event) (_ []store.Event, ok bool) {
	var header, part []byte
	for i := 0; i < len(b); {
		ok := true
		var v uint64
		switch b[i] {
		case message.WatchEventTag:
			if part, i = getBytes(b, i+1); i > 0 {
				events = append(events, store.Event{Type: store.WatchChange})
				ok = parseWatchEvent(part, &events[len(events)-1])
			}
		case message.HeaderTag:
			header, i = getBytes(b, i+1)
		case message.WatchIDTag:
			v, i = getVarint(b, i+1)
			m.id = int64(v)
		case message.WatchCreatedTag:
			v, i = getVarint(b, i+1)
			m.created = v != 0
		case message.WatchCanceledTag:
			v, i = getVarint(b, i+1)
			m.canceled = v != 0
		case message.CompactRevisionTag:
			v, i = getVarint(b, i+1)
			m.compacted = int64(v)
		case message.CancelReasonTag:
			m.reason, i = getBytes(b, i+1)
		default:
			i = skipField(b, i)
		}
		if !ok || i < 0 {
			return events, false
		}
	}
	ok = c.parseHeader(header, &m.header)
	m.revision = c.extra.revision
	return events, ok
}

// parseWatchEvent parses an Event. Only the event's type shows whether the key was deleted. kine
// does not count versions, so its PUT events have version 0, and its DELETE events contain the last
// value.
func parseWatchEvent(b []byte, e *store.Event) bool {
	const deleted = 1
	var part []byte
	what := uint64(0)
	for i := 0; i < len(b); {
		switch b[i] {
		case message.EventTypeTag:
			if what, i = getVarint(b, i+1); i < 0 {
				return false
			}
		case message.EventKVTag:
			if part, i = getBytes(b, i+1); i < 0 || !parseKV(part, e) {
				return false
			}
		case message.EventPreviousTag:
			var before store.Event
			if part, i = getBytes(b, i+1); i < 0 || !parseKV(part, &before) {
				return false
			}
			e.PreviousValue, e.PreviousRevision = before.Value, before.Revision
		default:
			if i = skipField(b, i); i < 0 {
				return false
			}
		}
	}
	if what == deleted {
		e.Version, e.Value = 0, nil
	} else {
		e.Version = writtenVersion(e.Version)
	}
	return len(e.Key) > 0
}

// cancellation returns the outcome and the explanation for a watcher that the server cancelled.
func (m *watchMessage) cancellation() (kv.Outcome, []byte) {
	return WatchCancellation(m.compacted, m.reason)
}

// WatchCancellation returns the outcome for a watcher that the server cancelled, and a sentence
// that explains why the server cancelled it. The parameters are the compact_revision and the
// cancel_reason in the server's message.
func WatchCancellation(compacted int64, reason []byte) (kv.Outcome, []byte) {
	switch {
	case compacted > 0:
		return kv.BadRequest, fmt.Appendf(nil, "the server cancelled a watcher: its start revision is compacted (up to revision %d)", compacted)
	case len(reason) > 0:
		return OutcomeOf(codes.Unknown, reason), fmt.Appendf(nil, "the server cancelled a watcher: %s", strings.TrimPrefix(string(reason), "etcdserver: "))
	}
	return OutcomeOf(codes.Unknown, nil), []byte("the server cancelled a watcher and gave no reason")
}

// takeCancellation removes and returns the operation that requested the cancellation of a watcher.
// ok is false if there is no such operation; tag is abandonedTag if the operation was abandoned.
func (c *codec) takeCancellation(watcher uint32) (tag uint32, ok bool) {
	for i, e := range c.cancellations {
		if e.watcher == watcher {
			c.cancellations = append(c.cancellations[:i], c.cancellations[i+1:]...)
			return e.tag, true
		}
	}
	return 0, false
}

// abandonCancellation abandons an operation that waits until its watcher is cancelled.
func (c *codec) abandonCancellation(tag uint32) {
	for i := range c.cancellations {
		if c.cancellations[i].tag == tag {
			c.cancellations[i].tag = abandonedTag
		}
	}
}

// failCancellations fails the operations that wait for the cancellation of their watchers, because
// the watchers' stream has ended.
func (c *codec) failCancellations(events []store.Event, r *h2.Reply) []store.Event {
	for _, e := range c.cancellations {
		if e.tag != abandonedTag {
			events = append(events, store.Event{Tag: e.tag, Outcome: outcomeOfEnd(r.End), Text: r.Text})
		}
	}
	c.cancellations = c.cancellations[:0]
	return events
}

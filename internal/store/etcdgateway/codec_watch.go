package etcdgateway

import (
	"bytes"
	"errors"
	"fmt"

	"go.etcd.io/etcd/api/v3/mvccpb"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// maxMessage limits the size of a message for a watcher, in bytes. By default etcd does not
// split messages, so a watcher that catches up receives many events in one message.
const maxMessage = 64 << 20

// createWatcher sends a WatchRequest. The response has one message per line and does not end.
func (c *codec) createWatcher(op *store.Op) {
	m := watchRPC
	if op.Watch.RequireLeader {
		m = ledWatchRPC
	}
	b := append(appendName(c.body(m), "create_request"), '{')
	b = appendKey(b, op.Key)
	if len(op.Watch.End) > 0 {
		b = appendBytes(b, "range_end", op.Watch.End)
	}
	b = appendFlag(appendNonZero(b, "start_revision", op.Watch.Start), "prev_kv", op.Watch.PrevKV)
	b = appendFlag(b, "progress_notify", op.Watch.ProgressNotifications)
	c.send(m, appendEnd(appendEnd(b)))
	c.watch = watching{requested: true, number: op.Watch.Watcher, tag: op.Tag}
	c.Stream(c.handlePiece)
}

// handlePiece handles the next bytes of the response to a watch request.
func (c *codec) handlePiece(piece []byte) error {
	for {
		end := bytes.IndexByte(piece, '\n')
		if end < 0 {
			break
		}
		line := piece[:end]
		if len(c.messages) > 0 {
			var err error
			if c.messages, err = c.parts.Append(c.messages, line, 0); err != nil {
				return err
			}
			line = c.messages
			c.parts.Release(c.messages)
			c.messages = nil
		}
		piece = piece[end+1:]
		if err := c.message(line); err != nil {
			return err
		}
	}
	if len(c.messages)+len(piece) > maxMessage {
		return fmt.Errorf("the server sent a watch message of more than %d MiB", maxMessage>>20)
	}
	var err error
	if len(piece) > 0 {
		c.messages, err = c.parts.Append(c.messages, piece, 0)
	}
	return err
}

// message handles one message for the watcher.
func (c *codec) message(line []byte) error {
	if len(bytes.TrimSpace(line)) == 0 {
		return nil
	}
	var a reply
	from := len(c.events)
	s := httpkv.NewJSONScanner(line)
	if c.parse(&s, &a); !s.End() {
		c.events = c.events[:from]
		return errors.New(string(malformed))
	}
	w := &c.watch
	switch {
	case a.code != 0:
		c.events = c.events[:from]
		var e store.Event
		c.fail(&e, a.code, a.message)
		c.endWatcher(e)
	case a.canceled:
		c.events = c.events[:from]
		var e store.Event
		e.Outcome, e.Text = etcd.WatchCancellation(a.compacted, a.reason)
		c.endWatcher(e)
	case !w.created && !a.created:
		c.events = c.events[:from]
		return errors.New("the server sent watch events before it confirmed that the watcher was created")
	case a.created && (w.created || len(c.events) > from):
		c.events = c.events[:from]
		return errors.New("the server confirmed a watcher's creation twice, or in the same message as watch events")
	case a.created:
		if w.created = true; !w.finished {
			c.events = append(c.events, store.Event{Tag: w.tag, Watcher: w.number, Member: a.header.Member, Term: a.header.Term, Revision: a.revision})
		}
	case w.finished:
		c.events = c.events[:from]
	case len(c.events) == from:
		c.events = append(c.events, store.Event{Type: store.WatchProgress, Watcher: w.number, Revision: a.revision})
	default:
		for i := from; i < len(c.events); i++ {
			e := &c.events[i]
			e.Watcher, e.Member, e.StoreRevision, e.Count = w.number, a.header.Member, a.revision, int64(i-from)
		}
	}
	return nil
}

// parseWatchEvent parses an Event. Only the event's type decides whether the key was deleted. A
// missing type means PUT, because the gateway's JSON omits default values.
func (c *codec) parseWatchEvent(s *httpkv.JSONScanner) {
	e := store.Event{Type: store.WatchChange}
	deleted := false
	for ok := s.Object(); ok; {
		var name []byte
		if name, ok = s.Member(); !ok {
			break
		}
		switch string(name) {
		case "type":
			deleted = isDelete(s)
		case "kv":
			c.parseKV(s, &e)
		case "prev_kv":
			var before store.Event
			c.parseKV(s, &before)
			e.PreviousValue, e.PreviousRevision = before.Value, before.Revision
		default:
			s.Skip()
		}
	}
	if len(e.Key) == 0 {
		s.Fail()
		return
	}
	switch {
	case deleted:
		e.Version, e.Value = 0, nil
	case e.Version <= 0:
		e.Version = -1 // unknown, because the server does not count versions
	}
	c.events = append(c.events, e)
}

// isDelete scans an Event's type and reports whether it is DELETE. In JSON, the type is a name or
// a number.
func isDelete(s *httpkv.JSONScanner) bool {
	if !s.IsString() {
		return s.Int() == int64(mvccpb.Event_DELETE)
	}
	var room [16]byte
	name, _ := s.String(room[:0])
	return string(name) == mvccpb.Event_DELETE.String()
}

// endWatcher appends the event e, which reports that the watcher has ended or could not be
// created. It appends only one such event.
func (c *codec) endWatcher(e store.Event) {
	w := &c.watch
	if e.Watcher, e.Tag = w.number, w.tag; w.created {
		e.Type, e.Tag = store.WatchEnded, 0
	}
	if !w.finished {
		c.events = append(c.events, e)
	}
	w.finished = true // append no more events for this watcher
}

// watchEnded handles the end of the response to a watch request. A response that is not an error
// response should not end. After the end of the response, the connection can be used again.
func (c *codec) watchEnded(r *http1.Response, events []store.Event) []store.Event {
	var e store.Event
	if e.Outcome, e.Text = kv.StoreError, []byte("the server ended the watch stream"); r.Status != 200 {
		c.setFailure(r, &e)
	}
	c.events = events
	c.endWatcher(e)
	events, c.events = c.events, nil
	c.watch = watching{}
	c.parts.Release(c.messages)
	c.messages = nil
	return events
}

// watchLost handles the loss of a watcher's connection. It reports nothing for a watcher that was
// already created, because the engine re-creates that watcher.
func (c *codec) watchLost(end http1.End, events []store.Event) []store.Event {
	w := &c.watch
	if end == http1.Nothing || w.finished || w.created {
		return events
	}
	outcome := kv.ConnectionLost
	if end == http1.NotSent {
		outcome = kv.NotSent
	}
	return append(events, store.Event{Tag: w.tag, Watcher: w.number, Outcome: outcome})
}

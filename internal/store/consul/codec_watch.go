package consul

import (
	"bytes"
	"cmp"
	"strconv"
	"time"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// A watcher is a blocking query that the codec repeats with the index of the previous response
// (https://developer.hashicorp.com/consul/api-docs/features/blocking). A watcher reports the
// current state of a key, or of the keys with a prefix, but may miss writes between two responses.

// Times for blocking queries. Consul adds up to a sixteenth of the wait, so that the queries do not
// all return at the same time.
const (
	defaultWait = 5 * time.Minute // Consul's default if a query has no wait
	waitJitter  = 16
	// overdue is the maximum delay of a response after the end of the query's wait. If a response
	// is later, the connection counts as dead.
	overdue = 10 * time.Second
)

func (s *keyVersions) reset() { s.bytes, s.ends, s.mods = s.bytes[:0], s.ends[:0], s.mods[:0] }

func (s *keyVersions) add(key []byte, mod int64) {
	s.bytes = append(s.bytes, key...)
	s.ends, s.mods = append(s.ends, len(s.bytes)), append(s.mods, mod)
}

func (s *keyVersions) key(i int) []byte {
	from := 0
	if i > 0 {
		from = s.ends[i-1]
	}
	return s.bytes[from:s.ends[i]]
}

// Watch implements httpkv.API. If this codec, or the codec that it replaces, already had the same
// watcher, the watcher continues from the last known state, even after failed queries.
func (c *codec) Watch(op *store.Op) {
	w, key := &c.watch, httpkv.TrimSlash(op.Key)
	w.queries++
	if w.hasKnown && w.watcher == op.Watch.Watcher && op.Watch.Start > 0 && w.service == op.Watch.Service && w.holder == op.Watch.WatchesLock && bytes.Equal(w.key, key) && bytes.Equal(w.end, op.Watch.End) {
		w.tag, w.creationReported, w.ended, w.index, w.wait = op.Tag, false, false, 0, op.Watch.QueryWait
		c.sendQuery()
		return
	}
	w.knownKeys.reset()
	*w = watcherState{
		watcher: op.Watch.Watcher, tag: op.Tag, service: op.Watch.Service, holder: op.Watch.WatchesLock, wait: op.Watch.QueryWait, start: op.Watch.Start, queries: w.queries, knownKeys: w.knownKeys, nextKeys: w.nextKeys,
		key: append(w.key[:0], key...), end: append(w.end[:0], httpkv.TrimSlash(op.Watch.End)...),
	}
	c.sendQuery()
}

// sendQuery sends the watcher's next query. The server responds at once to the first query, and to
// the query after a decrease of the index.
func (c *codec) sendQuery() {
	w := &c.watch
	b := c.Begin(c.get)
	switch {
	case w.service:
		b = append(http1.AppendPath(c.Begin(c.health), w.key), "?passing"...)
	case len(w.end) > 0:
		c.From, c.To = append(c.From[:0], w.key...), append(c.To[:0], w.end...)
		c.prefix = commonPrefix(c.From, c.To)
		b = append(http1.AppendPath(b, c.prefix), "?recurse"...)
	case w.holder:
		b = append(http1.AppendPath(b, w.key), '?')
	default:
		b = append(http1.AppendPath(b, w.key), "?raw"...)
	}
	if w.index > 0 {
		b = append(b, "&index="...)
		b = strconv.AppendInt(b, w.index, 10)
		if wait := cmp.Or(w.wait, c.QueryWait); wait > 0 {
			b = append(b, "&wait="...)
			b = strconv.AppendInt(b, wait.Milliseconds(), 10)
			b = append(b, "ms"...)
		}
	}
	c.Send(c.Head(b))
}

// HandleWatchResponse implements httpkv.API.
func (c *codec) HandleWatchResponse(r *http1.Response, events []store.Event) []store.Event {
	w := &c.watch
	if w.ended {
		return events
	}
	w.queries++
	var wrong store.Event
	from := len(events)
	if r.Status != 200 && (r.Status != 404 || len(r.Body) > 0) {
		wrong.Outcome, wrong.Text = c.FailureOutcome(r)
	} else {
		if !w.creationReported {
			events = append(events, store.Event{Tag: w.tag, Watcher: w.watcher, Revision: max(int64(r.Uint(fieldIndex)), 1)})
		}
		events = c.appendChanges(r, events, &wrong)
	}
	if wrong.Outcome.Failed() {
		events = events[:from]
		wrong.Tag, wrong.Watcher = w.tag, w.watcher
		if wrong.Type = store.OperationDone; w.creationReported {
			wrong.Type = store.WatchEnded
		}
		w.ended = true
		return append(events, wrong)
	}
	w.creationReported, w.hasKnown = true, true
	w.knownKeys, w.nextKeys = w.nextKeys, w.knownKeys
	index := max(int64(r.Uint(fieldIndex)), 1)
	if index >= w.start {
		w.start = 0
	}
	// Start over if the index decreases, for example because a snapshot was restored.
	if index < w.index {
		w.index = 0
	} else {
		w.index = index
	}
	if c.Idle() {
		c.sendQuery()
	}
	return events
}

// appendChanges appends an event for each key that has changed according to a response.
func (c *codec) appendChanges(r *http1.Response, events []store.Event, failure *store.Event) []store.Event {
	w, index := &c.watch, int64(r.Uint(fieldIndex))
	c.buf = c.buf[:0]
	w.nextKeys.reset()
	switch {
	case index <= 0:
		c.setWrongResponse(failure, noIndex)
	case w.service && r.Status == 200:
		return c.appendServiceChanges(r.Body, index, events, failure)
	case r.Status == 404:
	case len(w.end) > 0:
		return c.appendPrefixChanges(r.Body, index, events, failure)
	case w.holder:
		return c.appendHolderChange(r.Body, events, failure)
	default:
		if w.nextKeys.add(w.key, index); w.isChanged(0, w.key, index) {
			events = append(events, c.event(w.key, r.Body, index, 1))
		}
		return events
	}
	events, _ = c.appendDeletions(events, 0, nil, index)
	return events
}

// isChanged reports whether a key's ModifyIndex differs from the known one. i is the position in
// w.knownKeys to compare with. A ModifyIndex below the watcher's start never counts as a change,
// because a new leader may at first know less than the previous leader.
func (w *watcherState) isChanged(i int, key []byte, mod int64) bool {
	if !w.hasKnown {
		return w.start > 0 && mod >= w.start
	}
	return mod >= w.start && (!w.isKnownAt(i, key) || w.knownKeys.mods[i] != mod)
}

// isKnownAt reports whether key is the known key at position i.
func (w *watcherState) isKnownAt(i int, key []byte) bool {
	return w.hasKnown && i < len(w.knownKeys.ends) && bytes.Equal(w.knownKeys.key(i), key)
}

// event returns the watch event for a key.
func (c *codec) event(key, value []byte, index, version int64) store.Event {
	e := store.Event{Type: store.WatchChange, Watcher: c.watch.watcher, Value: value, Revision: index, Version: version}
	e.Key, c.buf = c.RestoreSlash(c.buf, key)
	return e
}

// appendDeletions appends deletion events for known keys that the response does not contain. It
// starts at position i of the known keys. It stops at the first key that is not less than limit or,
// if limit is nil, after the last key. It returns the position at which it stopped. If the response
// is older than the first requested index, appendDeletions appends no events.
func (c *codec) appendDeletions(events []store.Event, i int, limit []byte, index int64) ([]store.Event, int) {
	w := &c.watch
	for ; w.hasKnown && i < len(w.knownKeys.ends); i++ {
		key := w.knownKeys.key(i)
		if limit != nil && bytes.Compare(key, limit) >= 0 {
			break
		}
		if index >= w.start {
			events = append(events, c.event(key, nil, index, 0))
		}
	}
	return events, i
}

// appendPrefixChanges handles a response with the keys that have a prefix.
func (c *codec) appendPrefixChanges(body []byte, index int64, events []store.Event, failure *store.Event) []store.Event {
	w := &c.watch
	s, at := httpkv.NewJSONScanner(body), 0
	for more := s.Array(); more && s.Element(); {
		bufLen := len(c.buf)
		var k entry
		c.parseEntry(&s, &k)
		switch {
		case !s.OK(): // the error is reported after the loop
		case !bytes.HasPrefix(k.key, c.prefix):
			c.setWrongResponse(failure, strayKey)
			return events
		case k.index <= 0:
			c.setWrongResponse(failure, noIndex)
			return events
		}
		if !s.OK() || !c.Contains(k.key) {
			c.buf = c.buf[:bufLen]
			continue
		}
		if n := len(w.nextKeys.ends); n > 0 && bytes.Compare(w.nextKeys.key(n-1), k.key) >= 0 {
			c.setWrongResponse(failure, unsortedList)
			return events
		}
		w.nextKeys.add(k.key, k.index)
		events, at = c.appendDeletions(events, at, k.key, index)
		news := w.isChanged(at, k.key, k.index)
		if w.isKnownAt(at, k.key) {
			at++
		}
		if !news {
			continue
		}
		value, ok := c.decode(k.value)
		if !ok {
			c.setMalformed(failure)
			return events
		}
		events = append(events, c.event(k.key, value, k.index, 1))
	}
	if !s.End() {
		c.setMalformed(failure)
		return events
	}
	events, _ = c.appendDeletions(events, at, nil, index)
	return events
}

// appendHolderChange handles a response with the key of a watched lock.
func (c *codec) appendHolderChange(body []byte, events []store.Event, failure *store.Event) []store.Event {
	w := &c.watch
	s, n := httpkv.NewJSONScanner(body), 0
	var k entry
	if s.Array() {
		for ; s.Element(); n++ {
			c.parseEntry(&s, &k)
		}
	}
	value, ok := c.decode(k.value)
	switch {
	case !s.End() || n != 1 || !ok:
		c.setMalformed(failure)
		return events
	case !bytes.Equal(k.key, w.key):
		c.setWrongResponse(failure, strayKey)
		return events
	case k.index <= 0:
		c.setWrongResponse(failure, noIndex)
		return events
	}
	if w.nextKeys.add(w.key, k.index); !w.isChanged(0, w.key, k.index) {
		return events
	}
	e := c.event(w.key, value, k.index, 1)
	e.PreviousValue, e.PreviousRevision = k.session, k.lockIndex
	return append(events, e)
}

// takeOver moves the watcher, with the state that it knows, to this codec. previous is the
// watcher's codec, whose connection was lost.
func (c *codec) takeOver(previous store.Codec) {
	p, ok := previous.(*codec)
	if !ok || !p.watch.hasKnown {
		return
	}
	c.watch = p.watch
	c.watch.creationReported = true
	p.watch = watcherState{}
}

// Tick implements store.Codec. It marks the connection as dead if the response to a query is
// overdue. While the connection has no watcher, Tick does not know how long a watcher's queries
// will wait, so it must be called again soon.
func (c *codec) Tick(now int64) (next int64) {
	if c.Purpose.IsWatch() && !c.Idle() && c.lastTick > 0 && c.watch.queries == c.queriesAtTick {
		c.queryOverdue = true
	}
	c.lastTick, c.queriesAtTick = now, c.watch.queries
	if !c.Purpose.IsWatch() {
		// The calls for all connections are due at the same times, because an event loop looks
		// through all its connections whenever one call is due.
		return (now/int64(overdue) + 1) * int64(overdue)
	}
	wait := cmp.Or(c.watch.wait, c.QueryWait, defaultWait)
	return now + int64(wait+wait/waitJitter+overdue)
}

// Draining implements store.Codec.
func (c *codec) Draining() bool { return c.queryOverdue || c.Codec.Draining() }

var _ httpkv.API = (*codec)(nil)

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
// current state of a key, or of the keys with a prefix, but may miss writes in between.

// Times for blocking queries. Consul adds up to a sixteenth of the wait, so that the queries do not
// all return at the same time.
const (
	defaultWait = 5 * time.Minute // Consul's default if a query has no wait
	waitJitter  = 16
	// overdue is the maximum delay of a response after the end of the query's wait. If a response
	// is later, the connection counts as dead.
	overdue = 10 * time.Second
)

func (s *seenKeys) reset() { s.bytes, s.ends, s.mods = s.bytes[:0], s.ends[:0], s.mods[:0] }

func (s *seenKeys) add(key []byte, mod int64) {
	s.bytes = append(s.bytes, key...)
	s.ends, s.mods = append(s.ends, len(s.bytes)), append(s.mods, mod)
}

func (s *seenKeys) key(i int) []byte {
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
	if w.knows && w.watcher == op.Watch.Watcher && op.Watch.Start > 0 && w.service == op.Watch.Service && w.holder == op.Watch.Holder && bytes.Equal(w.key, key) && bytes.Equal(w.end, op.Watch.End) {
		w.tag, w.begun, w.ended, w.index, w.wait = op.Tag, false, false, 0, op.Watch.Wait
		c.sendQuery()
		return
	}
	w.known.reset()
	*w = watched{
		watcher: op.Watch.Watcher, tag: op.Tag, service: op.Watch.Service, holder: op.Watch.Holder, wait: op.Watch.Wait, start: op.Watch.Start, queries: w.queries, known: w.known, next: w.next,
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
		c.prefix = prefixOf(c.From, c.To)
		b = append(http1.AppendPath(b, c.prefix), "?recurse"...)
	case w.holder:
		b = append(http1.AppendPath(b, w.key), '?')
	default:
		b = append(http1.AppendPath(b, w.key), "?raw"...)
	}
	if w.index > 0 {
		b = append(b, "&index="...)
		b = strconv.AppendInt(b, w.index, 10)
		if wait := cmp.Or(w.wait, c.Wait); wait > 0 {
			b = append(b, "&wait="...)
			b = strconv.AppendInt(b, wait.Milliseconds(), 10)
			b = append(b, "ms"...)
		}
	}
	c.Send(c.Head(b))
}

// WatchAnswered implements httpkv.API.
func (c *codec) WatchAnswered(r *http1.Response, to []store.Event) []store.Event {
	w := &c.watch
	if w.ended {
		return to
	}
	w.queries++
	var wrong store.Event
	from := len(to)
	if r.Status != 200 && (r.Status != 404 || len(r.Body) > 0) {
		wrong.Outcome, wrong.Text = c.Failed(r)
	} else {
		if !w.begun {
			to = append(to, store.Event{Tag: w.tag, Watcher: w.watcher, Revision: max(int64(r.Uint(fieldIndex)), 1)})
		}
		to = c.changes(r, to, &wrong)
	}
	if wrong.Outcome.Failed() {
		to = to[:from]
		wrong.Tag, wrong.Watcher = w.tag, w.watcher
		if wrong.What = store.Done; w.begun {
			wrong.What = store.Ended
		}
		w.ended = true
		return append(to, wrong)
	}
	w.begun, w.knows = true, true
	w.known, w.next = w.next, w.known
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
	return to
}

// changes appends an event for each key that has changed according to a response.
func (c *codec) changes(r *http1.Response, to []store.Event, wrong *store.Event) []store.Event {
	w, index := &c.watch, int64(r.Uint(fieldIndex))
	c.buf = c.buf[:0]
	w.next.reset()
	switch {
	case index <= 0:
		c.wrong(wrong, noIndex)
	case w.service && r.Status == 200:
		return c.changesOfService(r.Body, index, to, wrong)
	case r.Status == 404:
	case len(w.end) > 0:
		return c.changesOf(r.Body, index, to, wrong)
	case w.holder:
		return c.changeOfHolder(r.Body, to, wrong)
	default:
		if w.next.add(w.key, index); w.news(0, w.key, index) {
			to = append(to, c.event(w.key, r.Body, index, 1))
		}
		return to
	}
	to, _ = c.appendGone(to, 0, nil, index)
	return to
}

// news reports whether a key's ModifyIndex differs from the known one. i is the position in w.known
// to compare with. A ModifyIndex below the watcher's start is never news, because a new leader may
// at first know less than the previous leader.
func (w *watched) news(i int, key []byte, mod int64) bool {
	if !w.knows {
		return w.start > 0 && mod >= w.start
	}
	return mod >= w.start && (!w.knew(i, key) || w.known.mods[i] != mod)
}

// knew reports whether key is the known key at position i.
func (w *watched) knew(i int, key []byte) bool {
	return w.knows && i < len(w.known.ends) && bytes.Equal(w.known.key(i), key)
}

// event returns the watch event for a key.
func (c *codec) event(key, value []byte, index, version int64) store.Event {
	e := store.Event{What: store.Notify, Watcher: c.watch.watcher, Value: value, Revision: index, Version: version}
	e.Key, c.buf = c.AsSpelled(c.buf, key)
	return e
}

// appendGone appends deletion events for known keys that the response does not contain. It starts
// at position i of the known keys. It stops at the first key that is not less than limit or, if
// limit is nil, after the last key. It returns the position at which it stopped. If the response is
// older than the first requested index, appendGone appends no events.
func (c *codec) appendGone(to []store.Event, i int, limit []byte, index int64) ([]store.Event, int) {
	w := &c.watch
	for ; w.knows && i < len(w.known.ends); i++ {
		key := w.known.key(i)
		if limit != nil && bytes.Compare(key, limit) >= 0 {
			break
		}
		if index >= w.start {
			to = append(to, c.event(key, nil, index, 0))
		}
	}
	return to, i
}

// changesOf handles a response with the keys that have a prefix.
func (c *codec) changesOf(body []byte, index int64, to []store.Event, wrong *store.Event) []store.Event {
	w := &c.watch
	s, at := httpkv.NewJSONScanner(body), 0
	for more := s.Array(); more && s.Element(); {
		kept := len(c.buf)
		var k entry
		c.parseEntry(&s, &k)
		switch {
		case !s.OK(): // the error is reported after the loop
		case !bytes.HasPrefix(k.key, c.prefix):
			c.wrong(wrong, stray)
			return to
		case k.index <= 0:
			c.wrong(wrong, noIndex)
			return to
		}
		if !s.OK() || !c.Contains(k.key) {
			c.buf = c.buf[:kept]
			continue
		}
		if n := len(w.next.ends); n > 0 && bytes.Compare(w.next.key(n-1), k.key) >= 0 {
			c.wrong(wrong, unsorted)
			return to
		}
		w.next.add(k.key, k.index)
		to, at = c.appendGone(to, at, k.key, index)
		news := w.news(at, k.key, k.index)
		if w.knew(at, k.key) {
			at++
		}
		if !news {
			continue
		}
		value, ok := c.decode(k.value)
		if !ok {
			c.malformed(wrong)
			return to
		}
		to = append(to, c.event(k.key, value, k.index, 1))
	}
	if !s.End() {
		c.malformed(wrong)
		return to
	}
	to, _ = c.appendGone(to, at, nil, index)
	return to
}

// changeOfHolder handles a response with the key of a watched lock.
func (c *codec) changeOfHolder(body []byte, to []store.Event, wrong *store.Event) []store.Event {
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
		c.malformed(wrong)
		return to
	case !bytes.Equal(k.key, w.key):
		c.wrong(wrong, stray)
		return to
	case k.index <= 0:
		c.wrong(wrong, noIndex)
		return to
	}
	if w.next.add(w.key, k.index); !w.news(0, w.key, k.index) {
		return to
	}
	e := c.event(w.key, value, k.index, 1)
	e.Before, e.BeforeRevision = k.session, k.lockIndex
	return append(to, e)
}

// takeOver moves the watcher, with the state that it knows, to this codec. previous is the
// watcher's codec, whose connection was lost.
func (c *codec) takeOver(previous store.Codec) {
	p, ok := previous.(*codec)
	if !ok || !p.watch.knows {
		return
	}
	c.watch = p.watch
	c.watch.begun = true
	p.watch = watched{}
}

// Tick implements store.Codec. It marks the connection as dead if the response to a query is
// overdue.
func (c *codec) Tick(now int64) (next int64) {
	wait := cmp.Or(c.watch.wait, c.Wait, defaultWait)
	if c.Purpose.IsWatch() && !c.Idle() && c.ticked > 0 && c.watch.queries == c.atTick {
		c.dead = true
	}
	c.ticked, c.atTick = now, c.watch.queries
	return now + int64(wait+wait/waitJitter+overdue)
}

// Draining implements store.Codec.
func (c *codec) Draining() bool { return c.dead || c.Codec.Draining() }

var _ httpkv.API = (*codec)(nil)

package consul

import (
	"bytes"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

var _ httpkv.API = (*codec)(nil)

// An optimistic transaction reads its keys with one request to /v1/txn and writes values with a
// second request. The second request contains check-index operations, which fail if a key's version
// has changed since the read. If the transaction has a lock, the lock is a key that a session
// acquires (https://developer.hashicorp.com/consul/docs/automate/session). A client that fails to
// acquire the lock waits with a blocking query on the key, as Consul's own client does.

// STM implements httpkv.API.
func (c *codec) STM(op *store.Op) {
	t := &c.stm
	pairs := t.pairs[:0]
	for i := range op.STM.Pairs {
		if len(pairs) < cap(pairs) {
			pairs = pairs[:i+1]
		} else {
			pairs = append(pairs, stmPair{})
		}
		p := &pairs[i]
		from := &op.STM.Pairs[i]
		p.key, p.value = append(p.key[:0], httpkv.TrimSlash(from.Key)...), append(p.value[:0], from.Value...)
		p.writes = from.Value != nil
	}
	*t = stm{
		open: true, pairs: pairs, isolation: op.STM.Isolation, edit: op.STM.Edit, observer: op.STM.Observer, text: t.text[:0],
		lock: append(t.lock[:0], httpkv.TrimSlash(op.STM.Lock)...), session: append(t.session[:0], op.LeaseName...),
	}
	t.needsCommit = t.isolation > kv.ReadCommitted
	for i := range pairs {
		t.needsCommit = t.needsCommit || pairs[i].writes
	}
	if len(t.lock) > 0 {
		c.startStage(acquiring)
		return
	}
	c.startStage(reading)
}

const (
	// lockWait is how long a blocking query on a lock waits while another client holds the lock. It
	// is longer than the default timeout of an operation. After this time, the codec tries to
	// acquire the lock again.
	lockWait = "60s"
	// delayPause is how long a blocking query on a lock waits if the lock has no holder but could
	// not be acquired, for example during a lock-delay. The next attempt follows after this pause.
	delayPause = "1s"
)

// startStage starts a stage: it sends the stage's request.
func (c *codec) startStage(next stage) {
	t := &c.stm
	switch t.stage = next; next {
	case acquiring:
		b := append(http1.AppendPath(c.Begin(c.put), t.lock), "?acquire="...)
		c.Send(c.Head(http1.AppendForm(b, t.session)))
	case confirming, readingHolder:
		c.Send(c.Head(append(http1.AppendPath(c.Begin(c.get), t.lock), "?consistent"...)))
	case awaitingRelease, pausing:
		b := append(http1.AppendPath(c.Begin(c.get), t.lock), "?index="...)
		b = append(strconv.AppendInt(b, t.index, 10), "&wait="...)
		if next == awaitingRelease {
			b = append(b, lockWait...)
		} else {
			b = append(b, delayPause...)
		}
		c.Send(c.Head(b))
	case reading:
		b := append(c.Head(c.Begin(c.multi)), '[')
		for i := range t.pairs {
			b = append(appendVerb(b, i, "get-or-empty", t.pairs[i].key), `}}`...)
		}
		c.Send(append(b, ']'))
	case committing:
		c.commit()
	case releasing:
		b := append(http1.AppendPath(c.Begin(c.put), t.lock), "?release="...)
		c.Send(c.Head(http1.AppendForm(b, t.session)))
	}
}

// commit sends the request that writes the values. The write fails if the version of a key has
// changed since the read.
func (c *codec) commit() {
	t, n := &c.stm, 0
	b := append(c.Head(c.Begin(c.multi)), '[')
	for i := range t.pairs {
		p := &t.pairs[i]
		switch {
		case t.isolation <= kv.ReadCommitted:
			continue
		case p.version == 0:
			b = append(appendVerb(b, n, "check-not-exists", p.key), `}}`...)
		default:
			b = append(appendIndex(appendVerb(b, n, "check-index", p.key), p.version), `}}`...)
		}
		n++
	}
	for i := range t.pairs {
		p := &t.pairs[i]
		if !p.writes {
			continue
		}
		value := p.value
		if t.edit != nil {
			c.edited = t.edit(i, p.value, p.readValue, c.edited[:0])
			value = c.edited
		}
		b = append(appendValue(appendVerb(b, n, "set", p.key), value), `}}`...)
		n++
	}
	c.Send(append(b, ']'))
}

// HandleSTMResponse implements httpkv.API.
func (c *codec) HandleSTMResponse(r *http1.Response, events []store.Event) []store.Event {
	t := &c.stm
	next := ended
	switch {
	case t.abandoned:
	case r.Late && len(t.lock) > 0 && t.stage != releasing:
		t.abandoned, next = true, releasing // release the lock, because the request may have acquired it
	case r.Late:
		t.abandoned = true
	default:
		events, next = c.handleStageReply(r, events)
	}
	switch {
	case next != ended && c.Idle():
		c.ExtraRequests++
		c.startStage(next)
		return events
	case t.abandoned:
		t.open = false
		return append(events, store.Event{Tag: c.Tag, Type: store.LateResponse})
	case next != ended && next != releasing: // the server closes the connection, so the next request cannot be sent
		t.fail(kv.NotSent, []byte("the server closes the connection"))
	}
	t.open = false
	e := t.result
	e.Tag, e.ExtraRequests, e.Retries = c.Tag, c.ExtraRequests, t.retries
	return append(events, e)
}

// handleStageReply handles the response in the current stage and returns the next stage.
func (c *codec) handleStageReply(r *http1.Response, events []store.Event) ([]store.Event, stage) {
	t := &c.stm
	switch t.stage {
	case acquiring:
		switch {
		case r.Status != 200:
			t.fail(c.FailureOutcome(r))
		case isTrue(r.Body):
			t.holdsLock = true
			return events, confirming
		default:
			return events, readingHolder
		}
		return events, ended
	case confirming, readingHolder, awaitingRelease, pausing:
		return c.handleLockState(r, events)
	case reading:
		if next := c.handleReads(r); next != ended {
			return events, next
		}
	case committing:
		if next := c.handleCommit(r); next != ended {
			return events, next
		}
	default:
		if !isTrue(r.Body) && !t.result.Outcome.Failed() {
			t.fail(kv.StoreError, []byte("the transaction lost its lock before it could release the lock"))
		}
		return events, ended
	}
	if t.holdsLock {
		events = append(events, store.Event{Type: store.LockReleasing, Tag: c.Tag})
	}
	return events, t.endingStage()
}

func isTrue(body []byte) bool { return string(bytes.TrimSpace(body)) == "true" }

// handleLockState handles a response with the state of the lock's key. LockIndex increases with
// each new holder, so it is used as the fencing token.
func (c *codec) handleLockState(r *http1.Response, events []store.Event) ([]store.Event, stage) {
	t := &c.stm
	var found entry
	exists := r.Status == 200
	switch {
	case !exists && (r.Status != 404 || len(r.Body) > 0):
		t.fail(c.FailureOutcome(r))
		return events, t.endingStage()
	case exists && !c.parseLock(r.Body, &found):
		t.fail(kv.StoreError, []byte("the server's response about the lock does not have the form of a Consul response"))
		return events, t.endingStage()
	}
	ours := exists && bytes.Equal(found.session, t.session) && len(t.session) > 0
	switch {
	case ours && t.stage == confirming:
		return append(events, store.Event{Type: store.LockAcquired, Tag: c.Tag, Revision: found.lockIndex}), reading
	case t.stage != readingHolder: // the lock may be free now
		t.holdsLock = false
		return events, acquiring
	case exists && len(found.session) > 0 && !ours:
		t.index = max(int64(r.Uint(fieldIndex)), 1)
		return events, awaitingRelease
	}
	t.index = max(int64(r.Uint(fieldIndex)), 1)
	return events, pausing
}

// endingStage returns the stage that ends a transaction: releasing if the transaction holds the
// lock, and otherwise ended.
func (t *stm) endingStage() stage {
	if t.holdsLock {
		return releasing
	}
	return ended
}

// parseLock parses the response to a read of the lock's key. The response must be a list with one
// entry.
func (c *codec) parseLock(body []byte, to *entry) bool {
	c.buf = c.buf[:0]
	s, n := httpkv.NewJSONScanner(body), 0
	if s.Array() {
		for ; s.Element(); n++ {
			c.parseEntry(&s, to)
		}
	}
	return s.End() && n == 1
}

// handleReads handles the response to the transaction's read request.
func (c *codec) handleReads(r *http1.Response) stage {
	t := &c.stm
	if r.Status != 200 {
		if t.fail(c.FailureOutcome(r)); !t.result.Outcome.Definite() {
			t.result.Outcome = kv.NotSent // nothing was written; the text describes the read error
		}
		return ended
	}
	c.buf = c.buf[:0]
	i := 0
	ok := eachResult(r.Body, func(s *httpkv.JSONScanner) bool {
		var found entry
		c.parseEntry(s, &found)
		if i >= len(t.pairs) || s.OK() && !bytes.Equal(found.key, t.pairs[i].key) {
			return false
		}
		p := &t.pairs[i]
		p.version = found.index
		if p.readValue = nil; t.edit != nil && found.index > 0 {
			var whole bool
			if p.readValue, whole = c.decode(found.value); !whole {
				return false
			}
		}
		i++
		return true
	})
	switch {
	case !ok || i != len(t.pairs):
		t.fail(kv.StoreError, []byte("the server's response does not contain the keys of the transaction in their order"))
		return ended
	case t.needsCommit:
		return committing
	}
	c.reportCommit()
	return ended
}

// handleCommit handles the response to the commit request.
func (c *codec) handleCommit(r *http1.Response) stage {
	t := &c.stm
	switch {
	case r.Status == 409 && (bytes.Contains(r.Body, []byte("failed index check")) || bytes.Contains(r.Body, []byte("failed to check index")) || bytes.Contains(r.Body, []byte(" exists"))):
		t.retries++
		return reading
	case r.Status != 200:
		t.fail(c.FailureOutcome(r))
		return ended
	}
	c.buf = c.buf[:0]
	if !eachResult(r.Body, func(s *httpkv.JSONScanner) bool {
		s.Skip()
		return true
	}) {
		t.fail(kv.StoreError, []byte("the server's response to the transaction does not have the form of a Consul response"))
		return ended
	}
	c.reportCommit()
	return ended
}

// reportCommit reports the committed transaction to t.observer and sets the result.
func (c *codec) reportCommit() {
	t := &c.stm
	t.result = store.Event{}
	for i := range t.pairs {
		if t.pairs[i].writes {
			t.result.Count++
		}
		if t.observer != nil {
			t.observer.Read(c.Tag, t.pairs[i].version)
		}
	}
	if t.observer != nil {
		t.observer.Committed(c.Tag, 0, 0)
	}
}

// eachResult calls the function do for each key in the response to a transaction. It returns false
// if the response is malformed or if that function returns false.
func eachResult(body []byte, do func(*httpkv.JSONScanner) bool) bool {
	s := httpkv.NewJSONScanner(body)
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		if string(name) != "Results" || s.Null() {
			if string(name) != "Results" {
				s.Skip()
			}
			continue
		}
		for more := s.Array(); more && s.Element(); {
			for more := s.Object(); more; {
				name, ok := s.Member()
				if !ok {
					break
				}
				if string(name) != "KV" {
					s.Skip()
				} else if !do(&s) {
					return false
				}
			}
		}
	}
	return s.End()
}

// fail sets the transaction's outcome and text.
func (t *stm) fail(outcome kv.Outcome, text []byte) {
	t.text = append(t.text[:0], text...)
	t.result = store.Event{Outcome: outcome, Text: t.text}
}

// STMLost implements httpkv.API. If the transaction was already committed, its outcome stays OK
// even if the lock was not released. If the lock was not released, the session's next transaction
// starts while the session still holds the lock.
func (c *codec) STMLost(written bool, events []store.Event) []store.Event {
	t := &c.stm
	e := t.result
	switch {
	case t.abandoned || !t.open:
		return events
	case t.stage == committing && written:
		e = store.Event{Outcome: kv.ConnectionLost}
	case t.stage != releasing:
		e = store.Event{Outcome: kv.NotSent}
	}
	t.open = false
	e.Tag, e.ExtraRequests, e.Retries = c.Tag, c.ExtraRequests, t.retries
	return append(events, e)
}

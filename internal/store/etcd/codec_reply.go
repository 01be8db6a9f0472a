package etcd

import (
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// event appends the event for the reply to an operation.
func (c *codec) event(r *h2.Reply, events []store.Event) ([]store.Event, error) {
	events = append(events, store.Event{Tag: r.Tag})
	e := &events[len(events)-1]
	if r.End != h2.Answered || r.Code != h2.StatusOK {
		c.setFailure(r, e)
		return events, nil
	}
	c.extra = replyExtras{}
	call := r.Sub & callMask
	ok := c.parseReply(call, r, e)
	e.StoreRevision = c.extra.revision
	if !ok {
		*e = store.Event{Tag: r.Tag, Outcome: kv.StoreError, Text: []byte(errMalformed.Error())}
		return events, errMalformed
	}
	if why := c.explainImpossible(call, e); why != nil {
		e.Outcome, e.Text = kv.WrongResponse, why
		return events, nil
	}
	switch call {
	case callCount, callTxnCount:
		e.Count = c.extra.total
	case callExists:
		if e.Count = c.extra.total; e.Count == 0 {
			e.Outcome = kv.Miss
		}
	}
	return events, nil
}

// parseReply parses the reply to a call. It returns false if the reply is malformed.
func (c *codec) parseReply(call uint8, r *h2.Reply, e *store.Event) (ok bool) {
	switch call {
	case callPut:
		ok = c.parseWritten(r.Body, e)
		e.Count = 0
	case callDelete:
		ok = c.parseWritten(r.Body, e)
	case callGet:
		if ok = c.parseRange(r.Body, e); e.Count == 0 {
			e.Outcome = kv.Miss
		}
	case callRange:
		c.beginList(r.Tag)
		ok = c.parseRange(r.Body, e)
		c.wantsKeys = false
	case callCount, callExists:
		ok = c.parseRange(r.Body, e)
	case callCAS:
		if ok = c.parseTxn(r.Body, e); !c.extra.succeeded {
			e.Outcome = kv.Conflict
		}
	case callTxn:
		ok = c.parseTxn(r.Body, e)
		e.Count = c.extra.puts
	case callTxnGet:
		c.beginList(r.Tag)
		ok = c.parseTxnGet(r.Body, e)
		c.wantsKeys = false
	case callTxnCount:
		ok = c.parseTxnGet(r.Body, e)
	case callReplayedList:
		c.beginList(r.Tag)
		ok = c.parseReplayed(call, r.Body, e)
		c.wantsKeys = false
	case callReplayedRead, callReplayedWrite, callReplayedTxn, callReplayedGuarded, callReplayedGrant, callReplayedStatus:
		ok = c.parseReplayed(call, r.Body, e)
	}
	return ok
}

// setFailure sets the outcome and text of the event for an operation that failed.
func (c *codec) setFailure(r *h2.Reply, e *store.Event) {
	e.Text = r.Text
	if r.End != h2.Answered {
		e.Outcome = outcomeOfEnd(r.End)
		return
	}
	code := codes.Code(r.Code)
	if e.Outcome = OutcomeOf(code, r.Text); len(r.Text) == 0 {
		e.Text = []byte("gRPC status " + code.String())
	}
	if c.login != nil && tokenRejected(r.Text) {
		c.login.handleRejection(r.Sub >> genShift)
	}
}

// parseHeader parses a ResponseHeader. It stores the revision in c.extra. Because it runs for every
// reply, it does not use the iterator `fields`, which is slower.
func (c *codec) parseHeader(b []byte, e *store.Event) bool {
	i, revision := 0, uint64(0)
	if n := c.idsLen; n > 0 && len(b) >= n && string(b[:n]) == string(c.ids[:n]) {
		i, e.Member = n, c.member
	}
	for i >= 0 && i < len(b) {
		switch b[i] {
		case message.MemberIDTag:
			e.Member, i = getVarint(b, i+1)
			if i > 0 && i <= len(c.ids) && revision == 0 && e.Term == 0 { // only IDs precede i
				c.idsLen, c.member = copy(c.ids[:], b[:i]), e.Member
			}
		case message.RevisionTag:
			revision, i = getVarint(b, i+1)
		case message.TermTag:
			e.Term, i = getVarint(b, i+1)
		default:
			i = skipField(b, i)
		}
	}
	c.extra.revision = int64(revision)
	return i >= 0
}

// parseWritten parses a PutResponse or a DeleteRangeResponse. The event's Revision is the revision
// in the header, which after a put is also the key's mod_revision.
func (c *codec) parseWritten(b []byte, e *store.Event) bool {
	i, ok := 0, true
	for ok && i >= 0 && i < len(b) {
		var n uint64
		var part []byte
		switch b[i] {
		case message.HeaderTag:
			if part, i = getBytes(b, i+1); i > 0 {
				ok = c.parseHeader(part, e)
			}
		case message.DeletedTag:
			n, i = getVarint(b, i+1)
			e.Count = int64(n)
		default:
			i = skipField(b, i)
		}
	}
	e.Revision = c.extra.revision
	return ok && i >= 0
}

// parseRange parses a RangeResponse. In the event it stores the number of keys and the first key
// with its value and mod_revision. In c.extra it stores the store's revision, the first key's
// version, and the number of keys in the range regardless of the limit. Because most loads consist
// mainly of reads, it does not use the iterator `fields`, which is slower.
func (c *codec) parseRange(b []byte, e *store.Event) bool {
	i, ok := 0, true
	for ok && i >= 0 && i < len(b) {
		var n uint64
		var part []byte
		switch b[i] {
		case message.HeaderTag:
			if part, i = getBytes(b, i+1); i > 0 {
				ok = c.parseHeader(part, e)
			}
		case message.RangeKVTag:
			if part, i = getBytes(b, i+1); i > 0 {
				ok = c.takeKV(part, e)
			}
		case message.RangeMoreTag:
			n, i = getVarint(b, i+1)
			c.extra.more = n != 0
		case message.RangeCountTag:
			n, i = getVarint(b, i+1)
			c.extra.total = int64(n)
		default:
			i = skipField(b, i)
		}
	}
	return ok && i >= 0
}

// takeKV handles a KeyValue in a RangeResponse. It stores only the response's first KeyValue in the
// event.
func (c *codec) takeKV(b []byte, e *store.Event) bool {
	if e.Count++; e.Count == 1 {
		if !parseKV(b, e) {
			return false
		}
		// The event's Version is set only for watches.
		c.extra.version, e.Version = writtenVersion(e.Version), 0
	}
	return !c.wantsKeys || c.passKey(c.listTag, b, c.wantsValues)
}

// beginList prepares the codec to pass the keys in the current reply to c.keys, if c.keys is set.
func (c *codec) beginList(tag uint32) {
	c.listTag, c.wantsKeys = tag, c.keys != nil
	c.wantsValues = c.wantsKeys && c.keys.Begin(tag)
}

// passKey passes one KeyValue in a reply to c.keys. If withValue is false, it may pass only the
// key.
func (c *codec) passKey(tag uint32, part []byte, withValue bool) bool {
	if !withValue && len(part) > 1 && part[0] == message.KeyTag { // the key is the first field
		key, i := getBytes(part, 1)
		if i > 0 {
			c.keys.Add(tag, key, nil, 0)
		}
		return i > 0
	}
	c.currentKey.Key, c.currentKey.Value, c.currentKey.Revision = nil, nil, 0
	if !parseKV(part, &c.currentKey) {
		return false
	}
	c.keys.Add(tag, c.currentKey.Key, c.currentKey.Value, c.currentKey.Revision)
	return true
}

// parseKV parses a KeyValue. It runs for every key and every watch event, so it does not use the
// iterator `fields`, with which it would take 1.5 times as long.
func parseKV(b []byte, e *store.Event) bool {
	i := 0
	for i >= 0 && i < len(b) {
		var v uint64
		switch b[i] {
		case message.KeyTag:
			e.Key, i = getBytes(b, i+1)
		case message.ValueTag:
			e.Value, i = getBytes(b, i+1)
		case message.ModRevisionTag:
			v, i = getVarint(b, i+1)
			e.Revision = int64(v)
		case message.VersionTag:
			v, i = getVarint(b, i+1)
			e.Version = int64(v)
		case message.CreateRevisionTag, message.LeaseTag:
			_, i = getVarint(b, i+1)
		default:
			i = skipField(b, i)
		}
	}
	return i >= 0
}

// parseTxn parses the TxnResponse that replies to cas or txn. After a conflict, the event's Revision
// is the key's mod_revision, or 0 if the key does not exist.
func (c *codec) parseTxn(b []byte, e *store.Event) bool {
	var found store.Event
	ok := c.parseTxnResponse(b, e, &found)
	if e.Revision = c.extra.revision; !c.extra.succeeded {
		e.Revision = found.Revision
	}
	return ok
}

// parseTxnGet parses the TxnResponse that replies to txnGet.
func (c *codec) parseTxnGet(b []byte, e *store.Event) bool {
	var found store.Event
	ok := c.parseTxnResponse(b, e, &found)
	e.Key, e.Value, e.Revision, e.Count = found.Key, found.Value, found.Revision, found.Count
	return ok
}

// parseTxnResponse parses a TxnResponse. It stores the header's fields in head, and the result of
// the read in found.
func (c *codec) parseTxnResponse(b []byte, head, found *store.Event) bool {
	f := fields{b: b}
	revision := int64(0) // the revision in the response's own header; the headers in the results are ignored
	for f.next() {
		switch f.tag {
		case message.HeaderTag:
			f.must(c.parseHeader(f.v, head))
			revision = c.extra.revision
		case message.TxnSucceededTag:
			c.extra.succeeded = f.n != 0
		case message.TxnResultTag:
			f.must(c.parseResponseOp(f.v, found))
		}
	}
	c.extra.revision = revision
	return f.ok()
}

// parseResponseOp parses a ResponseOp. The result of a put is only counted.
func (c *codec) parseResponseOp(b []byte, found *store.Event) bool {
	f := fields{b: b}
	for f.next() {
		switch f.tag {
		case message.RangeResultTag:
			c.extra.ranges++
			f.must(c.parseRange(f.v, found))
		case message.PutResultTag:
			c.extra.puts++
		}
	}
	return f.ok()
}

// parseReplayed parses the reply to a recorded call.
func (c *codec) parseReplayed(call uint8, b []byte, e *store.Event) (ok bool) {
	switch call {
	case callReplayedRead, callReplayedList:
		if ok = c.parseRange(b, e); e.Count == 0 {
			e.Count = c.extra.total
		}
		e.Version = c.extra.version // 0 if the key does not exist
	case callReplayedWrite, callReplayedStatus, callReplayedGrant: // LeaseGrantResponse{header: 1, ID: 2}
		if ok = c.parseWritten(b, e); ok && call == callReplayedGrant && c.grants != nil {
			c.grants.Add(strconv.FormatInt(e.Count, 10))
		}
	default:
		var found store.Event
		ok = c.parseTxnResponse(b, e, &found)
		e.Revision, e.Count = c.extra.revision, c.extra.puts
		if call == callReplayedGuarded && !c.extra.succeeded {
			e.Outcome, e.ModRevision, e.Value = kv.Conflict, found.Revision, found.Value // the key that the call read because a guard did not hold, if any
		}
	}
	return ok
}

// writtenVersion returns the version of an existing key, or -1 if the server does not count
// versions.
func writtenVersion(version int64) int64 {
	if version <= 0 {
		return -1
	}
	return version
}

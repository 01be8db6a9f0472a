package etcd

import (
	"errors"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

var errMalformed = errors.New("the server sent an answer that is no etcd message: its protobuf is malformed")

// event appends what a reply means for its operation.
func (c *codec) event(r *h2.Reply, to []store.Event) ([]store.Event, error) {
	to = append(to, store.Event{Tag: r.Tag})
	e := &to[len(to)-1]
	if r.End != h2.Answered || r.Code != h2.StatusOK {
		c.failed(r, e)
		return to, nil
	}
	c.extra = aside{}
	ok, call := false, r.Sub&callMask
	switch call {
	case callPut:
		ok = c.parsePut(r.Body, e)
	case callGet:
		if ok = c.parseRange(r.Body, e); e.Count == 0 {
			e.Outcome = kv.Miss
		}
	case callRange:
		c.list(r.Tag)
		ok = c.parseRange(r.Body, e)
		c.listed = false
	case callCount, callExists:
		ok = c.parseRange(r.Body, e)
	case callDelete:
		ok = c.parseDelete(r.Body, e)
	case callCAS:
		if ok = c.parseTxn(r.Body, e); !c.extra.succeeded {
			e.Outcome = kv.Conflict
		}
	case callTxn:
		ok = c.parseTxn(r.Body, e)
		e.Count = c.extra.puts
	case callTxnGet:
		c.list(r.Tag)
		ok = c.parseTxnGet(r.Body, e)
		c.listed = false
	case callTxnCount:
		ok = c.parseTxnGet(r.Body, e)
	}
	if !ok {
		*e = store.Event{Tag: r.Tag, Outcome: kv.StoreError, Text: []byte(errMalformed.Error())}
		return to, errMalformed
	}
	if why := c.impossible(call, e); why != nil {
		e.Outcome, e.Text = kv.WrongAnswer, why
		return to, nil
	}
	switch call {
	case callCount, callTxnCount:
		e.Count = c.extra.total
	case callExists:
		if e.Count = c.extra.total; e.Count == 0 {
			e.Outcome = kv.Miss
		}
	}
	return to, nil
}

// failed fills an event of an operation that was not done.
func (c *codec) failed(r *h2.Reply, e *store.Event) {
	e.Text = r.Text
	if r.End != h2.Answered {
		e.Outcome = outcomeOfEnd(r.End)
		return
	}
	code := codes.Code(r.Code)
	if e.Outcome = outcomeOf(code, r.Text); len(r.Text) == 0 {
		e.Text = []byte("gRPC status " + code.String())
	}
	if c.login != nil && tokenRejected(r.Text) {
		c.login.rejected(r.Sub >> genShift)
	}
}

// parseHeader reads a ResponseHeader{cluster_id: 1, member_id: 2, revision: 3,
// raft_term: 4} and returns its revision, which goes to c.extra too.
func (c *codec) parseHeader(b []byte, e *store.Event) (revision int64, ok bool) {
	i := 0
	if n := c.idsLen; n > 0 && len(b) >= n && string(b[:n]) == string(c.ids[:n]) {
		i, e.Member = n, c.member
	}
	var v uint64
	for i >= 0 && i < len(b) {
		switch b[i] {
		case 2<<3 | pbVarint:
			e.Member, i = getVarint(b, i+1)
			if i > 0 && i <= len(c.ids) && revision == 0 && e.Term == 0 { // only ids lie before
				c.idsLen, c.member = copy(c.ids[:], b[:i]), e.Member
			}
		case 3<<3 | pbVarint:
			v, i = getVarint(b, i+1)
			revision = int64(v)
		case 4<<3 | pbVarint:
			e.Term, i = getVarint(b, i+1)
		default:
			i = skipField(b, i)
		}
	}
	c.extra.revision = revision
	return revision, i >= 0
}

// parsePut reads a PutResponse{header: 1}. The key's new version is the
// store's revision.
func (c *codec) parsePut(b []byte, e *store.Event) (ok bool) {
	for i := 0; i < len(b); {
		if b[i] != 1<<3|pbBytes {
			if i = skipField(b, i); i < 0 {
				return false
			}
			continue
		}
		var header []byte
		if header, i = getBytes(b, i+1); i < 0 {
			return false
		}
		if e.Revision, ok = c.parseHeader(header, e); !ok {
			return false
		}
	}
	return true
}

// parseRange reads a RangeResponse{header: 1, kvs: 2}: the first key with its
// value and version, and how many keys there are. What it says of the store and
// of what lies beyond the limit goes to c.extra.
func (c *codec) parseRange(b []byte, e *store.Event) bool {
	var part []byte
	var v uint64
	for i := 0; i < len(b); {
		ok := true
		switch b[i] {
		case 1<<3 | pbBytes:
			if part, i = getBytes(b, i+1); i > 0 {
				_, ok = c.parseHeader(part, e)
			}
		case 2<<3 | pbBytes:
			part, i = getBytes(b, i+1)
			if e.Count++; i > 0 && e.Count == 1 {
				ok = parseKV(part, e)
			}
			if i > 0 && ok && c.listed {
				ok = c.handOut(c.listing, part, c.values)
			}
		case 3<<3 | pbVarint:
			v, i = getVarint(b, i+1)
			c.extra.more = v != 0
		case 4<<3 | pbVarint:
			v, i = getVarint(b, i+1)
			c.extra.total = int64(v)
		default:
			i = skipField(b, i)
		}
		if !ok || i < 0 {
			return false
		}
	}
	return true
}

// list begins to hand out the keys of the answer that comes now, if they are
// wanted.
func (c *codec) list(tag uint32) {
	c.listing, c.listed = tag, c.keys != nil
	c.values = c.listed && c.keys.Begin(tag)
}

// handOut gives one key of an answer to who checks it.
func (c *codec) handOut(tag uint32, part []byte, value bool) bool {
	if !value && len(part) > 1 && part[0] == 1<<3|pbBytes { // the key comes first
		key, i := getBytes(part, 1)
		if i > 0 {
			c.keys.Add(tag, key, nil)
		}
		return i > 0
	}
	c.each.Key, c.each.Value = nil, nil
	if !parseKV(part, &c.each) {
		return false
	}
	c.keys.Add(tag, c.each.Key, c.each.Value)
	return true
}

// parseKV reads a KeyValue{key: 1, mod_revision: 3, value: 5}.
func parseKV(b []byte, e *store.Event) bool {
	i := 0
	for i >= 0 && i < len(b) {
		switch b[i] {
		case 1<<3 | pbBytes:
			e.Key, i = getBytes(b, i+1)
		case 5<<3 | pbBytes:
			e.Value, i = getBytes(b, i+1)
		case 3<<3 | pbVarint:
			var v uint64
			v, i = getVarint(b, i+1)
			e.Revision = int64(v)
		case 2<<3 | pbVarint, 4<<3 | pbVarint: // create_revision, version
			_, i = getVarint(b, i+1)
		default:
			i = skipField(b, i)
		}
	}
	return i >= 0
}

// parseDelete reads a DeleteRangeResponse{header: 1, deleted: 2}.
func (c *codec) parseDelete(b []byte, e *store.Event) bool {
	for i := 0; i < len(b); {
		ok := true
		switch b[i] {
		case 1<<3 | pbBytes:
			var header []byte
			if header, i = getBytes(b, i+1); i > 0 {
				e.Revision, ok = c.parseHeader(header, e)
			}
		case 2<<3 | pbVarint:
			var v uint64
			v, i = getVarint(b, i+1)
			e.Count = int64(v)
		default:
			i = skipField(b, i)
		}
		if !ok || i < 0 {
			return false
		}
	}
	return true
}

// parseTxn reads a TxnResponse{header: 1, succeeded: 2, responses: 3} to what
// cas or txn sent. After a conflict the event's revision is the one that the key
// has, 0 if it is not there.
func (c *codec) parseTxn(b []byte, e *store.Event) bool {
	var found store.Event
	ok := c.parseTxnResponse(b, e, &found)
	if e.Revision = c.extra.revision; !c.extra.succeeded {
		e.Revision = found.Revision
	}
	return ok
}

// parseTxnGet reads the same to what txnGet sent.
func (c *codec) parseTxnGet(b []byte, e *store.Event) bool {
	var found store.Event
	ok := c.parseTxnResponse(b, e, &found)
	e.Key, e.Value, e.Revision, e.Count = found.Key, found.Value, found.Revision, found.Count
	return ok
}

// parseTxnResponse reads the header into head, and what the reads found into
// found.
func (c *codec) parseTxnResponse(b []byte, head, found *store.Event) bool {
	var part []byte
	var revision int64
	for i := 0; i < len(b); {
		ok := true
		switch b[i] {
		case 1<<3 | pbBytes:
			if part, i = getBytes(b, i+1); i > 0 {
				revision, ok = c.parseHeader(part, head)
			}
		case 2<<3 | pbVarint:
			var v uint64
			v, i = getVarint(b, i+1)
			c.extra.succeeded = v != 0
		case 3<<3 | pbBytes:
			if part, i = getBytes(b, i+1); i > 0 {
				ok = c.parseResponseOp(part, found)
			}
		default:
			i = skipField(b, i)
		}
		if !ok || i < 0 {
			return false
		}
	}
	c.extra.revision = revision // and not that of a result's own header
	return true
}

// parseResponseOp reads a ResponseOp{response_range: 1, response_put: 2}; the
// latter says nothing new.
func (c *codec) parseResponseOp(b []byte, found *store.Event) bool {
	for i := 0; i < len(b); {
		if b[i] != 1<<3|pbBytes {
			if b[i] == 2<<3|pbBytes {
				c.extra.puts++
			}
			if i = skipField(b, i); i < 0 {
				return false
			}
			continue
		}
		c.extra.ranges++
		var part []byte
		if part, i = getBytes(b, i+1); i < 0 || !c.parseRange(part, found) {
			return false
		}
	}
	return true
}

// parseAuthenticate reads an AuthenticateResponse{header: 1, token: 2}.
func parseAuthenticate(b []byte) (token []byte, ok bool) {
	for i := 0; i < len(b); {
		if b[i] == 2<<3|pbBytes {
			token, i = getBytes(b, i+1)
		} else {
			i = skipField(b, i)
		}
		if i < 0 {
			return nil, false
		}
	}
	return token, len(token) > 0
}

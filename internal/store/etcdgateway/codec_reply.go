package etcdgateway

import (
	"encoding/base64"
	"strconv"

	"google.golang.org/grpc/codes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/etcd"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

// event fills in the event of the operation in flight from the body of a response with status
// 200.
func (c *codec) event(body []byte, e *store.Event) {
	var a reply
	s := httpkv.NewJSONScanner(body)
	if c.keys != nil && !c.refused {
		c.wantsValues = c.keys.Begin(c.tag)
	}
	c.parse(&s, &a)
	switch {
	case !s.End():
		e.Outcome, e.Text = kv.StoreError, malformed
		return
	case a.code != 0:
		c.fail(e, a.code, a.message)
		return
	}
	e.Member, e.Term, e.StoreRevision = a.header.Member, a.header.Term, a.revision
	if a.revision == 0 && !c.needsNoRevision(&a) {
		e.Outcome, e.Text = kv.WrongResponse, noRevision
		return
	}
	e.Revision = a.revision
	if c.replayed {
		c.setReplayEvent(&a, e)
		return
	}
	switch c.kind {
	case kv.Get, kv.Range:
		e.Key, e.Value, e.Revision, e.Count = a.first.Key, a.first.Value, a.first.Revision, a.readCount
		if c.kind == kv.Get && a.readCount == 0 {
			e.Outcome = kv.Miss
		}
	case kv.Delete:
		e.Count = a.deleted
	case kv.CAS:
		if !a.succeeded {
			e.Outcome, e.Revision = kv.Conflict, a.first.Revision
		}
	case kv.Txn:
		if e.Count = a.puts; !a.succeeded {
			e.Outcome, e.Text = kv.WrongResponse, txnNotExecuted
		}
	case kv.KeepAlive:
		c.parseKeepAlive(&a, e)
	}
}

// needsNoRevision reports whether a response is valid without the store's revision. Servers that
// imitate etcd omit the revision in the responses to a status request and a lease grant.
func (c *codec) needsNoRevision(a *reply) bool {
	return c.method == statusRPC || c.method == grantRPC && a.lease != 0
}

// parseKeepAlive fills in the event of a keep-alive. A TTL of 0 means that the lease has expired.
func (c *codec) parseKeepAlive(a *reply, e *store.Event) {
	e.Count = a.ttl
	switch {
	case a.lease != c.lease:
		e.Outcome, e.Text = kv.WrongResponse, wrongLease
	case a.ttl <= 0:
		e.Outcome, e.Text = kv.BadRequest, noLease
	}
}

// setReplayEvent fills in the event of a recorded call in the same way as etcd's gRPC codec.
func (c *codec) setReplayEvent(a *reply, e *store.Event) {
	switch c.method {
	case rangeRPC:
		e.Key, e.Value, e.Revision, e.Version = a.first.Key, a.first.Value, a.first.Revision, a.first.Version
		if a.readCount > 0 && e.Version <= 0 {
			e.Version = -1 // unknown, because the server does not count versions
		}
		if e.Count = a.readCount; e.Count == 0 {
			e.Count = a.count
		}
	case deleteRPC:
		e.Count = a.deleted
	case txnRPC:
		if e.Count = a.puts; c.guarded && !a.succeeded {
			// A guard did not hold. If the call's else branch read a key, a.first is that key.
			e.Outcome, e.ModRevision, e.Value = kv.Conflict, a.first.Revision, a.first.Value
		}
	case grantRPC:
		if e.Count = a.lease; c.grants != nil {
			c.grants.Add(strconv.FormatInt(a.lease, 10))
		}
	case keepAliveRPC:
		c.parseKeepAlive(a, e)
	}
}

// setFailure fills in the event if the response's status is not 200.
func (c *codec) setFailure(r *http1.Response, e *store.Event) {
	var a reply
	s := httpkv.NewJSONScanner(r.Body)
	if c.parse(&s, &a); !s.End() || a.code == 0 {
		// The response is from a proxy, or from a server that is not etcd.
		e.Outcome = httpkv.OutcomeOf(r.Status)
		c.text = httpkv.AppendText(c.text[:0], r)
		e.Text = c.text
		return
	}
	c.fail(e, a.code, a.message)
}

func (c *codec) fail(e *store.Event, code int64, message []byte) {
	if code < 0 || code > int64(codes.Unauthenticated) {
		code = int64(codes.Unknown)
	}
	e.Outcome, e.Text = etcd.OutcomeOf(codes.Code(code), message), message
	if len(message) == 0 {
		e.Text = []byte("gRPC status " + codes.Code(code).String())
	}
}

// parse parses a response or a message on a stream. A message on a stream contains a result or an
// error. parse reads one level of results but skips results inside a result, because a malicious
// server could nest results without limit.
func (c *codec) parse(s *httpkv.JSONScanner, a *reply) {
	for ok := s.Object(); ok; {
		var name []byte
		if name, ok = s.Member(); !ok {
			break
		}
		switch string(name) {
		case "result":
			if a.nested {
				s.Skip()
				break
			}
			a.nested = true
			c.parse(s, a)
			a.nested = false
		case "error":
			c.parseError(s, a)
		case "header":
			parseHeader(s, a)
		case "kvs":
			for ok := s.Array(); ok && s.Element(); {
				c.parseRead(s, a)
			}
		case "responses":
			if a.nested {
				s.Skip()
				break
			}
			for ok := s.Array(); ok && s.Element(); {
				c.parseResponseOp(s, a)
			}
		case "events":
			for ok := s.Array(); ok && s.Element(); {
				c.parseWatchEvent(s)
			}
		default:
			c.parseMember(s, name, a)
		}
	}
}

// parseMember parses one member of a response if its value is a string, a number or a Boolean. It
// skips members that the codec does not need.
func (c *codec) parseMember(s *httpkv.JSONScanner, name []byte, a *reply) {
	switch string(name) {
	case "code":
		a.code = s.Int()
	case "message":
		a.message, c.buf = s.String(c.buf)
	case "count":
		a.count = number(s)
	case "succeeded":
		a.succeeded = s.Bool()
	case "deleted":
		a.deleted += number(s)
	case "ID":
		a.lease = number(s)
	case "TTL":
		a.ttl = number(s)
	case "created":
		a.created = s.Bool()
	case "canceled":
		a.canceled = s.Bool()
	case "compact_revision":
		a.compacted = number(s)
	case "cancel_reason":
		a.reason, c.buf = s.String(c.buf)
	default:
		s.Skip()
	}
}

// parseError parses the value of the member "error". The value is a string in a response and an
// object in a message on a stream.
func (c *codec) parseError(s *httpkv.JSONScanner, a *reply) {
	if s.IsString() {
		a.message, c.buf = s.String(c.buf)
		return
	}
	for ok := s.Object(); ok; {
		var name []byte
		if name, ok = s.Member(); !ok {
			break
		}
		switch string(name) {
		case "code", "grpc_code":
			a.code = s.Int()
		case "message":
			a.message, c.buf = s.String(c.buf)
		default:
			s.Skip()
		}
	}
	if a.code == 0 {
		a.code = int64(codes.Unknown)
	}
}

func parseHeader(s *httpkv.JSONScanner, a *reply) {
	for ok := s.Object(); ok; {
		var name []byte
		if name, ok = s.Member(); !ok {
			break
		}
		switch string(name) {
		case "member_id":
			a.header.Member = unsigned(s)
		case "revision":
			a.revision = number(s)
		case "raft_term":
			a.header.Term = unsigned(s)
		default:
			s.Skip()
		}
	}
}

// parseRead parses one KeyValue in the response to a read.
func (c *codec) parseRead(s *httpkv.JSONScanner, a *reply) {
	var e store.Event
	c.parseKV(s, &e)
	if a.readCount++; a.readCount == 1 {
		a.first = e
	}
	if c.keys != nil && s.OK() {
		value := e.Value
		if !c.wantsValues {
			value = nil
		}
		c.keys.Add(c.tag, e.Key, value, e.Revision)
	}
}

// parseKV parses a KeyValue.
func (c *codec) parseKV(s *httpkv.JSONScanner, e *store.Event) {
	for ok := s.Object(); ok; {
		var name []byte
		if name, ok = s.Member(); !ok {
			break
		}
		switch string(name) {
		case "key":
			e.Key = c.bytes(s)
		case "value":
			e.Value = c.bytes(s)
		case "mod_revision":
			e.Revision = number(s)
		case "version":
			e.Version = number(s)
		default:
			s.Skip()
		}
	}
}

// parseResponseOp parses one of the results in the response to a transaction. It skips nested
// transactions, because the codec does not send any.
func (c *codec) parseResponseOp(s *httpkv.JSONScanner, a *reply) {
	for ok := s.Object(); ok; {
		var name []byte
		if name, ok = s.Member(); !ok {
			break
		}
		part := &c.part
		*part = reply{nested: true}
		switch string(name) {
		case "response_put":
			a.puts++
			s.Skip()
			continue
		case "response_range", "response_delete_range":
			c.parse(s, part)
		default:
			s.Skip()
			continue
		}
		if a.readCount == 0 {
			a.first = part.first
		}
		a.readCount += part.readCount
		a.deleted += part.deleted
	}
}

// bytes scans a base64 string and returns the decoded bytes, which it stores in c.buf.
func (c *codec) bytes(s *httpkv.JSONScanner) []byte {
	var text []byte
	text, c.buf = s.String(c.buf)
	from := len(c.buf)
	b, err := base64.StdEncoding.AppendDecode(c.buf, text)
	if err != nil {
		s.Fail()
		return nil
	}
	c.buf = b
	return b[from:]
}

// number scans a 64-bit number, which the gateway encodes as a JSON string.
func number(s *httpkv.JSONScanner) int64 { return int64(unsigned(s)) }

// unsigned scans an unsigned number. It converts a negative number modulo 2^64.
func unsigned(s *httpkv.JSONScanner) uint64 {
	if !s.IsString() {
		return uint64(s.Int())
	}
	text, _ := s.String(nil)
	negative := len(text) > 1 && text[0] == '-'
	if negative {
		text = text[1:]
	}
	n := uint64(0)
	for _, d := range text {
		if d < '0' || d > '9' || n > (1<<64-10)/10 {
			s.Fail()
			return 0
		}
		n = n*10 + uint64(d-'0')
	}
	if len(text) == 0 {
		s.Fail()
	}
	if negative {
		return -n
	}
	return n
}

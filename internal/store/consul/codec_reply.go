package consul

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// setWrongResponse changes an event to the outcome for a wrong response. reason is a format string
// whose only argument is the server's name.
func (c *codec) setWrongResponse(e *store.Event, reason string) {
	*e = store.Event{Tag: e.Tag, ExtraRequests: e.ExtraRequests, Outcome: kv.WrongResponse, Text: fmt.Appendf(nil, reason, c.Name)}
}

// The reasons why a response is wrong. Each is a format string whose only argument is the server's
// name.
const (
	noIndex      = "the response has no index above 0, but every key in %s has one"
	unsortedList = "%s listed keys that are not in byte order"
	strayKey     = "%s listed a key without the requested prefix"
)

// setMalformed changes an event to the error for a response that cannot be parsed.
func (c *codec) setMalformed(e *store.Event) {
	*e = store.Event{
		Tag: e.Tag, ExtraRequests: e.ExtraRequests, Outcome: kv.StoreError,
		Text: fmt.Appendf(nil, "the server sent a response that %s does not send", c.Name),
	}
}

// parseWritten parses the response to a write of one key. cetcd responds false to an etcd error,
// too. So false means a conflict only if the operation is a compare-and-set.
func (c *codec) parseWritten(body []byte, e *store.Event) {
	if c.Kind == kv.Delete {
		e.Count = -1 // the response is true even if the key did not exist
	}
	switch string(bytes.TrimSpace(body)) {
	case "true":
	case "false":
		e.Outcome = kv.Conflict
		if c.Kind != kv.CAS {
			e.Outcome, e.Text = kv.StoreError, []byte(c.Name+" did not execute the write, and gave no reason")
		}
	default:
		c.setMalformed(e)
	}
	e.Revision = httpkv.AnyIndex
}

// handleNotFound handles a response with status 404.
func (c *codec) handleNotFound(e *store.Event) {
	switch {
	case c.Purpose == httpkv.Listing:
	case c.Kind == kv.Get:
		e.Outcome = kv.Miss
	default:
		e.Outcome, e.Text = kv.BadRequest, []byte("the server has no /v1/kv: is this Consul's HTTP port?")
	}
}

// parseEntry parses an entry. It stores decoded strings in c.buf.
func (c *codec) parseEntry(s *httpkv.JSONScanner, into *entry) { c.buf = readEntry(s, into, c.buf) }

// readEntry parses an object such as {"LockIndex":0,"Key":"k","Flags":0,"Value":"dg==",
// "CreateIndex":1,"ModifyIndex":2}. It appends decoded strings to buf and returns buf.
func readEntry(s *httpkv.JSONScanner, into *entry, buf []byte) []byte {
	if !s.Object() {
		return buf
	}
	for {
		name, ok := s.Member()
		if !ok {
			return buf
		}
		switch string(name) {
		case "Key":
			into.key, buf = s.String(buf)
		case "Value":
			if into.value = nil; !s.Null() {
				into.value, buf = s.String(buf)
			}
		case "ModifyIndex":
			into.index = s.Int()
		case "LockIndex":
			into.lockIndex = s.Int()
		case "Session":
			into.session, buf = s.String(buf)
		default:
			s.Skip()
		}
	}
}

// parseOne parses the response to a read of one key. The response is a list, which is empty if the
// key does not exist.
func (c *codec) parseOne(body []byte, e *store.Event) {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	var found entry
	if s.Array() {
		for ; s.Element(); e.Count++ {
			c.parseEntry(&s, &found)
		}
	}
	switch {
	case !s.End() || e.Count > 1:
		c.setMalformed(e)
	case e.Count == 0:
		e.Outcome = kv.Miss
	case found.index <= 0:
		c.setWrongResponse(e, noIndex)
	default:
		c.fillEvent(e, &found)
	}
}

// fillEvent stores an entry's key, value and index in the event.
func (c *codec) fillEvent(e *store.Event, found *entry) {
	var ok bool
	e.Revision = found.index
	if c.Purpose == httpkv.ReplayedCall {
		e.PreviousValue, e.PreviousRevision = found.session, found.lockIndex
	}
	e.Key, c.buf = c.RestoreSlash(c.buf, found.key)
	if e.Value, ok = c.decode(found.value); !ok {
		c.setMalformed(e)
	}
}

// parseList counts the keys in a list that are in the requested interval. It stores the first of
// them in the event.
func (c *codec) parseList(body []byte, e *store.Event) {
	s := httpkv.NewJSONScanner(body)
	var first entry
	c.buf = c.buf[:0]
	for more := s.Array(); more && s.Element(); {
		bufLen := len(c.buf)
		var k entry
		c.parseEntry(&s, &k)
		switch {
		case !s.OK(): // the error is reported after the loop
		case !bytes.HasPrefix(k.key, c.prefix):
			c.setWrongResponse(e, strayKey)
			return
		case k.index <= 0:
			c.setWrongResponse(e, noIndex)
			return
		}
		if !c.Contains(k.key) || c.Limit > 0 && e.Count == c.Limit {
			c.buf = c.buf[:bufLen]
			continue
		}
		if c.Listed && !c.passEntry(&k) {
			c.setMalformed(e)
			return
		}
		if e.Count++; e.Count > 1 {
			c.buf = c.buf[:bufLen]
			continue
		}
		first = k
	}
	switch {
	case !s.End():
		c.setMalformed(e)
	case e.Count > 0:
		c.fillEvent(e, &first)
	}
}

// passEntry passes a key to the operation's store.Keys. It returns false if the value is not
// base64.
func (c *codec) passEntry(k *entry) (ok bool) {
	at := len(c.buf)
	var key, value []byte
	ok = true
	if c.Values {
		value, ok = c.decode(k.value)
	}
	if key, c.buf = c.RestoreSlash(c.buf, k.key); ok {
		c.PassKey(key, value)
	}
	c.buf = c.buf[:at]
	return ok
}

// decode decodes base64 text. It appends the decoded bytes to c.buf and also returns them. The
// second result is false if the text is not base64.
func (c *codec) decode(value []byte) ([]byte, bool) {
	from := len(c.buf)
	var err error
	c.buf, err = base64.StdEncoding.AppendDecode(c.buf, value)
	return c.buf[from:], err == nil
}

// parseTxn parses the response to a transaction:
// {"Results":[{"KV":{...}}],"Errors":null}.
func (c *codec) parseTxn(body []byte, e *store.Event) {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		switch {
		case string(name) != "Results":
			s.Skip()
		case s.Null():
		default:
			for more := s.Array(); more && s.Element(); {
				c.parseResult(&s, e)
			}
		}
	}
	switch {
	case !s.End():
		c.setMalformed(e)
	case e.Count > 0 && e.Revision <= 0:
		c.setWrongResponse(e, noIndex)
	}
}

// parseResult parses one result of a transaction and stores its version in the event.
func (c *codec) parseResult(s *httpkv.JSONScanner, e *store.Event) {
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			return
		}
		if string(name) != "KV" {
			s.Skip()
			continue
		}
		var k entry
		c.parseEntry(s, &k)
		e.Count++
		e.Revision = k.index
	}
}

package consul

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// wrong changes an event to the outcome for a wrong response. why is a format string whose only
// argument is the server's name.
func (c *codec) wrong(e *store.Event, why string) {
	*e = store.Event{Tag: e.Tag, Extra: e.Extra, Outcome: kv.WrongAnswer, Text: fmt.Appendf(nil, why, c.Name)}
}

// The reasons why a response is wrong. Each is a format string whose only argument is the server's
// name.
const (
	noIndex  = "the response has no index above 0, but every key in %s has one"
	unsorted = "%s listed keys that are not in byte order"
	stray    = "%s listed a key without the requested prefix"
)

// malformed changes an event to the error for a response that cannot be parsed.
func (c *codec) malformed(e *store.Event) {
	*e = store.Event{
		Tag: e.Tag, Extra: e.Extra, Outcome: kv.StoreError,
		Text: fmt.Appendf(nil, "the server sent a response that %s does not send", c.Name),
	}
}

// written parses the response to a write of one key. cetcd responds false to an etcd error, too. So
// false means a conflict only if the operation is a compare-and-set.
func (c *codec) written(body []byte, e *store.Event) {
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
		c.malformed(e)
	}
	e.Revision = httpkv.AnyIndex
}

// notFound handles a response with status 404.
func (c *codec) notFound(e *store.Event) {
	switch {
	case c.Purpose == httpkv.Listing:
	case c.Kind == kv.Get:
		e.Outcome = kv.Miss
	default:
		e.Outcome, e.Text = kv.BadRequest, []byte("the server has no /v1/kv: is this Consul's HTTP port?")
	}
}

// parseEntry parses an entry. It stores decoded strings in c.buf.
func (c *codec) parseEntry(s *httpkv.JSONScanner, to *entry) { c.buf = readEntry(s, to, c.buf) }

// readEntry parses an object such as {"LockIndex":0,"Key":"k","Flags":0,"Value":"dg==",
// "CreateIndex":1,"ModifyIndex":2}. It appends decoded strings to buf and returns buf.
func readEntry(s *httpkv.JSONScanner, to *entry, buf []byte) []byte {
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
			to.key, buf = s.String(buf)
		case "Value":
			if to.value = nil; !s.Null() {
				to.value, buf = s.String(buf)
			}
		case "ModifyIndex":
			to.index = s.Int()
		case "LockIndex":
			to.lockIndex = s.Int()
		case "Session":
			to.session, buf = s.String(buf)
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
		c.malformed(e)
	case e.Count == 0:
		e.Outcome = kv.Miss
	case found.index <= 0:
		c.wrong(e, noIndex)
	default:
		c.fill(e, &found)
	}
}

// fill stores an entry's key, value and index in the event.
func (c *codec) fill(e *store.Event, found *entry) {
	var ok bool
	e.Revision = found.index
	if c.Purpose == httpkv.ReplayedCall {
		e.Before, e.BeforeRevision = found.session, found.lockIndex
	}
	e.Key, c.buf = c.AsSpelled(c.buf, found.key)
	if e.Value, ok = c.decode(found.value); !ok {
		c.malformed(e)
	}
}

// parseList counts the keys in a list that are in the requested interval. It stores the first of
// them in the event.
func (c *codec) parseList(body []byte, e *store.Event) {
	s := httpkv.NewJSONScanner(body)
	var first entry
	c.buf = c.buf[:0]
	for more := s.Array(); more && s.Element(); {
		kept := len(c.buf)
		var k entry
		c.parseEntry(&s, &k)
		switch {
		case !s.OK(): // the error is reported after the loop
		case !bytes.HasPrefix(k.key, c.prefix):
			c.wrong(e, stray)
			return
		case k.index <= 0:
			c.wrong(e, noIndex)
			return
		}
		if !c.Contains(k.key) || c.Limit > 0 && e.Count == c.Limit {
			c.buf = c.buf[:kept]
			continue
		}
		if c.Listed && !c.list(&k) {
			c.malformed(e)
			return
		}
		if e.Count++; e.Count > 1 {
			c.buf = c.buf[:kept]
			continue
		}
		first = k
	}
	switch {
	case !s.End():
		c.malformed(e)
	case e.Count > 0:
		c.fill(e, &first)
	}
}

// list passes a key to the operation's store.Keys. It returns false if the value is not base64.
func (c *codec) list(k *entry) (ok bool) {
	at := len(c.buf)
	var key, value []byte
	ok = true
	if c.Values {
		value, ok = c.decode(k.value)
	}
	if key, c.buf = c.AsSpelled(c.buf, k.key); ok {
		c.HandOut(key, value)
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
		c.malformed(e)
	case e.Count > 0 && e.Revision <= 0:
		c.wrong(e, noIndex)
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

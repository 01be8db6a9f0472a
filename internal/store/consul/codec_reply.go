package consul

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
)

// wrong makes an event a wrong answer, with a sentence that begins with the
// server's name or has it in the place of %s.
func (c *codec) wrong(e *store.Event, why string) {
	*e = store.Event{Tag: e.Tag, Extra: e.Extra, Outcome: kv.WrongAnswer, Text: fmt.Appendf(nil, why, c.Name)}
}

// Sentences about answers that the server cannot have sent.
const (
	noIndex  = "the answer has no index above 0: %s gives every key one"
	unsorted = "%s lists keys that are not in the order of their bytes"
	stray    = "%s lists a key that does not begin with the prefix that was asked for"
)

// malformed makes an event one of an answer that is not understood.
func (c *codec) malformed(e *store.Event) {
	*e = store.Event{
		Tag: e.Tag, Extra: e.Extra, Outcome: kv.StoreError,
		Text: fmt.Appendf(nil, "the server sent an answer that is none of %s's", c.Name),
	}
}

// written takes the answer to a write of one key. cetcd's is false also when
// etcd answered it with an error, so that only a compare-and-set may take it for
// a conflict.
func (c *codec) written(body []byte, e *store.Event) {
	if c.Kind == kv.Delete {
		e.Count = -1 // it is answered with true whether or not the key was there
	}
	switch string(bytes.TrimSpace(body)) {
	case "true":
	case "false":
		e.Outcome = kv.Conflict
		if c.Kind != kv.CAS {
			e.Outcome, e.Text = kv.StoreError, []byte(c.Name+" did not do it and does not say why")
		}
	default:
		c.malformed(e)
	}
	e.Revision = httpkv.AnyIndex
}

// notFound is an answer about no key.
func (c *codec) notFound(e *store.Event) {
	switch {
	case c.Doing == httpkv.Listing:
	case c.Kind == kv.Get:
		e.Outcome = kv.Miss
	default:
		e.Outcome, e.Text = kv.BadRequest, []byte("the server knows no /v1/kv: is this Consul's HTTP port?")
	}
}

// parseEntry reads an entry. Its key is in c.buf if it had to be decoded.
func (c *codec) parseEntry(s *httpkv.JSONScanner, to *entry) { c.buf = readEntry(s, to, c.buf) }

// readEntry reads an object such as {"LockIndex":0,"Key":"k","Flags":0,"Value":"dg==",
// "CreateIndex":1,"ModifyIndex":2}. What had to be decoded is appended to buf, which is
// returned.
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

// parseOne reads the list that is the answer about one key: [] if it is not there.
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

// fill puts a key into the event.
func (c *codec) fill(e *store.Event, found *entry) {
	var ok bool
	e.Revision = found.index
	if c.Doing == httpkv.Again {
		e.Before, e.BeforeRevision = found.session, found.lockIndex
	}
	e.Key, c.buf = c.Spelt(c.buf, found.key)
	if e.Value, ok = c.decode(found.value); !ok {
		c.malformed(e)
	}
}

// parseList counts the keys of a list that lie in the interval asked for; the
// first of them is in the event.
func (c *codec) parseList(body []byte, e *store.Event) {
	s := httpkv.NewJSONScanner(body)
	var first entry
	c.buf = c.buf[:0]
	for more := s.Array(); more && s.Element(); {
		kept := len(c.buf)
		var k entry
		c.parseEntry(&s, &k)
		switch {
		case !s.OK(): // what is wrong is said at the end
		case !bytes.HasPrefix(k.key, c.prefix):
			c.wrong(e, stray)
			return
		case k.index <= 0:
			c.wrong(e, noIndex)
			return
		}
		if !c.Holds(k.key) || c.Limit > 0 && e.Count == c.Limit {
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

// list hands out a key of a list. It returns false if its value is no base64.
func (c *codec) list(k *entry) (ok bool) {
	at := len(c.buf)
	var key, value []byte
	ok = true
	if c.Values {
		value, ok = c.decode(k.value)
	}
	if key, c.buf = c.Spelt(c.buf, k.key); ok {
		c.HandOut(key, value)
	}
	c.buf = c.buf[:at]
	return ok
}

// decode appends what base64 stands for to c.buf.
func (c *codec) decode(value []byte) ([]byte, bool) {
	from := len(c.buf)
	var err error
	c.buf, err = base64.StdEncoding.AppendDecode(c.buf, value)
	return c.buf[from:], err == nil
}

// parseTxn reads the answer to a transaction: {"Results":[{"KV":{...}}],
// "Errors":null}.
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

// parseResult reads one result, of which the version counts.
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

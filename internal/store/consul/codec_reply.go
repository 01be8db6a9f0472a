package consul

import (
	"bytes"
	"encoding/base64"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/http1/jsonscan"
)

// unknown is the revision of a key that was written: Consul does not return it.
const unknown = -1

// Sentences about answers that Consul cannot have sent; nobody writes to them.
var (
	noIndex = []byte("the answer has no index above 0: Consul gives every key one")
	stray   = []byte("a list has a key that does not begin with the prefix that was asked for")
)

// wrong makes an event a wrong answer.
func wrong(e *store.Event, why []byte) {
	*e = store.Event{Tag: e.Tag, Extra: e.Extra, Outcome: kv.WrongAnswer, Text: why}
}

var malformed = []byte("the server sent an answer that is none of Consul's")

// event fills the event of an operation that was answered.
func (c *codec) event(r *http1.Response, e *store.Event) {
	if c.Doing == httpkv.Listing {
		c.List()
	}
	switch {
	case r.Status == 404 && len(r.Body) == 0:
		c.notFound(e)
		return
	case r.Status != 200:
		c.failed(r, e)
		return
	case c.Doing == httpkv.Listing:
		c.parseList(r, e)
		return
	}
	switch c.Kind {
	case kv.Get:
		// The index of an answer about one key that is there is its ModifyIndex.
		if e.Value, e.Count, e.Revision = r.Body, 1, int64(r.Uint(fieldIndex)); e.Revision <= 0 {
			wrong(e, noIndex)
		}
	case kv.Put, kv.Delete, kv.CAS:
		if e.Revision = unknown; c.Kind == kv.Delete {
			e.Count = -1 // it is answered with true whether or not the key was there
		}
		switch string(bytes.TrimSpace(r.Body)) {
		case "true":
		case "false":
			e.Outcome = kv.StoreError
			if e.Text = []byte("Consul did not do it and does not say why"); c.Kind == kv.CAS {
				e.Outcome, e.Text = kv.Conflict, nil
			}
		default:
			e.Outcome, e.Text = kv.StoreError, malformed
		}
	case kv.Txn:
		c.parseTxn(r.Body, e)
	}
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

// failed fills an event with what an error's status and text mean.
func (c *codec) failed(r *http1.Response, e *store.Event) {
	e.Outcome = outcomeOf(r.Status, r.Body)
	c.text = appendText(c.text[:0], r)
	e.Text = c.text
}

// swap goes on with a compare-and-set whose key's version was read first. It
// returns false when that failed, with the event filled.
func (c *codec) swap(r *http1.Response, e *store.Event) bool {
	index := int64(0)
	c.buf = c.buf[:0]
	switch {
	case r.Status == 404 && len(r.Body) == 0:
	case r.Status != 200:
		c.failed(r, e)
		return false
	default:
		s := jsonscan.New(r.Body)
		found := entry{}
		if s.Array() && s.Element() {
			c.parseEntry(&s, &found)
		}
		if index = found.index; !s.OK() {
			e.Outcome, e.Text = kv.StoreError, malformed
			return false
		}
	}
	if !c.Proceed(e) {
		return false
	}
	c.write(c.Key, c.Value, index)
	return true
}

// entry is a key as the KV API's JSON describes it.
type entry struct {
	key   []byte
	value []byte // base64
	index int64
}

// parseEntry reads an object such as {"LockIndex":0,"Key":"k","Flags":0,
// "Value":"dg==","CreateIndex":1,"ModifyIndex":2}. Its key is in c.buf if it
// had to be decoded.
func (c *codec) parseEntry(s *jsonscan.Scanner, to *entry) {
	if !s.Object() {
		return
	}
	for {
		name, ok := s.Member()
		if !ok {
			return
		}
		switch string(name) {
		case "Key":
			to.key, c.buf = s.String(c.buf)
		case "Value":
			if to.value = nil; !s.Null() {
				to.value, c.buf = s.String(c.buf)
			}
		case "ModifyIndex":
			to.index = s.Int()
		default:
			s.Skip()
		}
	}
}

// parseList counts the keys of a list that lie in the interval asked for; the
// first of them is in the event.
func (c *codec) parseList(r *http1.Response, e *store.Event) {
	s := jsonscan.New(r.Body)
	var first entry
	c.buf = c.buf[:0]
	for more := s.Array(); more && s.Element(); {
		kept := len(c.buf)
		var k entry
		c.parseEntry(&s, &k)
		switch {
		case !s.OK(): // what is wrong is said at the end
		case !bytes.HasPrefix(k.key, c.prefix):
			wrong(e, stray)
			return
		case k.index <= 0:
			wrong(e, noIndex)
			return
		}
		if !c.Holds(k.key) || c.Limit > 0 && e.Count == c.Limit {
			c.buf = c.buf[:kept]
			continue
		}
		if c.Listed {
			at := len(c.buf)
			var key, value []byte
			ok := true
			if c.Values {
				value, ok = c.decode(k.value)
			}
			if !ok {
				*e = store.Event{Tag: e.Tag, Outcome: kv.StoreError, Text: malformed}
				return
			}
			key, c.buf = c.Spelt(c.buf, k.key)
			c.HandOut(key, value)
			c.buf = c.buf[:at]
		}
		if e.Count++; e.Count > 1 {
			c.buf = c.buf[:kept]
			continue
		}
		first = k
	}
	ok := s.End()
	if ok && e.Count > 0 {
		e.Revision = first.index
		e.Key, c.buf = c.Spelt(c.buf, first.key)
		e.Value, ok = c.decode(first.value)
	}
	if !ok {
		*e = store.Event{Tag: e.Tag, Outcome: kv.StoreError, Text: malformed}
	}
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
	s := jsonscan.New(body)
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
		*e = store.Event{Tag: e.Tag, Outcome: kv.StoreError, Text: malformed}
	case e.Count > 0 && e.Revision <= 0:
		wrong(e, noIndex)
	}
}

// parseResult reads one result, of which the version counts.
func (c *codec) parseResult(s *jsonscan.Scanner, e *store.Event) {
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

package cetcd

import (
	"bytes"
	"encoding/base64"
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
	"github.com/quorumbench/quorumbench/internal/wire/http1/jsonscan"
)

// unknown is the revision of a key that was written: the answer does not carry it.
const unknown = -1

var (
	malformed = []byte("the server sent an answer that is none of cetcd's")
	noIndex   = []byte("the answer has no index above 0: cetcd gives every key etcd's")
	stray     = []byte("a list has a key that does not begin with the prefix that was asked for")
	unsaid    = []byte("cetcd did not do it and does not say why")
)

// event fills the event of an operation that was answered.
func (c *codec) event(r *http1.Response, e *store.Event) {
	switch {
	case r.Status != 200:
		c.failed(r, e)
	case c.kind == kv.Get:
		c.parseOne(r.Body, e)
	case c.kind == kv.Range:
		c.parseList(r.Body, e)
	default:
		c.written(r.Body, e)
	}
}

// written takes the answer to a PUT. It is false also when etcd answered cetcd
// with an error, so that only a compare-and-set may take it for a conflict.
func (c *codec) written(body []byte, e *store.Event) {
	e.Revision = unknown
	switch text := string(bytes.TrimSpace(body)); {
	case text == "true":
	case text == "false" && c.kind == kv.CAS:
		e.Outcome = kv.Conflict
	case text == "false":
		e.Outcome, e.Text = kv.StoreError, unsaid
	default:
		e.Outcome, e.Text = kv.StoreError, malformed
	}
}

// maxText bounds the text of an error, in bytes.
const maxText = 300

// failed fills an event with what an error means. A 400 to a write may stand
// for an error on etcd's side, so it is not definite; a redirect is.
func (c *codec) failed(r *http1.Response, e *store.Event) {
	text := bytes.TrimSpace(r.Body)
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	e.Outcome = kv.StoreError
	switch {
	case r.Status >= 300 && r.Status < 400:
		e.Outcome = kv.BadRequest
		text = []byte("cetcd redirects the request: a key must not have empty segments, nor . or .. as one")
	case r.Status == 404:
		e.Outcome = kv.BadRequest
		text = []byte("the server knows no /v1/kv: is this cetcd's port?")
	case string(text) == "Missing key name":
		e.Outcome = kv.BadRequest
	case len(text) == 0:
		text = strconv.AppendInt([]byte("HTTP status "), int64(r.Status), 10)
	}
	c.text = append(c.text[:0], text[:min(len(text), maxText)]...)
	e.Text = c.text
}

// entry is a key as the API's JSON describes it.
type entry struct {
	key   []byte
	value []byte // base64
	index int64
}

// parseEntry reads an object such as {"CreateIndex":1,"ModifyIndex":2,
// "LockIndex":0,"Key":"k","Flags":0,"Value":"dg==","Session":""}. What had to
// be decoded is in c.buf.
func (c *codec) parseEntry(s *jsonscan.Scanner) (found entry) {
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			break
		}
		switch string(name) {
		case "Key":
			found.key, c.buf = s.String(c.buf)
		case "Value":
			if !s.Null() {
				found.value, c.buf = s.String(c.buf)
			}
		case "ModifyIndex":
			found.index = s.Int()
		default:
			s.Skip()
		}
	}
	return found
}

// parseOne reads the answer about one key: [] if it is not there.
func (c *codec) parseOne(body []byte, e *store.Event) {
	c.buf = c.buf[:0]
	s := jsonscan.New(body)
	found, count := entry{}, int64(0)
	if s.Array() {
		for ; s.Element(); count++ {
			found = c.parseEntry(&s)
		}
	}
	switch {
	case !s.End() || count > 1:
		e.Outcome, e.Text = kv.StoreError, malformed
	case count == 0:
		e.Outcome = kv.Miss
	case found.index <= 0:
		e.Outcome, e.Text = kv.WrongAnswer, noIndex
	default:
		c.fill(e, found, count)
	}
}

// parseList counts the keys that lie in the interval asked for; the first of
// them is in the event.
func (c *codec) parseList(body []byte, e *store.Event) {
	c.buf = c.buf[:0]
	s := jsonscan.New(body)
	first, count := entry{}, int64(0)
	listed := c.keys != nil && !c.cut
	values := listed && c.keys.Begin(c.tag)
	for more := s.Array(); more && s.Element(); {
		kept := len(c.buf)
		k := c.parseEntry(&s)
		if why := c.strayIn(&k); why != nil && s.OK() {
			e.Outcome, e.Text = kv.WrongAnswer, why
			return
		}
		inside := bytes.Compare(k.key, c.from) >= 0 && (len(c.to) == 0 || bytes.Compare(k.key, c.to) < 0)
		switch {
		case !inside || c.limit > 0 && count == c.limit:
			c.buf = c.buf[:kept]
			continue
		case listed && !c.handOut(k, values):
			e.Outcome, e.Text = kv.StoreError, malformed
			return
		}
		if count++; count == 1 {
			first = k
			continue
		}
		c.buf = c.buf[:kept]
	}
	switch {
	case !s.End():
		e.Outcome, e.Text = kv.StoreError, malformed
	case count > 0:
		c.fill(e, first, count)
	}
}

// strayIn says what is wrong with a key of a list; nil for nothing.
func (c *codec) strayIn(k *entry) []byte {
	switch {
	case !bytes.HasPrefix(k.key, c.prefix):
		return stray
	case k.index <= 0:
		return noIndex
	}
	return nil
}

// handOut gives a key of a list to who checks it.
func (c *codec) handOut(k entry, values bool) bool {
	if !values {
		c.keys.Add(c.tag, k.key, nil)
		return true
	}
	from := len(c.buf)
	value, err := base64.StdEncoding.AppendDecode(c.buf, k.value)
	if err != nil {
		return false
	}
	c.keys.Add(c.tag, k.key, value[from:])
	c.buf = value[:from]
	return true
}

// fill puts what was found into the event.
func (c *codec) fill(e *store.Event, found entry, count int64) {
	from := len(c.buf)
	var err error
	if c.buf, err = base64.StdEncoding.AppendDecode(c.buf, found.value); err != nil {
		e.Outcome, e.Text = kv.StoreError, malformed
		return
	}
	e.Value, e.Revision, e.Count = c.buf[from:], found.index, count
	if !c.cut {
		e.Key = found.key
	}
}

// swap goes on with a compare-and-set whose key's version was read first. It
// returns false when that failed, with the event filled.
func (c *codec) swap(r *http1.Response, e *store.Event) bool {
	if r.Status != 200 {
		c.failed(r, e)
		return false
	}
	var found store.Event
	if c.parseOne(r.Body, &found); found.Outcome.Failed() {
		e.Outcome, e.Text = kv.NotSent, malformed
		return false
	}
	if c.conn.Draining() {
		e.Outcome, e.Text = kv.NotSent, []byte("the server closes the connection")
		return false
	}
	c.doing = all
	c.extra++
	c.write(c.key, c.value, found.Revision)
	return true
}

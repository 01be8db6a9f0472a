package etcdv2

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

var malformed = []byte("the server sent an answer that is none of etcd's v2 API")

// event fills the event of an operation that was answered.
func (c *codec) event(r *http1.Response, e *store.Event) {
	e.Term = r.Uint(fieldTerm)
	if c.Doing == httpkv.Listing {
		c.BeginList()
	}
	if r.Status != 200 && r.Status != 201 {
		if c.failed(r, e); !e.Outcome.Failed() {
			e.At = int64(r.Uint(fieldIndex))
		}
		return
	}
	var ok bool
	switch {
	case c.Doing == httpkv.Listing:
		ok = c.parseList(r.Body, e)
	case c.Kind == kv.Get:
		ok = c.parseGet(r.Body, e)
	default: // a write made the version that the store is at
		e.Revision = int64(r.Uint(fieldIndex))
		if c.Kind == kv.Delete {
			e.Count = 1
		}
		ok = c.parseWritten(r.Body, e)
	}
	if e.Outcome == kv.OK { // a get and a write hold the store's lock while they note it
		e.At = int64(r.Uint(fieldIndex))
	}
	switch {
	case !ok && e.Outcome == kv.OK:
		*e = store.Event{Tag: e.Tag, Outcome: kv.StoreError, Text: malformed}
	case ok && e.Outcome == kv.OK && (e.Count > 0 || c.Kind.Writes()) && e.Revision <= 0:
		wrong(e, noIndex)
	}
}

// Sentences about answers that the v2 API cannot have sent; nobody writes to
// them.
var (
	noIndex     = []byte("the answer has no index above 0: etcd gives every key one")
	otherAction = []byte("the answer is about another action than the one that was asked for")
	stray       = []byte("a list has a key outside of the folder that was asked for")
)

// wrong makes an event a wrong answer.
func wrong(e *store.Event, why []byte) {
	*e = store.Event{Tag: e.Tag, Extra: e.Extra, Term: e.Term, Outcome: kv.WrongAnswer, Text: why}
}

// node is a key or folder as the API's JSON describes it.
type node struct {
	key, value []byte
	modified   int64
	folder     bool
}

// parseWritten reads the answer to a write: what was done, and to which key.
// Without the value, which we do not ask for, the key is left out too.
func (c *codec) parseWritten(body []byte, e *store.Event) bool {
	action, n, ok := plainWrite(body)
	if !ok {
		if action, n, ok = c.parseEvent(body); !ok {
			return false
		}
	}
	if !c.asks(string(action)) {
		wrong(e, otherAction)
		return true
	}
	if len(n.key) == 0 {
		return true
	}
	if n.modified <= 0 {
		wrong(e, noIndex)
		return true
	}
	e.Key = c.asGiven(n.key)
	return true
}

// asks reports whether an action is what the operation asks for.
func (c *codec) asks(action string) bool {
	switch c.Kind {
	case kv.Put:
		return action == "set"
	case kv.Delete:
		return action == "delete"
	}
	return action == "compareAndSwap" || action == "create"
}

// parseEvent reads the answer to a write as JSON.
func (c *codec) parseEvent(body []byte) (action []byte, n node, ok bool) {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	ok = true
	for more := s.Object(); more && ok; {
		name, member := s.Member()
		if !member {
			break
		}
		switch string(name) {
		case "action":
			action, c.buf = s.String(c.buf)
		case "node":
			n, ok = c.parseNode(&s, nil, 0)
		default:
			s.Skip()
		}
	}
	return action, n, ok && s.End()
}

// openNode goes to the node of an answer: {"action":"get","node":{...}}.
func openNode(s *httpkv.JSONScanner) bool {
	for more := s.Object(); more; {
		name, ok := s.Member()
		if !ok {
			return false
		}
		if string(name) == "node" {
			return true
		}
		s.Skip()
	}
	return false
}

// parseGet reads the answer about one key.
func (c *codec) parseGet(body []byte, e *store.Event) bool {
	n, ok := parsePlain(body)
	if !ok {
		n, ok = c.parseOne(body)
	}
	if !ok || len(n.key) == 0 {
		return false
	}
	if n.folder {
		e.Outcome, e.Text = kv.BadRequest, []byte("the key is a folder")
		return false
	}
	e.Key, e.Value, e.Revision, e.Count = c.asGiven(n.key), n.value, n.modified, 1
	return true
}

// parseOne reads the answer about one key or folder, as JSON.
func (c *codec) parseOne(body []byte) (n node, ok bool) {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	if !openNode(&s) {
		return n, false
	}
	n, ok = c.parseNode(&s, nil, 0)
	closeNode(&s)
	return n, ok && s.End()
}

// closeNode passes over what follows the node.
func closeNode(s *httpkv.JSONScanner) {
	for _, ok := s.Member(); ok; _, ok = s.Member() {
		s.Skip()
	}
}

// asGiven is an answer's key as the operation spelt it.
func (c *codec) asGiven(key []byte) []byte {
	if c.Cut {
		return key
	}
	return httpkv.Bare(key)
}

// parseList counts the keys below a folder that lie in the interval asked for.
// The least of them is in the event; a list is in no order.
func (c *codec) parseList(body []byte, e *store.Event) bool {
	c.buf = c.buf[:0]
	s := httpkv.NewJSONScanner(body)
	if !openNode(&s) {
		return false
	}
	c.strayed = false
	n, ok := c.parseNode(&s, e, 0)
	closeNode(&s)
	if !ok || !s.End() {
		return false
	}
	if c.strayed {
		wrong(e, stray)
		return true
	}
	if !n.folder {
		c.countIn(&n, e)
	}
	if c.Limit > 0 && e.Count > c.Limit {
		e.Count = c.Limit
	}
	if e.Count > 0 {
		e.Key = c.asGiven(e.Key)
	}
	return true
}

// maxDepth bounds how deep folders may be nested.
const maxDepth = 1000

// parseNode reads an object such as {"key":"/k","value":"v","modifiedIndex":2,
// "createdIndex":1} or, for a folder, {"key":"/f","dir":true,"nodes":[...]}.
// Keys below it are counted in e, if that is not nil.
func (c *codec) parseNode(s *httpkv.JSONScanner, e *store.Event, depth int) (n node, ok bool) {
	if depth > maxDepth || !s.Object() {
		return n, false
	}
	for {
		name, more := s.Member()
		if !more {
			return n, s.OK()
		}
		switch string(name) {
		case "key":
			n.key, c.buf = s.String(c.buf)
		case "value":
			n.value, c.buf = s.String(c.buf)
		case "modifiedIndex":
			n.modified = s.Int()
		case "dir":
			n.folder = s.True()
		case "nodes":
			if e == nil {
				s.Skip()
			} else if !c.parseNodes(s, e, depth) {
				return n, false
			}
		default:
			s.Skip()
		}
	}
}

func (c *codec) parseNodes(s *httpkv.JSONScanner, e *store.Event, depth int) bool {
	for more := s.Array(); more && s.Element(); {
		kept := len(c.buf)
		n, ok := c.parseNode(s, e, depth+1)
		if !ok {
			return false
		}
		if !n.folder && !c.countIn(&n, e) {
			c.buf = c.buf[:kept]
		}
	}
	return s.OK()
}

// countIn counts a key if it is in the interval, and reports whether it is the
// least so far.
func (c *codec) countIn(n *node, e *store.Event) bool {
	if !bytes.HasPrefix(httpkv.Bare(n.key), c.folder) {
		c.strayed = true
	}
	if !c.Holds(httpkv.Bare(n.key)) {
		return false
	}
	if c.Listed && (c.Limit == 0 || e.Count < c.Limit) {
		c.HandOut(c.asGiven(n.key), n.value)
	}
	if e.Count++; e.Count > 1 && bytes.Compare(n.key, e.Key) >= 0 {
		return false
	}
	e.Key, e.Value, e.Revision = n.key, n.value, n.modified
	return true
}

package etcdv2

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/httpkv"
	"github.com/quorumbench/quorumbench/internal/wire/http1"
)

var malformed = []byte("the server's response is not in the format of etcd's v2 API")

// event fills in the event of the operation in flight from the response.
func (c *codec) event(r *http1.Response, e *store.Event) {
	e.Term = r.Uint(fieldTerm)
	if c.Purpose == httpkv.Listing {
		c.BeginList()
	}
	if r.Status != 200 && r.Status != 201 {
		if c.setFailure(r, e); !e.Outcome.Failed() {
			e.StoreRevision = int64(r.Uint(fieldIndex))
		}
		return
	}
	var ok bool
	switch {
	case c.Purpose == httpkv.Listing:
		ok = c.parseList(r.Body, e)
	case c.Kind == kv.Get:
		ok = c.parseGet(r.Body, e)
	default: // a write: the version that it created is the store's index in the response header
		e.Revision = int64(r.Uint(fieldIndex))
		if c.Kind == kv.Delete {
			e.Count = 1
		}
		ok = c.parseWritten(r.Body, e)
	}
	// The index in the response header is the store's index just after the operation, because
	// etcd holds the store's lock while it executes the operation and records the index.
	if e.Outcome == kv.OK {
		e.StoreRevision = int64(r.Uint(fieldIndex))
	}
	switch {
	case !ok && e.Outcome == kv.OK:
		*e = store.Event{Tag: e.Tag, Outcome: kv.StoreError, Text: malformed}
	case ok && e.Outcome == kv.OK && (e.Count > 0 || c.Kind.Writes()) && e.Revision <= 0:
		setWrongResponse(e, noIndex)
	}
}

// Descriptions of responses that the v2 API cannot have sent. They must not be modified.
var (
	noIndex     = []byte("the response contains no index above 0, but every key in etcd has one")
	wrongAction = []byte("the action in the response is not the requested action")
	strayKey    = []byte("the list contains a key that is outside the requested folder")
)

// setWrongResponse changes the event to a wrong response with the given explanation.
func setWrongResponse(e *store.Event, reason []byte) {
	*e = store.Event{Tag: e.Tag, ExtraRequests: e.ExtraRequests, Term: e.Term, Outcome: kv.WrongResponse, Text: reason}
}

// node is a key or a folder in the v2 API's JSON.
type node struct {
	key, value []byte
	modified   int64
	folder     bool
}

// parseWritten parses the response to a write. The response contains the action and, unless the
// request sets noValueOnSuccess, the key.
func (c *codec) parseWritten(body []byte, e *store.Event) bool {
	action, n, ok := plainWrite(body)
	if !ok {
		if action, n, ok = c.parseEvent(body); !ok {
			return false
		}
	}
	if !c.isRequested(string(action)) {
		setWrongResponse(e, wrongAction)
		return true
	}
	if len(n.key) == 0 {
		return true
	}
	if n.modified <= 0 {
		setWrongResponse(e, noIndex)
		return true
	}
	e.Key = c.restoreSlash(n.key)
	return true
}

// isRequested reports whether the operation in flight requested the given action.
func (c *codec) isRequested(action string) bool {
	switch c.Kind {
	case kv.Put:
		return action == "set"
	case kv.Delete:
		return action == "delete"
	}
	return action == "compareAndSwap" || action == "create"
}

// parseEvent uses the JSON scanner to parse the response to a write.
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

// openNode moves the scanner to the node in a response such as {"action":"get","node":{...}}.
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

// parseGet parses the response to a read of one key.
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
	e.Key, e.Value, e.Revision, e.Count = c.restoreSlash(n.key), n.value, n.modified, 1
	return true
}

// parseOne uses the JSON scanner to parse a response that contains one key or folder.
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

// closeNode skips the members of the response that follow the node.
func closeNode(s *httpkv.JSONScanner) {
	for _, ok := s.Member(); ok; _, ok = s.Member() {
		s.Skip()
	}
}

// restoreSlash returns a key from a response in the spelling of the operation: with a leading slash
// only if the operation's key has one.
func (c *codec) restoreSlash(key []byte) []byte {
	if c.SlashTrimmed {
		return key
	}
	return httpkv.TrimSlash(key)
}

// parseList counts the listed keys that are in the requested interval. The list is not sorted, so
// parseList searches the whole list for the smallest of these keys, and stores this key in the
// event.
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
		setWrongResponse(e, strayKey)
		return true
	}
	// If a key has the name of the requested folder, the response contains that key, which is
	// outside the interval.
	if !n.folder && !bytes.Equal(bytes.Trim(n.key, "/"), bytes.Trim(c.folder, "/")) {
		c.countKey(&n, e)
	}
	if c.Limit > 0 && e.Count > c.Limit {
		e.Count = c.Limit
	}
	if e.Count > 0 {
		e.Key = c.restoreSlash(e.Key)
	}
	return true
}

// maxDepth limits how deep folders may be nested.
const maxDepth = 1000

// parseNode parses an object such as {"key":"/k","value":"v","modifiedIndex":2,"createdIndex":1}
// or, for a folder, {"key":"/f","dir":true,"nodes":[...]}. If e is not nil, parseNode also counts
// the keys below the node and adds the count to e.
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
			n.folder = s.Bool()
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
		bufLen := len(c.buf)
		n, ok := c.parseNode(s, e, depth+1)
		if !ok {
			return false
		}
		if !n.folder && !c.countKey(&n, e) {
			c.buf = c.buf[:bufLen]
		}
	}
	return s.OK()
}

// countKey counts a key if it is in the requested interval. It returns true if the key is the
// smallest so far.
func (c *codec) countKey(n *node, e *store.Event) bool {
	if !bytes.HasPrefix(httpkv.TrimSlash(n.key), c.folder) {
		c.strayed = true
	}
	if !c.Contains(httpkv.TrimSlash(n.key)) {
		return false
	}
	if c.Listed && (c.Limit == 0 || e.Count < c.Limit) {
		c.PassKey(c.restoreSlash(n.key), n.value)
	}
	if e.Count++; e.Count > 1 && bytes.Compare(n.key, e.Key) >= 0 {
		return false
	}
	e.Key, e.Value, e.Revision = n.key, n.value, n.modified
	return true
}

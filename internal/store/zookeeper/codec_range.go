package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// submitRange requests the children of the key's parent. If the key ends with a slash, the interval
// starts at the first child of the node before the slash.
func (c *codec) submitRange(call jute.Call, op *store.Op) {
	p := jute.Path{Rest: op.Key}
	if len(op.Key) == 0 || op.Key[0] != '/' {
		p.Prefix = "/"
	}
	parent := parentOf(p)
	names := bytes.TrimPrefix(parent.Rest, []byte("/"))
	if wrong := invalidPathReason(names); wrong != "" && len(names) > 0 {
		c.refuse(call, wrong)
		return
	}
	c.syncFirst(&call, parent, op.Consistency)
	call.Sub = callRange
	// The reply contains child names without the parent's path. So keep only those parts of the
	// key and the end that follow the parent's path. If End is empty, only the key itself is
	// requested.
	cut := len(parent.Rest)
	if cut < len(op.Key) && op.Key[cut] == '/' {
		cut++
	}
	c.ranges.push(op.Key[cut:])
	c.ranges.push(childIntervalEnd(op, cut))
	c.limits = append(c.limits, op.Range.Limit)
	c.conn.GetChildren(call, parent, false)
}

// childIntervalEnd converts the end of a key interval to the end of an interval of child names. If
// only the key is requested, it returns nil. If the interval includes all later children of the
// parent, it returns a zero byte. Otherwise it returns the part of End that follows the parent's
// path.
func childIntervalEnd(op *store.Op, cut int) []byte {
	switch end := op.Range.End; {
	case len(end) == 0:
		return nil
	case bytes.HasPrefix(end, op.Key[:cut]) && len(end) > cut:
		return end[cut:]
	}
	return []byte{0}
}

// rangeDone handles the reply to a range.
func (c *codec) rangeDone(r *jute.Reply, e *store.Event, key, end []byte) bool {
	code := r.Code
	if r.Extra > 0 && c.syncCode != jute.OK {
		code = c.syncCode
	}
	switch {
	case code == jute.NoNode:
	case code != jute.OK:
		setFailure(e, code)
	default:
		return c.childrenDone(r, e, key, end)
	}
	return true
}

// childrenDone checks a list of children and counts the children in the interval from `key` to
// `end`.
func (c *codec) childrenDone(r *jute.Reply, e *store.Event, key, end []byte) bool {
	b := jute.NewReader(r.Body)
	n := b.Count(4)
	look := c.names.begin(n)
	for range n {
		at := len(r.Body) - len(b.Rest())
		name := b.Buffer()
		if isInRange(name, key, end) {
			e.Count++
		}
		switch {
		case len(name) == 0 || bytes.IndexByte(name, '/') >= 0:
			setWrongResponse(e, invalidName)
		case look && c.names.insert(r.Body, at, name):
			setWrongResponse(e, duplicateName)
		}
	}
	hidden := c.dialect.MayHideChild && isRoot(r)
	if s := b.Stat(); int(s.NumChildren) != n && !hidden && e.Outcome == kv.OK {
		setWrongResponse(e, wrongCount)
	}
	if r.Extra > 0 {
		setWrongResponse(e, c.syncProblem)
	}
	return b.OK()
}

// isRoot reports whether a request is for the root node.
func isRoot(r *jute.Reply) bool {
	b := jute.NewReader(r.Request)
	return len(b.Buffer()) == 1
}

func isInRange(name, key, end []byte) bool {
	switch {
	case len(end) == 0:
		return bytes.Equal(name, key)
	case len(end) == 1 && end[0] == 0:
		return bytes.Compare(name, key) >= 0
	}
	return bytes.Compare(name, key) >= 0 && bytes.Compare(name, end) < 0
}

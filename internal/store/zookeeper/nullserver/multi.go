package nullserver

import (
	"bytes"
	"encoding/binary"
	"slices"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// multi executes either all operations of a request or none. It appends the record of the reply.
func (s *session) multi(request, b []byte) (_ []byte, ok bool) {
	ops, ok := jute.ReadMulti(request, nil)
	if !ok {
		return b, false
	}
	start, zxid, u := len(b), s.tree.NextRevision(), undo{tree: s.tree}
	for i := range ops {
		var code jute.Code
		if b, code = s.multiOp(zxid, &ops[i], b, &u); code != jute.OK {
			u.restore()
			b = appendMultiErrors(b[:start], len(ops), i, code)
			break
		}
	}
	return appendMultiHeader(b, jute.OpError, true, -1), true
}

// multiOp executes one operation and appends its result.
func (s *session) multiOp(zxid int64, op *jute.MultiOp, b []byte, u *undo) ([]byte, jute.Code) {
	t, path := s.tree, string(op.Path.Rest)
	b = appendMultiHeader(b, op.Op, false, 0)
	switch op.Op {
	case jute.OpCreate:
		u.remember(parentOf(path))
		made, _, code := t.create(zxid, path, op.Data, op.Mode, s.id)
		if code == jute.OK {
			u.log = append(u.log, change{path: made})
		}
		return jute.AppendBuffer(b, made), code
	case jute.OpSetData:
		u.remember(path)
		e, code := t.set(zxid, op.Path.Rest, op.Data, op.Version)
		if code == jute.OK {
			b = appendStat(b, e)
		}
		return b, code
	case jute.OpDelete:
		u.remember(path)
		u.remember(parentOf(path))
		return b, t.remove(path, op.Version)
	case jute.OpCheck:
		_, code := t.nodeWithVersion(op.Path.Rest, op.Version)
		return b, code
	}
	return b, jute.Unimplemented
}

// undo restores the nodes that a multi changed before one of its operations failed.
type undo struct {
	tree *tree
	log  []change
}

// change is a node that an operation may have changed, with the state before the change.
type change struct {
	path   string
	before *entry // nil if the node did not exist
}

// remember saves the current state of a node.
func (u *undo) remember(path string) {
	var before *entry
	if e := u.tree.Get([]byte(path)); e != nil {
		was := *e
		was.Value = bytes.Clone(e.Value)
		before = &was
	}
	u.log = append(u.log, change{path, before})
}

// restore reverts all changes, starting with the last one.
func (u *undo) restore() {
	t := u.tree
	t.watches.changed = t.watches.changed[:0]
	if t.canned != nil {
		return
	}
	for _, c := range slices.Backward(u.log) {
		if c.before == nil {
			if e := t.Get([]byte(c.path)); e != nil {
				t.forget(e)
			}
			continue
		}
		was, e := c.before, t.Entry([]byte(c.path))
		e.Value, e.Created, e.Changed, e.Version, e.Data = was.Value, was.Created, was.Changed, was.Version, was.Data
		if e.Data.owner != 0 {
			t.makeEphemeral(e, e.Data.owner)
		}
	}
}

func appendMultiHeader(b []byte, op jute.Op, done bool, code jute.Code) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(op))
	if done {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	return binary.BigEndian.AppendUint32(b, uint32(code))
}

// appendMultiErrors appends the results of a multi with n operations. The operation with the index
// `failed` failed with the code `why`.
func appendMultiErrors(b []byte, n, failed int, why jute.Code) []byte {
	for i := range n {
		code := why
		switch {
		case i < failed:
			code = jute.OK
		case i > failed:
			code = jute.RuntimeInconsistency
		}
		b = appendMultiHeader(b, jute.OpError, false, code)
		b = binary.BigEndian.AppendUint32(b, uint32(code))
	}
	return b
}

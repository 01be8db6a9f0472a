package nullserver

import (
	"encoding/binary"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// undo brings back what a multi has changed before one of its operations
// failed.
type undo struct {
	path   string
	before *node // nil: there was none
}

// multi does all operations of a request or none, and appends the answer's
// record.
func (s *session) multi(r *jute.Reader, b []byte) ([]byte, bool) {
	var undone []undo
	var codes []jute.Code
	start, failed := len(b), jute.OK
	zxid := s.tree.zxid + 1
	for {
		op, done, _ := jute.Op(r.Int()), r.Bool(), r.Int()
		if !r.OK() {
			return b, false
		}
		if done {
			break
		}
		s.tree.zxid = zxid - 1 // all are one transaction
		code, record, path := s.multiOp(op, r, &undone)
		if !r.OK() {
			return b, false
		}
		if failed != jute.OK {
			code = jute.RuntimeInconsistency
		}
		if codes = append(codes, code); code != jute.OK && failed == jute.OK {
			failed = code
			s.restore(undone)
		}
		b = appendMultiHeader(b, op, false, 0)
		switch {
		case record != nil:
			b = appendStat(b, record)
		case path != "":
			b = jute.AppendBuffer(b, path)
		}
		if failed != jute.OK {
			s.dry = true // what follows is read and not done
		}
	}
	s.dry = false
	s.tree.zxid = zxid
	if failed != jute.OK {
		b = b[:start]
		for _, code := range codes {
			b = appendMultiHeader(b, jute.OpError, false, code)
			b = binary.BigEndian.AppendUint32(b, uint32(code))
		}
	}
	return appendMultiHeader(b, jute.OpError, true, -1), true
}

// multiOp does one operation. It returns the node whose Stat, or the path, the
// answer carries.
func (s *session) multiOp(op jute.Op, r *jute.Reader, undone *[]undo) (code jute.Code, stat *node, path string) {
	name := string(r.Buffer())
	var data []byte
	var last int32
	switch op {
	case jute.OpCreate:
		data = r.Buffer()
		skipACL(r)
		last = r.Int()
	case jute.OpSetData:
		data = r.Buffer()
		last = r.Int()
	case jute.OpDelete, jute.OpCheck:
		last = r.Int()
	default:
		return jute.Unimplemented, nil, ""
	}
	if !r.OK() || s.dry {
		return jute.OK, nil, ""
	}
	t := s.tree
	if op != jute.OpCheck && op != jute.OpCreate {
		*undone = append(*undone, undo{name, copyOf(t.nodes[name])})
	}
	switch op {
	case jute.OpCreate:
		path, _, code = t.create(name, data, jute.Mode(last), s.id)
		if code == jute.OK {
			*undone = append(*undone, undo{path, nil})
		}
	case jute.OpSetData:
		stat, code = t.set([]byte(name), data, last)
	case jute.OpDelete:
		code = t.remove(name, last)
	case jute.OpCheck:
		code = t.check([]byte(name), last)
	}
	return code, stat, path
}

func copyOf(n *node) *node {
	if n == nil {
		return nil
	}
	c := *n
	c.data = append([]byte(nil), n.data...)
	return &c
}

// restore undoes changes, the last first.
func (s *session) restore(undone []undo) {
	t := s.tree
	if t.canned != nil {
		return
	}
	for i := len(undone) - 1; i >= 0; i-- {
		u := undone[i]
		switch now := t.nodes[u.path]; {
		case u.before == nil && now != nil:
			t.remove(u.path, jute.AnyVersion)
		case u.before == nil:
		case now != nil:
			*now = *u.before
		default:
			t.nodes[u.path] = u.before
			parent, name := split(u.path)
			t.nodes[parent].children[name] = struct{}{}
			if o := t.sessions[u.before.owner]; o != nil {
				o.ephemeral[u.path] = struct{}{}
			}
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

package nullserver

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// set changes a node's data, or says so: the entry is what the answer tells.
func (s *session) set(path, data []byte, version int32) (*entry, jute.Code) {
	zxid, asked := s.tree.Next(), version
	if s.lie == null.LieCAS {
		version = jute.AnyVersion
	}
	e, code := s.tree.at(path, version)
	if s.lie < null.LieLost || s.tree.canned != nil || code != jute.OK {
		return s.tree.set(zxid, path, data, version)
	}
	tells := entry{Value: bytes.Clone(data), Created: e.Created, Changed: zxid, Version: e.Version + 1, With: e.With}
	if s.lie != null.LieLost {
		e.Set(data, zxid)
		s.tree.note(jute.NodeDataChanged, string(path))
	}
	switch {
	case s.lie == null.LieTwice:
		e.Set(data, s.tree.Next())
		s.told = zxid
	case s.lie == null.LieCAS && asked != jute.AnyVersion:
		tells.Version = int64(asked) + 2 // one after that which was asked for
	}
	return &tells, jute.OK
}

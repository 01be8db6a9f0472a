package nullserver

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// create makes a node, or says so. One without data is the parent of others, which are
// tried again where it is not there.
func (s *session) create(path string, data []byte, mode jute.Mode) (string, *entry, jute.Code) {
	t, noted := s.tree, len(s.tree.watches.changed)
	if there := t.Get([]byte(path)); s.lie == null.LieCAS && there != nil && there.With.owner != 0 {
		t.drop(there) // as if nobody had made it
	}
	path, e, code := t.create(t.Next(), path, data, mode, s.id)
	if s.lie == null.LieOutlive {
		delete(t.sessions[s.id], path) // which does not know of it
	}
	if s.lie != null.LieLost || t.canned != nil || code != jute.OK || len(data) == 0 {
		return path, e, code
	}
	tells := *e
	t.drop(e)
	t.watches.changed = t.watches.changed[:noted]
	return path, &tells, code
}

// endOne takes a node off that is to live as long as the session, which goes on.
func (s *session) endOne() {
	first := ""
	for path := range s.tree.sessions[s.id] {
		if first == "" || path < first {
			first = path
		}
	}
	if first == "" {
		return
	}
	zxid := s.tree.Next()
	s.tree.publish(s.tree.remove(first, jute.AnyVersion) == jute.OK, zxid)
}

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

package nullserver

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// create creates a node. With the lie LieLost, the reply claims success although the node is not
// kept. LieLost does not apply to a node without data, because such a node is a parent, and clients
// create missing parents again.
func (s *session) create(path string, data []byte, mode jute.Mode) (string, *entry, jute.Code) {
	t, noted := s.tree, len(s.tree.watches.changed)
	if there := t.Get([]byte(path)); s.lie == null.LieCAS && there != nil && there.Data.owner != 0 {
		t.drop(there) // as if the node did not exist
	}
	path, e, code := t.create(t.NextRevision(), path, data, mode, s.id)
	if s.lie == null.LieOutlive {
		delete(t.sessions[s.id], path) // so that the node is not deleted when its session ends
	}
	if s.lie != null.LieLost || t.canned != nil || code != jute.OK || len(data) == 0 {
		return path, e, code
	}
	tells := *e
	t.drop(e)
	t.watches.changed = t.watches.changed[:noted]
	return path, &tells, code
}

// removeOneEphemeral removes one ephemeral node of a session that is still alive.
func (s *session) removeOneEphemeral() {
	first := ""
	for path := range s.tree.sessions[s.id] {
		if first == "" || path < first {
			first = path
		}
	}
	if first == "" {
		return
	}
	zxid := s.tree.NextRevision()
	s.tree.publish(s.tree.remove(first, jute.AnyVersion) == jute.OK, zxid)
}

// set changes a node's data and returns the entry for the reply. If the script demands a lie, set
// may omit or repeat the change, ignore the version, or return a false entry.
func (s *session) set(path, data []byte, version int32) (*entry, jute.Code) {
	zxid, asked := s.tree.NextRevision(), version
	if s.lie == null.LieCAS {
		version = jute.AnyVersion
	}
	e, code := s.tree.nodeWithVersion(path, version)
	if s.lie < null.LieLost || s.tree.canned != nil || code != jute.OK {
		return s.tree.set(zxid, path, data, version)
	}
	tells := entry{Value: bytes.Clone(data), Created: e.Created, Changed: zxid, Version: e.Version + 1, Data: e.Data}
	if s.lie != null.LieLost {
		e.Set(data, zxid)
		s.tree.recordChange(jute.NodeDataChanged, string(path))
	}
	switch {
	case s.lie == null.LieTwice:
		e.Set(data, s.tree.NextRevision())
		s.answeredZxid = zxid
	case s.lie == null.LieCAS && asked != jute.AnyVersion:
		tells.Version = int64(asked) + 2 // one more than the correct new version
	}
	return &tells, jute.OK
}

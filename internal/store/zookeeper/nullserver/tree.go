package nullserver

import (
	"bytes"
	"fmt"
	"sort"
	"strings"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/null"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// epoch is the upper half of every zxid of a null cluster. Clients read it as the leader's term.
const epoch = 2

func newTree(o *store.NullOptions) *tree {
	t := &tree{Space: null.NewSpace[node](1, epoch<<32), sessions: map[int64]map[string]struct{}{}, lastID: epoch << 56, watches: newWatches()}
	t.Entry([]byte("/")).Set(nil, 0)
	if !o.Memory {
		t.canned = &entry{Value: bytes.Repeat([]byte("0"), o.ValueSize), Version: 2, Created: t.Revision(), Changed: t.Revision()}
	}
	return t
}

// parentOf returns the path of a node's parent.
func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// get returns the node at path, or nil if there is none.
func (t *tree) get(path []byte) *entry {
	if t.canned != nil {
		return t.canned
	}
	return t.Get(path)
}

// nodeWithVersion returns the node at path if it has the given version. Otherwise it returns an
// error code.
func (t *tree) nodeWithVersion(path []byte, version int32) (*entry, jute.Code) {
	e := t.get(path)
	switch {
	case e == nil:
		return nil, jute.NoNode
	case t.canned == nil && version != jute.AnyVersion && version != versionOf(e):
		return nil, jute.BadVersion
	}
	return e, jute.OK
}

// versionOf returns how often a node's data was changed since the node was created.
func versionOf(e *entry) int32 { return int32(e.Version - 1) }

// set changes a node's data in the transaction with the given zxid.
func (t *tree) set(zxid int64, path, data []byte, version int32) (*entry, jute.Code) {
	e, code := t.nodeWithVersion(path, version)
	switch {
	case code != jute.OK:
	case t.canned != nil:
		t.writtenEntry = entry{Value: data, Version: int64(max(version+1, 1)) + 1, Created: e.Created, Changed: zxid}
		e = &t.writtenEntry
	default:
		e.Set(data, zxid)
	}
	if code == jute.OK && t.watches.n > 0 {
		t.recordChange(jute.NodeDataChanged, string(path))
	}
	return e, code
}

// create creates a node. If mode is sequential, it appends ten digits to the path.
func (t *tree) create(zxid int64, path string, data []byte, mode jute.Mode, session int64) (string, *entry, jute.Code) {
	if t.canned != nil {
		t.writtenEntry = entry{Value: data, Version: 1, Created: zxid, Changed: zxid}
		return path, &t.writtenEntry, jute.OK
	}
	if len(path) < 2 || path[0] != '/' || strings.Contains(path, "//") {
		return "", nil, jute.BadArguments
	}
	p := t.Get([]byte(parentOf(path)))
	switch {
	case p == nil:
		return "", nil, jute.NoNode
	case p.Data.owner != 0:
		return "", nil, jute.NoChildrenForEphemerals
	}
	switch mode {
	case jute.PersistentSequential, jute.EphemeralSequential, jute.PersistentSequentialTTL:
		path += fmt.Sprintf("%010d", p.Data.createdChildren)
	}
	switch {
	case strings.HasSuffix(path, "/"):
		return "", nil, jute.BadArguments
	case t.Get([]byte(path)) != nil:
		return "", nil, jute.NodeExists
	}
	e := t.Entry([]byte(path))
	e.Set(data, zxid)
	if mode == jute.Ephemeral || mode == jute.EphemeralSequential {
		t.makeEphemeral(e, session)
	}
	p.Data.children++
	p.Data.createdChildren++
	p.Data.cversion++
	t.recordChange(jute.NodeCreated, path)
	return path, e, jute.OK
}

// makeEphemeral binds a node to a session: when the session ends, the node is removed.
func (t *tree) makeEphemeral(e *entry, session int64) {
	e.Data.owner = session
	if paths := t.sessions[session]; paths != nil {
		paths[e.Key] = struct{}{}
	}
}

// remove deletes a node.
func (t *tree) remove(path string, version int32) jute.Code {
	if path == "/" && t.canned == nil {
		return jute.BadArguments
	}
	e, code := t.nodeWithVersion([]byte(path), version)
	switch {
	case code != jute.OK || t.canned != nil:
		return code
	case e.Data.children > 0:
		return jute.NotEmpty
	}
	t.drop(e)
	t.recordChange(jute.NodeDeleted, path)
	return jute.OK
}

// drop removes a node and updates its parent.
func (t *tree) drop(e *entry) {
	p := t.Get([]byte(parentOf(e.Key)))
	p.Data.children--
	p.Data.cversion++
	t.forget(e)
}

// forget removes a node from the tree and from the session that owns the node.
func (t *tree) forget(e *entry) {
	t.Remove(e)
	delete(t.sessions[e.Data.owner], e.Key)
}

// children calls the function `visit` with the name of each child of a node. In key order, each
// child is directly followed by its descendants, which are skipped.
func (t *tree) children(path []byte, visit func(name string)) {
	prefix := strings.TrimSuffix(string(path), "/") + "/"
	for list := t.Prefixed([]byte(prefix)); len(list) > 0; {
		name, _, below := strings.Cut(list[0].Key[len(prefix):], "/")
		if below {
			beyond := prefix + name + string('/'+1)
			list = list[sort.Search(len(list), func(i int) bool { return list[i].Key >= beyond }):]
			continue
		}
		if name != "" { // the name is empty for the root itself
			visit(name)
		}
		list = list[1:]
	}
}

// beginSession creates a session.
func (t *tree) beginSession() int64 {
	t.NextRevision()
	t.lastID++
	t.sessions[t.lastID] = map[string]struct{}{}
	return t.lastID
}

// endSession removes a session and its ephemeral nodes.
func (t *tree) endSession(id int64) {
	t.NextRevision()
	for path := range t.sessions[id] {
		t.remove(path, jute.AnyVersion)
	}
	delete(t.sessions, id)
}

package nullserver

import (
	"strings"
	"sync"

	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// epoch is the term of a null cluster.
const epoch = 2

// tree is the nodes of a null cluster, which its members share, and its
// sessions. Overwriting a node with data no larger than before allocates
// nothing. A connection holds the lock for a whole batch of requests.
type tree struct {
	mu     sync.Mutex // guards what follows
	nodes  map[string]*node
	zxid   int64
	canned *node // not nil: every node is this one, and nothing is remembered
	wrote  node  // what it is said to be after a write

	sessions map[int64]*owner
	lastID   int64
}

// node is what is known of one node.
type node struct {
	data         []byte
	version      int32
	cversion     int32
	czxid, mzxid int64
	owner        int64
	children     map[string]struct{}
	made         int32 // children ever made, for sequential names
}

// owner is a session and the ephemeral nodes that end with it.
type owner struct{ ephemeral map[string]struct{} }

func newTree(o *Options) *tree {
	t := &tree{
		nodes: map[string]*node{"/": {}}, zxid: epoch << 32,
		sessions: map[int64]*owner{}, lastID: epoch << 56,
	}
	if o.NoMemory {
		t.canned = &node{data: o.Value, version: 1, czxid: t.zxid, mzxid: t.zxid}
	}
	return t
}

// split is a path's parent and name.
func split(path string) (parent, name string) {
	i := strings.LastIndexByte(path, '/')
	if i <= 0 {
		return "/", path[i+1:]
	}
	return path[:i], path[i+1:]
}

// get returns a node, or nil.
func (t *tree) get(path []byte) *node {
	if t.canned != nil {
		return t.canned
	}
	return t.nodes[string(path)]
}

// set changes a node's data.
func (t *tree) set(path, data []byte, version int32) (*node, jute.Code) {
	t.zxid++
	n := t.get(path)
	switch {
	case n == nil:
		return nil, jute.NoNode
	case t.canned != nil:
		t.wrote = node{data: data, version: max(version+1, 1), czxid: n.czxid, mzxid: t.zxid}
		return &t.wrote, jute.OK
	case version != jute.AnyVersion && version != n.version:
		return nil, jute.BadVersion
	}
	n.data = append(n.data[:0], data...)
	n.version++
	n.mzxid = t.zxid
	return n, jute.OK
}

// sequenceDigits is how many digits a sequential node's name ends with.
const sequenceDigits = 10

// create makes a node and returns its path, which a sequential mode extends.
func (t *tree) create(path string, data []byte, mode jute.Mode, session int64) (string, *node, jute.Code) {
	t.zxid++
	if t.canned != nil {
		t.wrote = node{data: data, czxid: t.zxid, mzxid: t.zxid}
		return path, &t.wrote, jute.OK
	}
	parent, _ := split(path)
	p := t.nodes[parent]
	switch {
	case len(path) < 2 || path[0] != '/' || strings.Contains(path, "//"):
		return "", nil, jute.BadArguments
	case p == nil:
		return "", nil, jute.NoNode
	case p.owner != 0:
		return "", nil, jute.NoChildrenForEphemerals
	}
	switch mode {
	case jute.PersistentSequential, jute.EphemeralSequential, jute.PersistentSequentialTTL:
		path += sequence(p.made)
	}
	_, name := split(path)
	if name == "" {
		return "", nil, jute.BadArguments
	}
	if t.nodes[path] != nil {
		return "", nil, jute.NodeExists
	}
	n := &node{data: append([]byte(nil), data...), czxid: t.zxid, mzxid: t.zxid}
	if mode == jute.Ephemeral || mode == jute.EphemeralSequential {
		n.owner = session
		t.sessions[session].ephemeral[path] = struct{}{}
	}
	if p.children == nil {
		p.children = map[string]struct{}{}
	}
	p.children[name] = struct{}{}
	p.made++
	p.cversion++
	t.nodes[path] = n
	return path, n, jute.OK
}

// sequence is a number with leading zeros.
func sequence(n int32) string {
	b := [sequenceDigits]byte{}
	for i := len(b) - 1; i >= 0; i-- {
		b[i] = byte('0' + n%10)
		n /= 10
	}
	return string(b[:])
}

// remove deletes a node.
func (t *tree) remove(path string, version int32) jute.Code {
	t.zxid++
	n := t.nodes[path]
	switch {
	case t.canned != nil:
		return jute.OK
	case path == "/":
		return jute.BadArguments
	case n == nil:
		return jute.NoNode
	case version != jute.AnyVersion && version != n.version:
		return jute.BadVersion
	case len(n.children) > 0:
		return jute.NotEmpty
	}
	parent, name := split(path)
	p := t.nodes[parent]
	delete(p.children, name)
	p.cversion++
	delete(t.nodes, path)
	if o := t.sessions[n.owner]; o != nil {
		delete(o.ephemeral, path)
	}
	return jute.OK
}

// check looks at a node's version.
func (t *tree) check(path []byte, version int32) jute.Code {
	n := t.get(path)
	switch {
	case n == nil:
		return jute.NoNode
	case t.canned == nil && version != jute.AnyVersion && version != n.version:
		return jute.BadVersion
	}
	return jute.OK
}

// begin makes a session.
func (t *tree) begin() int64 {
	t.zxid++
	t.lastID++
	t.sessions[t.lastID] = &owner{ephemeral: map[string]struct{}{}}
	return t.lastID
}

// end forgets a session and removes its nodes.
func (t *tree) end(id int64) {
	t.zxid++
	o := t.sessions[id]
	if o == nil {
		return
	}
	for path := range o.ephemeral {
		t.remove(path, jute.AnyVersion)
	}
	delete(t.sessions, id)
}

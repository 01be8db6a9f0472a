package nullserver

import (
	"slices"
	"testing"

	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// TestFailedMultiLeavesNothing checks that a failed multi leaves every node unchanged, even if its
// earlier operations created and changed a node, or removed and created it again.
func TestFailedMultiLeavesNothing(t *testing.T) {
	s := prepared(t, store.NullOptions{Memory: true})
	tree := s.tree
	session := session{server: s, tree: tree, id: tree.beginSession()}
	for path, mode := range map[string]jute.Mode{"/m": jute.Persistent, "/e": jute.Ephemeral} {
		if _, _, code := tree.create(tree.NextRevision(), path, []byte("first"), mode, session.id); code != jute.OK {
			t.Fatal(path, code)
		}
	}
	made := tree.get([]byte("/")).Data.createdChildren
	op := func(op jute.Op, path, data string) jute.MultiOp {
		return jute.MultiOp{Op: op, Path: jute.Path{Rest: []byte(path)}, Data: []byte(data), Version: jute.AnyVersion, ACL: jute.OpenACL()}
	}
	client := jute.NewConn(jute.Config{})
	client.Multi(jute.Call{}, []jute.MultiOp{
		op(jute.OpCreate, "/n", "1"), op(jute.OpSetData, "/n", "2"), op(jute.OpCreate, "/n/x", ""),
		op(jute.OpSetData, "/m", "second"), op(jute.OpDelete, "/m", ""), op(jute.OpCreate, "/m", "third"),
		op(jute.OpDelete, "/e", ""), op(jute.OpCheck, "/absent", ""),
	})
	const header = 4 + 4 + 4 // length, xid, type
	if _, ok := session.multi(lastFrame(client.Out())[header:], nil); !ok {
		t.Fatal("the null server could not decode the multi request")
	}
	var names []string
	tree.children([]byte("/"), func(name string) { names = append(names, name) })
	root, m, e := tree.get([]byte("/")), tree.get([]byte("/m")), tree.get([]byte("/e"))
	if !slices.Equal(names, []string{"e", "m"}) || root.Data.children != 2 || root.Data.createdChildren != made {
		t.Errorf("the root has the children %q and the data %+v", names, root.Data)
	}
	if string(m.Value) != "first" || versionOf(m) != 0 || e.Data.owner != session.id {
		t.Errorf("%+v %+v", m, e)
	}
	tree.endSession(session.id)
	if tree.get([]byte("/e")) != nil || tree.get([]byte("/m")) == nil || root.Data.children != 1 {
		t.Errorf("after the end of the session, the root is %+v", root.Data)
	}
}

// lastFrame returns the last frame in b.
func lastFrame(b []byte) []byte {
	for frameLen(b) < len(b) {
		b = b[frameLen(b):]
	}
	return b
}

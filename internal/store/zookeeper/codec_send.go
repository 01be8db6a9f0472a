package zookeeper

import (
	"encoding/binary"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// syncFirst asks the member to catch up with its leader before a read that is
// more than local.
func (c *codec) syncFirst(call *jute.Call, p jute.Path, level kv.Consistency) {
	if level != kv.Local {
		call.Sub, call.Extra = callSync, 1
		c.conn.Sync(*call, p)
	}
}

// refuse answers an operation that cannot be sent. An answer can only come from
// Feed and in turn, so the server is asked for something that changes nothing.
func (c *codec) refuse(call jute.Call, why string) {
	c.reasons = append(c.reasons, why)
	call.Sub = callRefused
	c.conn.Exists(call, jute.Path{Prefix: "/"}, false)
}

// maxExtra bounds how many requests one operation takes: others may create and
// remove its node again and again while it tries.
const maxExtra = 200

// failed fills an event with an error.
func failed(e *store.Event, code jute.Code) {
	e.Outcome = outcomeOf(code)
	e.Text = fmt.Appendf(nil, "ZooKeeper answered %v (%d)", code, int32(code))
}

// next is the call that follows an answer, of n requests more.
func next(r *jute.Reply, sub uint8, n int) jute.Call {
	call := r.Call
	call.Sub, call.Extra = sub, uint8(min(int(call.Extra)+n, 255))
	return call
}

// exhausted ends an operation that tried too often. None of its requests
// changed anything.
func exhausted(r *jute.Reply, e *store.Event) bool {
	if r.Extra < maxExtra {
		return false
	}
	e.Outcome, e.Text = kv.Refused, []byte("the key was created and removed by others again and again")
	return true
}

// createParents makes the parents of a path one after the other, and returns
// how many there are. Some may exist already: what counts is how the request
// that follows them ends.
func (c *codec) createParents(r *jute.Reply, path []byte) (n int) {
	for end, more := ancestor(path, 1); more; end, more = ancestor(path, end+1) {
		n++
		c.conn.Create(next(r, callIgnored, 0), jute.NewNode{Path: jute.Path{Rest: path[:end]}, ACL: c.acl})
	}
	return n
}

// written is the path and data of a setData or create, as they were sent.
func written(r *jute.Reply) (jute.Path, []byte) {
	b := jute.NewReader(r.Request)
	return jute.Path{Rest: b.Buffer()}, b.Buffer()
}

// fifo keeps byte strings in order, in memory that is used again.
type fifo struct {
	b  []byte
	at int // before it, everything was taken
}

func (f *fifo) push(p []byte) {
	if f.at > 1<<16 && f.at > len(f.b)/2 || f.at == len(f.b) {
		f.b, f.at = f.b[:copy(f.b, f.b[f.at:])], 0
	}
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(p)))
	f.b = append(f.b, p...)
}

// pop takes the oldest string. It is valid until the next push.
func (f *fifo) pop() []byte {
	n := int(binary.LittleEndian.Uint32(f.b[f.at:]))
	p := f.b[f.at+4 : f.at+4+n]
	f.at += 4 + n
	return p
}

// shifted is a short list without its first element.
func shifted[T any](list []T) []T { return list[:copy(list, list[1:])] }

package zookeeper

import (
	"encoding/binary"
	"fmt"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// syncFirst sends a sync before a linearizable read, so that the contacted member catches up with
// the leader.
func (c *codec) syncFirst(call *jute.Call, p jute.Path, level kv.Consistency) {
	if level != kv.Local {
		call.Sub, call.Extra = callSync, 1
		c.conn.Sync(*call, p)
	}
}

// refuse rejects an operation that cannot be sent. A codec returns events only from Feed, in the
// order of the operations. Therefore the method sends a request without effect, and the codec
// reports the reason when the reply arrives.
func (c *codec) refuse(call jute.Call, reason string) {
	c.reasons = append(c.reasons, reason)
	call.Sub = callRefused
	c.conn.Exists(call, jute.Path{Prefix: "/"}, false)
}

// maxExtra limits the additional requests of one operation. Without the limit the codec might never
// finish, because other clients may keep creating and removing the node.
const maxExtra = 200

// setFailure sets the outcome and text of an event from an error code.
func setFailure(e *store.Event, code jute.Code) {
	e.Outcome = outcomeOf(code)
	e.Text = fmt.Appendf(nil, "ZooKeeper returned %v (%d)", code, int32(code))
}

// nextCall returns the Call for the next request of the operation to which a reply belongs. It adds
// n to the operation's number of additional requests.
func nextCall(r *jute.Reply, sub uint8, n int) jute.Call {
	call := r.Call
	call.Sub, call.Extra = sub, uint8(min(int(call.Extra)+n, 255))
	return call
}

// hasTooManyRequests reports whether an operation has reached the limit of additional requests. If
// so, it sets the outcome to Refused, because no request has changed anything.
func hasTooManyRequests(r *jute.Reply, e *store.Event) bool {
	if r.Extra < maxExtra {
		return false
	}
	e.Outcome, e.Text = kv.Refused, []byte("other clients kept creating and removing the key")
	return true
}

// createParents sends requests that create the ancestors of a path, in order, and returns the
// number of these requests. The codec ignores their results, because some ancestors may already
// exist. Only the result of the next request matters.
func (c *codec) createParents(r *jute.Reply, path []byte) (n int) {
	for end, more := nextAncestor(path, 1); more; end, more = nextAncestor(path, end+1) {
		n++
		c.conn.Create(nextCall(r, callIgnored, 0), jute.NewNode{Path: jute.Path{Rest: path[:end]}, ACL: c.acl})
	}
	return n
}

// writtenData returns the path and data in a setData or create request.
func writtenData(r *jute.Reply) (jute.Path, []byte) {
	b := jute.NewReader(r.Request)
	return jute.Path{Rest: b.Buffer()}, b.Buffer()
}

// fifo is a queue of byte strings that reuses its memory.
type fifo struct {
	b     []byte
	start int // start of the oldest string
}

func (f *fifo) push(p []byte) {
	if f.start > 1<<16 && f.start > len(f.b)/2 || f.start == len(f.b) {
		f.b, f.start = f.b[:copy(f.b, f.b[f.start:])], 0
	}
	f.b = binary.LittleEndian.AppendUint32(f.b, uint32(len(p)))
	f.b = append(f.b, p...)
}

// pop removes and returns the oldest string. The result is valid until the next push.
func (f *fifo) pop() []byte {
	n := int(binary.LittleEndian.Uint32(f.b[f.start:]))
	p := f.b[f.start+4 : f.start+4+n]
	f.start += 4 + n
	return p
}

// withoutFirst removes the first element of a slice. It moves all other elements, so the slice
// should be short.
func withoutFirst[T any](list []T) []T { return list[:copy(list, list[1:])] }

package zookeeper

import (
	"bytes"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// A response can be well formed and still be impossible. These checks compare parsed fields with
// guarantees that follow from ZooKeeper's source (FinalRequestProcessor, DataTree). A member
// applies one transaction at a time. Its reply to a write contains the zxid of that transaction and
// the state of the node after it. A session never sees an older state than one it has seen before.

// The reasons why a response is impossible. Do not modify these slices.
var (
	badMzxid          = []byte("the response contains a node with a negative mzxid, which is impossible")
	noMzxid           = []byte("the response to a write contains a node whose mzxid is 0 or less, as if no transaction had changed it")
	laterMzxid        = []byte("the response contains a node whose mzxid is higher than the response's zxid")
	wrongTxn          = []byte("the response to a write contains a node whose last change is from another transaction")
	neverWritten      = []byte("the response to a write contains a node with version 0 or -1, as if the node had never been written")
	wrongVersion      = []byte("the response to a compare-and-set contains a node whose version is not the next version after the compared version")
	wrongLength       = []byte("the data length in a node's Stat differs from the length of the data that was returned or written")
	noZxid            = []byte("the response confirms the write, but its zxid is 0 or less")
	olderZxid         = []byte("the response is older than an earlier response in the same session: its zxid is lower (for a write: lower or equal)")
	wrongNode         = []byte("the node that the server created is not the requested node")
	wrongSyncNode     = []byte("the response to the sync before the read is for another node")
	invalidName       = []byte("a list of children contains an invalid name")
	duplicateName     = []byte("a list of children contains the same name twice")
	wrongCount        = []byte("the number of names in a list of children differs from the number of children in the node's Stat")
	mismatchedResults = []byte("the response's results do not match the transaction's operations")
)

// setWrongResponse marks an event as a wrong response. The parameter `reason` explains why; if it
// is nil, setWrongResponse does nothing.
func setWrongResponse(e *store.Event, reason []byte) {
	if reason != nil {
		e.Outcome, e.Text = kv.WrongResponse, reason
	}
}

// recordZxid records the zxid of a response and returns the highest zxid that the session saw
// before this response.
func (c *codec) recordZxid(r *jute.Reply) (before int64) {
	before = c.newest
	c.newest = max(c.newest, r.Zxid)
	return before
}

// checkZxid checks the zxid of a completed operation. The parameter `before` is the highest zxid
// that the session saw earlier. A write is a new transaction, so its zxid must be higher than
// `before`.
func (c *codec) checkZxid(r *jute.Reply, e *store.Event, before int64) []byte {
	wrote := e.Outcome == kv.OK
	switch r.Sub {
	case callGet, callExists, callRange:
		wrote = false
	case callDelete:
		wrote = wrote && e.Count > 0
	}
	switch {
	case wrote && r.Zxid <= 0:
		return noZxid
	case wrote && r.Zxid <= before, !c.dialect.MayReadOlderState && r.Zxid > 0 && r.Zxid < before:
		return olderZxid
	}
	return nil
}

// checkWrite checks the Stat in the reply to a write. The parameter `zxid` is the write's
// transaction, and `length` is the length of the written data. Node versions rise to 2^31-1 and
// continue at -2^31, so a version of 0 or -1 after a write would take about four billion writes.
func checkWrite(s *jute.Stat, zxid int64, length int) []byte {
	switch {
	case s.Mzxid <= 0:
		return noMzxid
	case zxid > 0 && s.Mzxid != zxid:
		return wrongTxn
	case s.Version == 0 || s.Version == -1:
		return neverWritten
	case int(s.DataLength) != length:
		return wrongLength
	}
	return nil
}

// checkRead checks the Stat of a node in the reply to a read that returned data of the given
// length. Nodes that a server creates when it starts, such as /zookeeper, have mzxid 0.
func checkRead(s *jute.Stat, zxid int64, length int) []byte {
	switch {
	case s.Mzxid < 0:
		return badMzxid
	case zxid > 0 && s.Mzxid > zxid:
		return laterMzxid
	case int(s.DataLength) != length:
		return wrongLength
	}
	return nil
}

// isNextVersion reports whether a node can have the given version after a setData that required the
// version `required`. Newer servers skip version -1, because -1 in a request means any version.
func isNextVersion(version, required int32) bool {
	return required == jute.AnyVersion || version == required+1 || required == -2 && version == 0
}

// checkPath checks that a response repeats the path of its request. If not, it returns
// `reason`.
func checkPath(r *jute.Reply, reason []byte) []byte {
	answer, request := jute.NewReader(r.Body), jute.NewReader(r.Request)
	if !bytes.Equal(answer.Buffer(), request.Buffer()) || !answer.OK() {
		return reason
	}
	return nil
}

// checkResult checks the result of one successful operation in a multi.
func (c *codec) checkResult(m *jute.MultiOp, result *jute.MultiResult, zxid int64) []byte {
	if result.Op != m.Op {
		return mismatchedResults
	}
	switch m.Op {
	case jute.OpSetData:
		length := len(m.Data)
		if c.dialect.StatsAfterMulti {
			length = int(result.Stat.DataLength)
		}
		return checkWrite(&result.Stat, zxid, length)
	case jute.OpCreate:
		if !bytes.Equal(result.Path, m.Path.Rest) {
			return wrongNode
		}
	}
	return nil
}

package zookeeper

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/wire/jute"
)

// A transaction is one multi that sets every key. A multi that fails changes nothing, and its
// reply identifies the first operation that failed. The codec then replaces that operation and
// sends the multi again until it succeeds: a setData becomes a create, or a create becomes a
// setData if the node has appeared in the meantime. Usually all keys exist, so one request
// suffices. Missing parents are created outside the transaction.

// submitTxn sends a transaction.
func (c *codec) submitTxn(call jute.Call, op *store.Op) {
	c.multi = c.multi[:0]
	for i := range op.Pairs {
		p, wrong := pathOf(op.Pairs[i].Key)
		if wrong != "" {
			c.refuse(call, wrong)
			return
		}
		c.multi = append(c.multi, jute.MultiOp{
			Op: jute.OpSetData, Path: p, Data: op.Pairs[i].Value, Version: jute.AnyVersion,
		})
	}
	call.Sub = callTxn
	c.conn.Multi(call, c.multi)
}

// txnDone handles the reply to a multi. If a node was missing or already existed, it sends the
// multi again.
func (c *codec) txnDone(r *jute.Reply, e *store.Event) (done, ok bool) {
	if len(r.Body) == 0 && r.Code != jute.OK {
		setFailure(e, r.Code)
		return true, true
	}
	if c.multi, ok = jute.ReadMulti(r.Request, c.multi[:0]); !ok {
		return true, false
	}
	at, code, reason, ok := c.results(r)
	switch {
	case !ok:
		return true, false
	case reason != nil:
		setWrongResponse(e, reason)
		return true, true
	case code == jute.OK:
		e.Count = int64(len(c.multi))
		return true, true
	case at < 0 || code != jute.NoNode && code != jute.NodeExists:
		setFailure(e, code)
		return true, true
	case hasTooManyRequests(r, e):
		return true, true
	}
	parents := 0
	switch m := &c.multi[at]; {
	case m.Op == jute.OpSetData && code == jute.NoNode:
		m.Op, m.ACL, m.Mode = jute.OpCreate, c.acl, jute.Persistent
	case m.Op == jute.OpCreate && code == jute.NodeExists:
		m.Op, m.Version = jute.OpSetData, jute.AnyVersion
	case m.Op == jute.OpCreate && code == jute.NoNode:
		parents = c.createParents(r, m.Path.Rest)
	default:
		setFailure(e, code)
		return true, true
	}
	c.conn.Multi(nextCall(r, callTxn, parents+1), c.multi)
	return false, true
}

// results parses the results in the reply to a multi with the operations in c.multi. It returns the
// index and the code of the failed operation. The index is -1 if the reply does not identify a
// failed operation. If the results are impossible, the result `reason` explains why. There must be
// one result per operation. Either no result is an error, or all results are errors, with the code
// OK for the operations before the failed operation.
func (c *codec) results(r *jute.Reply) (at int, code jute.Code, reason []byte, ok bool) {
	b := jute.NewReader(r.Body)
	var result jute.MultiResult
	n, errors := 0, 0
	at = -1
	for ; jute.ReadMultiResults(&b, &result); n++ {
		switch {
		case n >= len(c.multi):
			return -1, jute.OK, mismatchedResults, true
		case result.Op == jute.OpError:
			errors++
		case reason == nil:
			reason = c.checkResult(&c.multi[n], &result, r.Zxid)
		}
		if result.Code != jute.OK && result.Code != jute.RuntimeInconsistency && code == jute.OK {
			at, code = n, result.Code
		}
	}
	switch {
	case code == jute.OK && r.Code != jute.OK:
		code = r.Code
	case errors > 0 && (errors < n || code == jute.OK), n != len(c.multi):
		reason = mismatchedResults
	}
	return at, code, reason, b.OK()
}

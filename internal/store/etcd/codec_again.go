package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Recorded calls are sent again. Which request a call is follows from its parts, so that
// applications that make calls need not know etcd's names.

// Replays implements store.Replayer. Transactions within one, ranges that come as a
// stream, requests for a watcher's progress and administration are not sent again.
func (Store) Replays(r *call.Call) bool {
	if r.Told || len(r.Parts) == 0 {
		return false
	}
	switch r.Method {
	case methodRange, methodPut, methodDelete, methodTxn, methodGrant, methodRevoke, methodKeepAlive, methodWatch, methodCompact:
	default:
		return false
	}
	for i := range r.Parts {
		switch r.Parts[i].Action {
		case call.Other:
			return false
		}
	}
	return true
}

// Requires implements store.Replayer: no key needs another.
func (Store) Requires(*call.Part) []byte { return nil }

// sendCall sends a recorded call.
func (c *codec) sendCall(op *store.Op, gen uint8) {
	r := op.Call
	p := &r.Parts[0]
	if r.Guarded || p.Branch != call.Always {
		sub := uint8(callAgainTxn)
		if r.Guarded {
			sub = callAgainGuarded
		}
		c.request = message.AppendTxn(c.request[:0], r.Parts)
		c.sendRequest(c.txnRPC, op.Tag, gen|sub)
		return
	}
	rpc, sub := h2.Method(0), uint8(callAgainWrite)
	switch p.Action {
	case call.Read:
		if rpc, sub = c.rangeRPC, callAgainRead; op.Range != nil {
			c.keys, sub = op.Range.Keys, callAgainList
		}
	case call.Write:
		rpc = c.putRPC
	case call.Remove:
		rpc = c.deleteRPC
	case call.Compaction:
		rpc = c.compactRPC
	case call.Grant:
		rpc, sub = c.grantRPC, callAgainGrant
	case call.Revoke:
		rpc = c.revokeRPC
	case call.AskStatus:
		rpc, sub = c.statusRPC, callAgainStatus
	case call.Watch:
		c.watchAgain(op, p)
		return
	case call.Unwatch:
		c.endWatcher(op, gen)
		return
	default:
		op.Lease = p.Lease
		c.keepAlive(op)
		return
	}
	c.send(rpc, op.Tag, gen|sub, p)
}

package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// The functions in this file send recorded calls again. They derive the request's type from the
// call's parts, so applications that create calls need not know etcd's method names.

// Replays implements store.Replayer. The codec cannot replay nested transactions, streamed
// ranges, progress requests and administration.
func (Store) Replays(r *call.Call) bool {
	if r.Pushed || len(r.Parts) == 0 {
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

// Requires implements store.Replayer. It returns nil: no etcd key requires another key.
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
		c.replayWatch(op, p)
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

// replayWatch creates a watcher as it was recorded, with all of its options. All recorded
// watchers on a connection use its first Watch stream. The watcher's number is in op.Watch.
func (c *codec) replayWatch(op *store.Op, p *call.Part) {
	if len(c.watches) == 0 {
		c.watches = append(c.watches, watchStream{})
	}
	w := &c.watches[0]
	if w.id == 0 {
		w.id = c.conn.OpenStream(c.watchRPC, 0, uint8(c.gen<<genShift)|callWatch)
	}
	c.request = message.AppendWatch(c.request[:0], p)
	c.sendOn(w.id)
	w.creating = append(w.creating, creation{op.Tag, op.Watch.Watcher})
}

// endWatcher cancels a watcher. If the watcher no longer exists, endWatcher sends a read
// instead, which changes nothing: the operation needs an event, and only Feed can return one.
func (c *codec) endWatcher(op *store.Op, gen uint8) {
	for i := range c.watches {
		w := &c.watches[i]
		for id, watcher := range w.watchers {
			if watcher != op.Watch.Watcher || w.id == 0 {
				continue
			}
			c.request = message.AppendCancel(c.request[:0], uint64(id)) // #nosec G115 -- an index
			c.sendOn(w.id)
			c.endings = append(c.endings, ending{op.Tag, watcher})
			return
		}
	}
	c.send(c.rangeRPC, op.Tag, gen|callAgainRead, &call.Part{Action: call.Read, Key: harmless})
}

var harmless = []byte("quorumbench/refused")

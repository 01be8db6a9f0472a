package etcd

import (
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// The functions in this file replay recorded calls. They derive the type of a request from the
// parts of the call. So an application that creates calls need not know etcd's method names.

// CanReplay implements store.Replayer. It returns false for calls that the codec cannot replay:
// nested transactions, streamed ranges, progress requests and administrative requests.
func (Store) CanReplay(r *call.Call) bool {
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
		case call.OtherAction:
			return false
		}
	}
	return true
}

// RequiredKey implements store.Replayer. It returns nil, because an etcd key can exist without any
// other key.
func (Store) RequiredKey(*call.Part) []byte { return nil }

// sendCall sends the request of a recorded call.
func (c *codec) sendCall(op *store.Op, gen uint8) {
	r := op.Call
	p := &r.Parts[0]
	if r.Guarded || p.Branch != call.Always {
		sub := uint8(callReplayedTxn)
		if r.Guarded {
			sub = callReplayedGuarded
		}
		c.request = message.AppendTxn(c.request[:0], r.Parts)
		c.sendRequest(c.txnRPC, op.Tag, gen|sub)
		return
	}
	rpc, sub := h2.Method(0), uint8(callReplayedWrite)
	switch p.Action {
	case call.Read:
		if rpc, sub = c.rangeRPC, callReplayedRead; op.Range != nil {
			c.keys, sub = op.Range.Keys, callReplayedList
		}
	case call.Write:
		rpc = c.putRPC
	case call.Remove:
		rpc = c.deleteRPC
	case call.Compaction:
		rpc = c.compactRPC
	case call.Grant:
		rpc, sub = c.grantRPC, callReplayedGrant
	case call.Revoke:
		rpc = c.revokeRPC
	case call.AskStatus:
		rpc, sub = c.statusRPC, callReplayedStatus
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

// replayWatch creates a watcher with all options of a recorded watcher. All recorded watchers on a
// connection share the connection's first Watch stream. op.Watch contains the watcher's number.
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

// endWatcher cancels a watcher. If the watcher no longer exists, endWatcher sends a read instead,
// which changes nothing in the store. It cannot omit the request, because the operation ends with
// an event, and Feed returns an event only after a reply.
func (c *codec) endWatcher(op *store.Op, gen uint8) {
	for i := range c.watches {
		w := &c.watches[i]
		for id, watcher := range w.watchers {
			if watcher != op.Watch.Watcher || w.id == 0 {
				continue
			}
			c.request = message.AppendCancel(c.request[:0], uint64(id)) // #nosec G115 -- an index
			c.sendOn(w.id)
			c.cancellations = append(c.cancellations, cancellation{op.Tag, watcher})
			return
		}
	}
	c.send(c.rangeRPC, op.Tag, gen|callReplayedRead, &call.Part{Action: call.Read, Key: harmlessKey})
}

var harmlessKey = []byte("quorumbench/refused")

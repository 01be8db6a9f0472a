package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/store/etcd/message"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// sendPut sends a PutRequest. sendPut, get and cas do not use call.Part to encode their
// requests, because they send most of a load's operations and must be fast.
func (c *codec) sendPut(op *store.Op, sub uint8) {
	size := message.SizeText(op.Key) + message.SizeText(op.Value)
	b := c.conn.Call(c.putRPC, op.Tag, sub, size)[:0]
	b = message.AppendText(b, message.PutKey, op.Key)
	message.AppendText(b, message.PutValue, op.Value)
}

// get sends a RangeRequest for one key.
func (c *codec) get(op *store.Op, sub uint8) {
	size := message.SizeText(op.Key)
	local := op.Consistency == kv.Local
	if local {
		size += 2
	}
	b := c.conn.Call(c.rangeRPC, op.Tag, sub, size)[:0]
	b = message.AppendText(b, message.RangeKey, op.Key)
	if local {
		message.AppendVarint(b, message.RangeSerializable, 1)
	}
}

// send sends the request that a part describes.
func (c *codec) send(m h2.Method, tag uint32, sub uint8, p *call.Part) {
	c.request = message.Append(c.request[:0], p)
	c.sendRequest(m, tag, sub)
}

// sendTxn sends the transaction in c.parts.
func (c *codec) sendTxn(tag uint32, sub uint8) {
	c.request = message.AppendTxn(c.request[:0], c.parts)
	c.sendRequest(c.txnRPC, tag, sub)
}

// sendRequest sends the request in c.request.
func (c *codec) sendRequest(m h2.Method, tag uint32, sub uint8) {
	copy(c.conn.Call(m, tag, sub, len(c.request)), c.request)
}

// sendOn sends the request in c.request on a stream that stays open.
func (c *codec) sendOn(stream uint32) {
	copy(c.conn.Send(stream, len(c.request)), c.request)
}

// setInterval sets the keys of a part to [key, end), or only to key if end is empty.
func setInterval(p *call.Part, key, end []byte) {
	p.Key, p.End = key, end
	if p.Scope = call.SingleKey; len(end) > 0 {
		p.Scope = call.Interval
	}
}

// localFlag returns call.Local if level is local, otherwise no flag.
func localFlag(level kv.Consistency) call.Flags {
	if level == kv.Local {
		return call.Local
	}
	return 0
}

// exists sends a RangeRequest that counts one key.
func (c *codec) exists(op *store.Op, sub uint8) {
	c.send(c.rangeRPC, op.Tag, sub, &call.Part{Action: call.Read, Key: op.Key, Flags: call.CountOnly | localFlag(op.Consistency)})
}

// readOf returns the request part for the read of a Range or TxnGet operation.
func readOf(op *store.Op) call.Part {
	p := call.Part{Action: call.Read, Limit: op.Range.Limit, Flags: localFlag(op.Consistency)}
	setInterval(&p, op.Key, op.Range.End)
	if op.Range.KeysOnly {
		p.Flags |= call.KeysOnly
	}
	if op.Range.CountOnly {
		p.Flags |= call.CountOnly
	}
	return p
}

// scan sends a RangeRequest for an interval.
func (c *codec) scan(op *store.Op, sub uint8) {
	p := readOf(op)
	c.send(c.rangeRPC, op.Tag, sub, &p)
}

// txnGet sends a transaction that consists of a read and has no comparison.
func (c *codec) txnGet(op *store.Op, sub uint8) {
	p := readOf(op)
	p.Branch = call.Then
	c.parts = append(c.parts[:0], p)
	c.sendTxn(op.Tag, sub)
}

// remove sends a DeleteRangeRequest for one key.
func (c *codec) remove(op *store.Op, sub uint8) {
	c.send(c.deleteRPC, op.Tag, sub, &call.Part{Action: call.Remove, Key: op.Key})
}

// cas sends a transaction that puts the value if the key's mod_revision is op.Revision, where 0
// means that the key does not exist. Otherwise the transaction reads the key. A negative
// op.Revision means that the key's revision is unknown. In that case cas compares with 0, and if
// the key exists, the reply reports a conflict and the key's revision.
func (c *codec) cas(op *store.Op, sub uint8) {
	m := message.NewCAS(op.Key, op.Value, uint64(max(op.Revision, 0)))
	m.Append(c.conn.Call(c.txnRPC, op.Tag, sub, m.Size())[:0])
}

// txn sends a transaction without a comparison. The store executes all of its puts or none.
func (c *codec) txn(op *store.Op, sub uint8) {
	c.parts = c.parts[:0]
	for i := range op.Pairs {
		p := &op.Pairs[i]
		c.parts = append(c.parts, call.Part{Action: call.Write, Branch: call.Then, Key: p.Key, Value: call.Value{Text: p.Value}})
	}
	c.sendTxn(op.Tag, sub)
}

// authenticate sends an AuthenticateRequest.
func (c *codec) authenticate(user, password string) {
	c.request = message.AppendAuthenticate(c.request[:0], user, password)
	c.sendRequest(c.authRPC, authTag, callAuth)
}

// lockSub returns the h2 number `sub` for a request of a lock. It adds the token's generation to
// the call in sub.
func (c *codec) lockSub(sub uint8) uint8 { return uint8(c.gen<<genShift) | sub }

// sendForLock sends a request for a client-side lock.
func (c *codec) sendForLock(m h2.Method, slot uint32, sub uint8, p *call.Part) {
	c.send(m, stmTag(slot, 0), c.lockSub(sub), p)
}

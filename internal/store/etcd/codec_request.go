package etcd

import (
	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
)

// Requests, as etcdserverpb/rpc.proto in etcd's api module defines them. Tags
// are field<<3 | wire type.

// put sends a PutRequest{key: 1, value: 2}.
func (c *codec) put(op *store.Op, sub uint8) {
	size := sizeKnown(len(op.Key)) + sizeKnown(len(op.Value))
	b := c.conn.Call(c.putRPC, op.Tag, sub, size)
	putBytes(putBytes(b, 1<<3|pbBytes, op.Key), 2<<3|pbBytes, op.Value)
}

// get sends a RangeRequest{key: 1, serializable: 7}.
func (c *codec) get(op *store.Op, sub uint8) {
	size := sizeKnown(len(op.Key))
	local := op.Consistency == kv.Local
	if local {
		size += 2
	}
	b := c.conn.Call(c.rangeRPC, op.Tag, sub, size)
	b = putBytes(b, 1<<3|pbBytes, op.Key)
	if local {
		b[0], b[1] = 7<<3|pbVarint, 1
	}
}

// exists sends a RangeRequest{key: 1, serializable: 7, count_only: 9}.
func (c *codec) exists(op *store.Op, sub uint8) {
	r := interval{key: op.Key, local: op.Consistency == kv.Local, RangeOp: &countOne}
	r.put(c.conn.Call(c.rangeRPC, op.Tag, sub, r.size()))
}

// countOne asks for the number of keys of one name; nobody writes to it.
var countOne = store.RangeOp{CountOnly: true}

// interval is what a RangeRequest of several keys says.
type interval struct {
	key   []byte
	local bool
	*store.RangeOp
	limit    int64
	revision int64 // 0: the present one
}

func intervalOf(op *store.Op) interval {
	return interval{key: op.Key, local: op.Consistency == kv.Local, RangeOp: op.Range, limit: op.Range.Limit}
}

// scan sends a RangeRequest.
func (c *codec) scan(op *store.Op, sub uint8) {
	r := intervalOf(op)
	r.put(c.conn.Call(c.rangeRPC, op.Tag, sub, r.size()))
}

// size is that of the RangeRequest that put writes.
func (r *interval) size() int {
	size := sizeKnown(len(r.key)) + sizeKnown(len(r.End))
	if r.limit > 0 {
		size += 1 + sizeVarint(uint64(r.limit))
	}
	if r.revision > 0 {
		size += 1 + sizeVarint(uint64(r.revision))
	}
	for _, flag := range [...]bool{r.local, r.KeysOnly, r.CountOnly} {
		if flag {
			size += 2
		}
	}
	return size
}

// put writes a RangeRequest{key: 1, range_end: 2, limit: 3, revision: 4,
// serializable: 7, keys_only: 8, count_only: 9}.
func (r *interval) put(b []byte) {
	b = putBytes(putBytes(b, 1<<3|pbBytes, r.key), 2<<3|pbBytes, r.End)
	if r.limit > 0 {
		b[0] = 3<<3 | pbVarint
		b = putVarint(b[1:], uint64(r.limit))
	}
	if r.revision > 0 {
		b[0] = 4<<3 | pbVarint
		b = putVarint(b[1:], uint64(r.revision))
	}
	if r.local {
		b[0], b[1] = 7<<3|pbVarint, 1
		b = b[2:]
	}
	if r.KeysOnly {
		b[0], b[1] = 8<<3|pbVarint, 1
		b = b[2:]
	}
	if r.CountOnly {
		b[0], b[1] = 9<<3|pbVarint, 1
	}
}

// txnGet sends a TxnRequest{success: 2 {request_range: 1}} without a
// comparison: a transaction that reads.
func (c *codec) txnGet(op *store.Op, sub uint8) {
	r := intervalOf(op)
	scan := r.size()
	b := c.conn.Call(c.txnRPC, op.Tag, sub, sizeBytes(sizeBytes(scan)))
	b = putHead(b, 2<<3|pbBytes, sizeBytes(scan))
	r.put(putHead(b, 1<<3|pbBytes, scan))
}

// remove sends a DeleteRangeRequest{key: 1}.
func (c *codec) remove(op *store.Op, sub uint8) {
	b := c.conn.Call(c.deleteRPC, op.Tag, sub, sizeKnown(len(op.Key)))
	putBytes(b, 1<<3|pbBytes, op.Key)
}

// cas sends a TxnRequest: if the key's mod_revision is op.Revision (0: there
// is no such key), put; else read the revision that it has. A revision that is
// not known is tried as 0: the conflict returns it.
//
//	compare: 1 {target: 2 = MOD, key: 3, mod_revision: 6}
//	success: 2 {request_put: 2 {key: 1, value: 2}}
//	failure: 3 {request_range: 1 {key: 1, keys_only: 8}}
func (c *codec) cas(op *store.Op, sub uint8) {
	key, revision := sizeKnown(len(op.Key)), uint64(max(op.Revision, 0))
	compare := 2 + key + 1 + sizeVarint(revision)
	put := key + sizeKnown(len(op.Value))
	read := key + 2
	size := sizeBytes(compare) + sizeBytes(sizeBytes(put)) + sizeBytes(sizeBytes(read))

	b := c.conn.Call(c.txnRPC, op.Tag, sub, size)
	b = putHead(b, 1<<3|pbBytes, compare)
	b[0], b[1] = 2<<3|pbVarint, 2
	b = putBytes(b[2:], 3<<3|pbBytes, op.Key)
	b[0] = 6<<3 | pbVarint
	b = putVarint(b[1:], revision)

	b = putHead(b, 2<<3|pbBytes, sizeBytes(put))
	b = putHead(b, 2<<3|pbBytes, put)
	b = putBytes(putBytes(b, 1<<3|pbBytes, op.Key), 2<<3|pbBytes, op.Value)

	b = putHead(b, 3<<3|pbBytes, sizeBytes(read))
	b = putHead(b, 1<<3|pbBytes, read)
	b = putBytes(b, 1<<3|pbBytes, op.Key)
	b[0], b[1] = 8<<3|pbVarint, 1
}

// txn sends a TxnRequest{success: 2 {request_put: 2 {key: 1, value: 2}} ...}
// without a comparison, so that all of its puts happen or none.
func (c *codec) txn(op *store.Op, sub uint8) {
	size := 0
	for i := range op.Pairs {
		size += sizeBytes(sizeBytes(sizePair(&op.Pairs[i])))
	}
	b := c.conn.Call(c.txnRPC, op.Tag, sub, size)
	for i := range op.Pairs {
		p := &op.Pairs[i]
		put := sizePair(p)
		b = putHead(b, 2<<3|pbBytes, sizeBytes(put))
		b = putHead(b, 2<<3|pbBytes, put)
		b = putBytes(putBytes(b, 1<<3|pbBytes, p.Key), 2<<3|pbBytes, p.Value)
	}
}

func sizePair(p *store.Pair) int { return sizeKnown(len(p.Key)) + sizeKnown(len(p.Value)) }

// authenticate sends an AuthenticateRequest{name: 1, password: 2}.
func (c *codec) authenticate(user, password string) {
	size := sizeKnown(len(user)) + sizeKnown(len(password))
	b := c.conn.Call(c.authRPC, authTag, callAuth, size)
	putBytes(putBytes(b, 1<<3|pbBytes, []byte(user)), 2<<3|pbBytes, []byte(password))
}

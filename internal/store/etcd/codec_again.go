package etcd

import (
	"strconv"

	"github.com/quorumbench/quorumbench/internal/kv"
	"github.com/quorumbench/quorumbench/internal/store"
	"github.com/quorumbench/quorumbench/internal/store/call"
	"github.com/quorumbench/quorumbench/internal/wire/h2"
)

// Recorded calls sent again: what tap_request.go read is written here. Which call it is
// follows from its parts, so that whoever makes one need not know etcd's names.

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

// call sends a recorded call.
func (c *codec) call(op *store.Op, gen uint8) {
	r := op.Call
	p, b := &r.Parts[0], c.again[:0]
	rpc, sub := h2.Method(0), uint8(callAgainWrite)
	switch {
	case r.Guarded || p.Branch != call.Always:
		if rpc, sub = c.txnRPC, callAgainTxn; r.Guarded {
			sub = callAgainGuarded
		}
		b = appendTxn(b, r.Parts)
	case p.Action == call.Read:
		if rpc, sub = c.rangeRPC, callAgainRead; op.Range != nil {
			c.keys, sub = op.Range.Keys, callAgainList
		}
		b = appendRange(b, p)
	case p.Action == call.Write:
		rpc, b = c.putRPC, appendPut(b, p)
	case p.Action == call.Remove:
		rpc, b = c.deleteRPC, appendRemove(b, p)
	case p.Action == call.Watch:
		c.watchAgain(op, p)
		return
	case p.Action == call.Unwatch:
		c.endWatcher(op, gen)
		return
	case p.Action == call.Compaction: // CompactionRequest{revision: 1}
		rpc, b = c.compactRPC, appendNumber(b, 1<<3, p.Number)
	case p.Action == call.Grant: // LeaseGrantRequest{TTL: 1, ID: 2}
		sub = callAgainGrant
		rpc, b = c.grantRPC, appendNumber(appendNumber(b, 1<<3, p.Number), 2<<3, p.Lease)
	case p.Action == call.Revoke: // LeaseRevokeRequest{ID: 1}
		rpc, b = c.revokeRPC, appendNumber(b, 1<<3, p.Lease)
	case p.Action == call.AskStatus: // StatusRequest{}
		rpc, sub = c.statusRPC, callAgainStatus
	default:
		op.Lease = p.Lease
		c.keepAlive(op)
		return
	}
	c.again = b
	copy(c.conn.Call(rpc, op.Tag, gen|sub, len(b)), b)
}

// parseAgain reads the answer to a recorded call.
func (c *codec) parseAgain(call uint8, b []byte, e *store.Event) (ok bool) {
	switch call {
	case callAgainRead, callAgainList:
		if ok = c.parseRange(b, e); e.Count == 0 {
			e.Count = c.extra.total
		}
		e.Version = c.extra.version // 0 where there is no key
	case callAgainWrite, callAgainStatus, callAgainGrant: // LeaseGrantResponse{header: 1, ID: 2}
		if ok = c.parseWritten(b, e); ok && call == callAgainGrant && c.grants != nil {
			c.grants.Add(strconv.FormatInt(e.Count, 10))
		}
	default:
		var found store.Event
		ok = c.parseTxnResponse(b, e, &found)
		e.Revision, e.Count = c.extra.revision, c.extra.puts
		if call == callAgainGuarded && !c.extra.succeeded {
			e.Outcome, e.Mod, e.Value = kv.Conflict, found.Revision, found.Value // which the key has, if it was read
		}
	}
	return ok
}

// appendTxn appends a TxnRequest{compare: 1, success: 2, failure: 3}.
func appendTxn(b []byte, parts []call.Part) []byte {
	for i := range parts {
		p, at := &parts[i], len(b)
		if p.Action == call.Compare {
			b = wrap(appendCompare(b, p), at, 1<<3|pbBytes)
			continue
		}
		// RequestOp{request_range: 1, request_put: 2, request_delete_range: 3}
		tag := byte(1<<3 | pbBytes)
		switch p.Action {
		case call.Write:
			tag, b = 2<<3|pbBytes, appendPut(b, p)
		case call.Remove:
			tag, b = 3<<3|pbBytes, appendRemove(b, p)
		default:
			b = appendRange(b, p)
		}
		branch := byte(2<<3 | pbBytes)
		if p.Branch == call.Else {
			branch = 3<<3 | pbBytes
		}
		b = wrap(wrap(b, at, tag), at, branch)
	}
	return b
}

// appendCompare appends a Compare{result: 1, target: 2, key: 3, version: 4,
// create_revision: 5, mod_revision: 6, value: 7, lease: 8}. What is compared with is
// said also where it is 0: it is one of several.
func appendCompare(b []byte, p *call.Part) []byte {
	b = appendNumber(b, 1<<3, int64(p.Relation))
	b = appendNumber(b, 2<<3, int64(p.Target))
	b = appendText(b, 3<<3|pbBytes, p.Key)
	switch p.Target {
	case call.ValueIs:
		at := len(b)
		return wrap(append(b, p.Value.Text...), at, 7<<3|pbBytes)
	case call.LeaseIs:
		return appendVarint(append(b, 8<<3|pbVarint), uint64(p.Lease))
	}
	field := byte(4) // version
	switch p.Target {
	case call.Created:
		field = 5
	case call.Modified:
		field = 6
	}
	return appendVarint(append(b, field<<3|pbVarint), uint64(p.Number))
}

// appendRange appends a RangeRequest{key: 1, range_end: 2, limit: 3, revision: 4,
// sort_order: 5, sort_target: 6, serializable: 7, keys_only: 8, count_only: 9,
// max_create_revision: 13}. Of an order other than the keys' own it is not recorded of
// what: it is the last change, unless an application says that it is the creation.
func appendRange(b []byte, p *call.Part) []byte {
	const ascending, descending, byCreation, byChange = 1, 2, 2, 3
	b = appendKeys(b, p)
	b = appendNumber(b, 3<<3, p.Limit)
	b = appendNumber(b, 4<<3, p.Number)
	switch {
	case p.Flags&call.Descending != 0:
		b = appendNumber(b, 5<<3, descending)
	case p.Flags&call.Sorted != 0:
		b = appendNumber(b, 5<<3, ascending)
	}
	if p.Flags&call.Sorted != 0 {
		target := int64(byChange)
		if p.Target == call.Created {
			target = byCreation
		}
		b = appendNumber(b, 6<<3, target)
	}
	b = appendFlag(b, 7<<3, p.Flags&call.Local)
	b = appendFlag(b, 8<<3, p.Flags&call.KeysOnly)
	b = appendFlag(b, 9<<3, p.Flags&call.CountOnly)
	return appendNumber(b, 13<<3, p.Oldest)
}

// appendPut appends a PutRequest{key: 1, value: 2, lease: 3, prev_kv: 4,
// ignore_value: 5, ignore_lease: 6}.
func appendPut(b []byte, p *call.Part) []byte {
	b = appendText(b, 1<<3|pbBytes, p.Key)
	b = appendText(b, 2<<3|pbBytes, p.Value.Text)
	b = appendNumber(b, 3<<3, p.Lease)
	b = appendFlag(b, 4<<3, p.Flags&call.Before)
	b = appendFlag(b, 5<<3, p.Flags&call.KeepValue)
	return appendFlag(b, 6<<3, p.Flags&call.KeepLease)
}

// appendRemove appends a DeleteRangeRequest{key: 1, range_end: 2, prev_kv: 3}.
func appendRemove(b []byte, p *call.Part) []byte {
	return appendFlag(appendKeys(b, p), 3<<3, p.Flags&call.Before)
}

// appendKeys appends which keys a request is of: its key: 1 and its range_end: 2.
func appendKeys(b []byte, p *call.Part) []byte {
	if len(p.Key) > 0 || p.Scope == call.One {
		b = appendText(b, 1<<3|pbBytes, p.Key)
	} else {
		b = append(b, 1<<3|pbBytes, 1, 0) // the first key that can be
	}
	at := len(b)
	switch p.Scope {
	case call.One:
		return b
	case call.Prefix:
		b = appendAfter(b, p.Key)
	case call.Rest:
		b = appendAfter(b, p.End)
	case call.From:
		b = append(b, 0)
	default:
		b = append(b, p.End...)
	}
	return wrap(b, at, 2<<3|pbBytes)
}

// appendAfter appends the first key behind all that begin with a prefix, or the byte 0
// by which etcd knows that there is none.
func appendAfter(b, prefix []byte) []byte {
	at := len(b)
	b = append(b, prefix...)
	for len(b) > at && b[len(b)-1] == 0xff {
		b = b[:len(b)-1]
	}
	if len(b) == at {
		return append(b, 0)
	}
	b[len(b)-1]++
	return b
}

// wrap makes what was appended from at on a field's content.
func wrap(b []byte, at int, tag byte) []byte {
	n := len(b) - at
	var room [11]byte
	head := 1 + sizeVarint(uint64(n))
	b = append(b, room[:head]...)
	copy(b[at+head:], b[at:at+n])
	putHead(b[at:], tag, n)
	return b
}

// appendText appends a field, unless it is empty.
func appendText(b []byte, tag byte, v []byte) []byte {
	if len(v) == 0 {
		return b
	}
	return append(appendVarint(append(b, tag), uint64(len(v))), v...)
}

// appendNumber appends a varint field, unless it is 0.
func appendNumber(b []byte, tag byte, n int64) []byte {
	if n == 0 {
		return b
	}
	return appendVarint(append(b, tag|pbVarint), uint64(n))
}

// appendFlag appends a field that is true, if it is.
func appendFlag(b []byte, tag byte, is call.Flags) []byte {
	if is == 0 {
		return b
	}
	return append(b, tag|pbVarint, 1)
}

func appendVarint(b []byte, n uint64) []byte {
	for ; n >= 1<<7; n >>= 7 {
		b = append(b, byte(n)|0x80)
	}
	return append(b, byte(n))
}
